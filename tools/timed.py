"""Runs one part of `make test` and keeps how long it took: `python tools/timed.py NAME COMMAND...`.

The last part is pytest, which prints the table (tests/conftest.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

name, command = sys.argv[1], sys.argv[2:]
print(f"\n=== {name}", flush=True)
start = time.monotonic()
done = subprocess.run(command, check=False)
if done.returncode:
    sys.exit(f"=== {name} failed after {time.monotonic() - start:.0f} s")
with open(os.environ["KAFKA_AIO_TIMES"], "a") as times:
    print(name, f"{time.monotonic() - start:.1f}", sep="\t", file=times)
