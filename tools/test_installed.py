"""Runs unit and network tests on the product as its sdist installs, away from the checkout.

    python tools/test_installed.py twin         an install without a compiler: plain Python
    python tools/test_installed.py 3.12 3.13    the other Pythons, where they can be run

Each gets an environment of its own in .venvs/, with the locked requirements of the unit tests.
They run side by side; what one of them prints is shown when it has ended.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parent.parent
UV = [sys.executable, "-m", "uv", "--quiet"]  # an environment in seconds; pip takes half a minute
REQUIREMENTS = ROOT / "requirements" / "unit.txt"
# What is compared with Java or kio does not depend on the Python: once, in the checkout, is enough.
KIO = "tests/unit/protocol/test_kio.py"
PYTEST = ["-m", "pytest", "-q", "-m", "not kafka", "--ignore", KIO]
# What depends on the Python or on the compiler. The rules of the broker and of groups do neither,
# and what takes long is shared out.
UNIT = ["tests/unit", "--ignore", "tests/unit/broker"]
UNIT += ["--ignore", "tests/unit/consumer/assignors", "--ignore", "tests/unit/consumer/membership"]
TESTS = {
    "twin": [
        *("tests/unit/consumer/test_cursor.py", "tests/unit/producer"),
        *("tests/unit/protocol", "tests/unit/records"),
    ],
    "3.12": ["tests/net"],
    "3.13": [*UNIT, "--ignore", "tests/unit/protocol"],
}
CODEC = "from kafka_aio import codec_info; print(i := codec_info()); assert i.compiled is {}"


def main() -> None:
    pythons = {name: sys.executable if name == "twin" else find(name) for name in sys.argv[1:]}
    for name, python in pythons.items():
        print(f"{name}: {python or 'cannot be run on this machine, skipped'}", flush=True)
    passed = []
    trials = [Trial(name, python) for name, python in pythons.items() if python is not None]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(len(trials) or 1) as pool:
        sdist = build_sdist(Path(scratch))
        tests = unpack_tests(sdist)
        for done in as_completed([pool.submit(trial.run, sdist, tests) for trial in trials]):
            trial = done.result()
            print(trial.report(), flush=True)
            passed += [trial.name] if trial.passed else []
    print(f"unit tests passed on: {', '.join(sorted(passed)) or 'nothing'}")
    sys.exit(len(passed) < len(trials))


def find(version: str) -> str | None:
    """A Python of that version which really runs; pyenv's shims are on the path and may not."""
    candidates = [f"python{version}"]
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False)
        versions = Path(root.stdout.strip()) / "versions"
        candidates += [str(path) for path in sorted(versions.glob(f"{version}*/bin/python"))]
    return next((python for python in candidates if runs(python, version)), None)


def runs(python: str, version: str) -> bool:
    ask = [python, "-c", "import ssl, sys, venv; print(*sys.version_info[:2], sep='.')"]
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def build_sdist(folder: Path) -> Path:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*build, str(ROOT)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the sdist cannot be built:\n{done.stdout}{done.stderr}")
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def unpack_tests(sdist: Path) -> Path:
    """The sdist's files without the packages, so that only the installed ones can be imported."""
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, filter="data")
    unpacked = sdist.parent / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(unpacked / "kafka_aio")
    shutil.rmtree(unpacked / "spark_connector")
    return unpacked


class Trial:
    """One Python, from an empty environment to the end of the unit tests."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        self.compiled = name != "twin"
        self.passed = False
        self._maker = python
        self._folder = ROOT / ".venvs" / name
        # One loop and few examples are enough here: `make test-here` has both, and all.
        told = {"KAFKA_AIO_LOOP": "asyncio", "KAFKA_AIO_EXAMPLES": "elsewhere"}
        self._variables = {**told, **os.environ}
        # What is compiled goes with the folder of the tests; .venv would keep it for ever.
        self._variables.pop("PYTHONPYCACHEPREFIX", None)
        if not self.compiled:
            self._variables.pop("KAFKA_AIO_REQUIRE_COMPILED", None)
            self._variables.update(CC="false", CXX="false")
        self._output = ""
        self._seconds = 0.0

    def run(self, sdist: Path, tests: Path) -> Trial:
        started = time.monotonic()
        try:
            self._prepare()
            self._install(
                "--no-cache", "--no-deps", "--no-build-isolation", "--reinstall", str(sdist)
            )
            self._python("-c", CODEC.format(self.compiled), cwd=tests)
            cache = f"cache_dir={self._folder / 'pytest_cache'}"
            chosen = TESTS.get(self.name, UNIT)
            self._python(*PYTEST, *chosen, "-o", cache, cwd=tests)
            self.passed = True
        except subprocess.CalledProcessError as failed:
            self._output += f"failed with {failed.returncode}: {' '.join(failed.cmd)}\n"
        self._seconds = time.monotonic() - started
        return self

    def report(self) -> str:
        """All output of a failure; of a success, the codec and pytest's last line."""
        lines = self._output.splitlines()
        kept = [line for line in lines if line.startswith("CodecInfo")] + lines[-1:]
        shown = "\n".join(kept if self.passed else lines)
        return f"--- {self.name}, {self._seconds:.0f} s\n{shown}"

    def _prepare(self) -> None:
        """Makes the environment with the locked requirements, anew when those have changed."""
        stamp = self._folder / "requirements.sha256"
        digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != digest:
            self._run([*UV, "venv", "--clear", "--python", self._maker, str(self._folder)])
            self._install("--require-hashes", "-r", str(REQUIREMENTS))
            stamp.write_text(digest)

    def _install(self, *what: str) -> None:
        self._run([*UV, "pip", "install", "--python", str(self._folder / "bin/python"), *what])

    def _python(self, *arguments: str, cwd: Path = ROOT) -> None:
        self._run([str(self._folder / "bin" / "python"), *arguments], cwd=cwd)

    def _run(self, command: list[str], cwd: Path = ROOT) -> None:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self._output += done.stdout
        done.check_returncode()


if __name__ == "__main__":
    main()
