"""The sdist and the wheel, installed into empty environments outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.timeout(600)  # minutes, on a busy machine

TRY = """
import kafka_aio, spark_connector
info = kafka_aio.codec_info()
assert "site-packages" in kafka_aio.__file__, kafka_aio.__file__
print(info)
print("compiled" if info.compiled else f"twin: {info.reason}")
"""
ROUND_TRIP = ROOT / "tests" / "packaging" / "round_trip.py"
UV = (sys.executable, "-m", "uv", "--quiet")
LOCKED = ("--require-hashes", "-r")
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class Environment:
    """A virtual environment with the product's run-time dependencies and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._python = str(folder / "bin" / "python")
        run(*UV, "venv", "--python", sys.executable, str(folder))
        self.install(*LOCKED, str(ROOT / "requirements" / "run.txt"))

    def install(self, *what: str, cc: str = "cc") -> None:
        run(*UV, "pip", "install", "--python", self._python, *what, CC=cc)

    def run(self, *arguments: str) -> str:
        return run(self._python, *arguments, cwd=self.folder)


def run(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**outside_the_checkout(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def outside_the_checkout() -> dict[str, str]:
    ours = ("PYTHON", "KAFKA_AIO_", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    (path,) = dist.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


def names_in_tree(*suffixes: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for package in ("kafka_aio", "spark_connector")
        for path in (ROOT / package).rglob("*")
        if path.suffix in suffixes or path.name in suffixes
    }


def test_the_wheel_holds_both_packages_typed_and_compiled_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    compiled = {name for name in names if name.endswith((".so", ".pyd"))}

    assert names_in_tree(".py", ".pyi", "py.typed") <= names
    assert {name.partition("/")[0] for name in names} == {
        *("kafka_aio", "spark_connector"),
        "pyspark_kafka_aio.py",  # Spark finds the format by this name
    }
    assert {name.partition(".")[0] for name in compiled} == {
        name.partition(".")[0] for name in names_in_tree(".pyx")
    }
    assert not {name for name in names if name.endswith(".c")}


def test_the_sdist_holds_the_sources_and_nothing_that_was_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names_in_tree(".py", ".pyi", ".pyx", ".pxd", ".h", "py.typed") <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/conftest.py"} <= names
    assert not {name for name in names if name.endswith((".c", ".so", ".pyc"))}


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install("--no-deps", str(wheel))

    assert "compiled" in environment.run("-I", "-c", TRY).splitlines()
    assert environment.run("-I", str(ROUND_TRIP)).split() == CODECS


def test_an_install_without_a_compiler_works_on_the_twin_and_says_why(
    sdist: Path, tmp_path: Path
) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(*LOCKED, str(ROOT / "requirements" / "build.txt"))
    alone = ("--no-cache", "--no-deps", "--no-build-isolation")
    environment.install(*alone, str(sdist), cc="false")

    last = environment.run("-I", "-c", TRY).splitlines()[-1]
    assert last.startswith("twin: ")
    assert len(last) > len("twin: ")
    assert environment.run("-I", str(ROUND_TRIP)).split() == CODECS
