"""Holds each compiled module and its plain-Python twin to the same stub, with mypy's stubtest.

What the stub promises must be there, and alike; either may have more, for itself. The stub is found
beside the compiled module. The twin carries its own annotations, so it is checked in a scratch copy
of the package, in which the stub bears the twin's name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAIRS = {
    "kafka_aio.consumer._cursor": "kafka_aio.consumer._cursor_py",
    "kafka_aio.producer._delivery": "kafka_aio.producer._delivery_py",
    "kafka_aio.producer._partition": "kafka_aio.producer._partition_py",
    "kafka_aio.protocol._reader": "kafka_aio.protocol._reader_py",
    "kafka_aio.records._codec": "kafka_aio.records._codec_py",
}


def main() -> None:
    failed = 0
    for compiled, twin in PAIRS.items():
        failed |= stubtest(compiled, ROOT)
        with tempfile.TemporaryDirectory() as scratch:
            copy_with_stub_of(compiled, twin, Path(scratch))
            failed |= stubtest(twin, Path(scratch))
    sys.exit(failed)


def copy_with_stub_of(compiled: str, twin: str, folder: Path) -> None:
    """Copies the whole package, so that the stub's imports resolve, and gives the twin the stub.

    What a Cython class does in `__cinit__` is `__new__` to stubtest, and `__init__` in the twin.
    """
    package = compiled.partition(".")[0]
    shutil.copytree(ROOT / package, folder / package)
    stub = (ROOT / Path(*compiled.split("."))).with_suffix(".pyi").read_text()
    constructor = re.compile(r"__new__(\(\s*)cls\b(.*?) -> Self", re.DOTALL)
    stub = constructor.sub(r"__init__\1self\2 -> None", stub)
    target = folder / Path(*twin.split("."))
    target = target / "__init__.pyi" if target.is_dir() else target.with_suffix(".pyi")
    target.write_text(stub)


def stubtest(module: str, folder: Path) -> int:
    print(f"stubtest {module}", flush=True)
    command = [sys.executable, "-m", "mypy.stubtest", module, "--concise", "--ignore-missing-stub"]
    done = subprocess.run(
        [*command, "--mypy-config-file", str(ROOT / "pyproject.toml")],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(folder), "PYTHONPATH": str(folder)},
        check=False,
    )
    return done.returncode


if __name__ == "__main__":
    main()
