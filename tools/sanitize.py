"""Runs the tests of the compiled modules, and the fuzz target, under gcc's sanitizers.

    python tools/sanitize.py --seconds 60       the time of the fuzz target

A copy of the tree is built with AddressSanitizer and UndefinedBehaviorSanitizer: a read or write
past the end of a buffer, which mostly goes unnoticed, then ends the process with a report.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
LIBRARIES = ("libasan.so", "libubsan.so", "libstdc++.so.6")
BUILD = ("-c", "import setuptools; setuptools.setup()", "--quiet", "build_ext", "--inplace")
PYTEST = ("-m", "pytest", "-q", "-s", "-p", "no:randomly", "--timeout", "600", "-m", "not kafka")
FOLDERS = [f"tests/unit/{package}" for package in ("records", "protocol", "producer")]
# Each starts an interpreter of its own, which the preloaded library slows down beyond their limits.
LEFT_OUT = ("--ignore", "tests/unit/records/test_codec.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", default="60", help="how long to fuzz")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        copy_sources(tree)
        run(tree, *BUILD, CFLAGS=f"{FLAGS} -g -O1", LDFLAGS=FLAGS)
        loaded = {
            "LD_PRELOAD": " ".join(map(library, LIBRARIES)),
            # Python keeps memory for ever, and the fuzz target bounds what a process may hold.
            "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=8",
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": str(tree),
            "KAFKA_AIO_REQUIRE_COMPILED": "1",
        }
        run(tree, *PYTEST, *LEFT_OUT, *FOLDERS, **loaded)
        run(tree, "-m", "tests.fuzz", "--seconds", seconds, **loaded)


def copy_sources(tree: Path) -> None:
    built = shutil.ignore_patterns("*.so", "*.c", "__pycache__")
    for folder in ("kafka_aio", "spark_connector", "tests", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=built)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, tree)


def library(name: str) -> str:
    asked = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def run(tree: Path, *arguments: str, **variables: str) -> None:
    print(f"=== python {' '.join(arguments)}", flush=True)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, env={**os.environ, **variables}, check=False
    )
    if done.returncode:
        sys.exit(f"failed with {done.returncode}")


if __name__ == "__main__":
    main()
