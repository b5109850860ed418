"""What is freed and taken again, in a thread of its own, as the loop of Spark's workers has."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, threading
from kafka_aio.heap import keep_freed

def rounds(count):
    for _ in range(count):
        taken = [bytearray(b"x") * 100_000 for _ in range(50)]  # 5 MB, freed together
        del taken

def work():
    rounds(5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    rounds(50)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

if sys.argv[1] == "kept":
    keep_freed(8 * 2**20)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def faults(how: str) -> int:
    """How often a page had to be made anew."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True
    )
    return int(ran.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc's malloc")
def test_memory_that_is_taken_again_is_not_made_anew() -> None:
    assert faults("given back") > 10_000
    assert faults("kept") < 1_000
