"""What docs/design.md says about the tree, held against the tree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks import figures
from tools.check_stubs import PAIRS

ROOT = Path(__file__).parent.parent
PACKAGES = ("kafka_aio", "spark_connector")
HAND_WRITTEN = (*PACKAGES, "benchmarks", "examples", "tests", "tools")
EXTRAS = ("cryptography", "gssapi", "h11", "pyarrow", "pyspark", "uvloop")
NEED_AN_EXTRA = (
    "kafka_aio.broker.security.authority",
    "kafka_aio.producer.rows",
    "kafka_aio.records.arrow",
    "spark_connector.columns",
    "spark_connector.filters",
    "spark_connector.listener",
    "spark_connector.rdd",
    "spark_connector.reader",
    "spark_connector.rows",
    "spark_connector.source",
    "spark_connector.stream",
    "spark_connector.writer",
)

DESIGN = (ROOT / "docs" / "design.md").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTENSIONS = PYPROJECT["tool"]["setuptools"]["ext-modules"]
RUFF = PYPROJECT["tool"]["ruff"]["lint"]
BANNED = {name.partition(".")[0] for name in RUFF["flake8-tidy-imports"]["banned-api"]}

FORGET_AND_IMPORT = """
import importlib, os, sys
import anyio, asyncio, inspect, logging, ssl, urllib.request  # not ours, and slow: once for all
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        if name not in {exempt}:
            sys.modules.update(dict.fromkeys({extras}))  # None: cannot be imported
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{{name}}: {{error!r}}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def sources(*folders: str, suffixes: tuple[str, ...] = (".py",)) -> list[str]:
    """The files with one of the suffixes below the folders, as paths from the root."""
    return [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes
    ]


def section(title: str) -> str:
    """The text of design.md below that heading, up to the next of its kind."""
    start = DESIGN.index(f"\n## {title}\n")
    end = DESIGN.find("\n## ", start + 1)
    return DESIGN[start : end if end > 0 else None]


def file_map() -> dict[str, str]:
    """Each file of the map in design.md, with what its row says about purity."""
    files: dict[str, str] = {}
    for line in section("File map").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            files.update(dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[-1]))
    return files


def declared_only(path: str) -> bool:
    with (ROOT / path).open() as file:
        return "declarations only" in file.readline().lower()


def test_the_file_map_names_every_module_and_no_other() -> None:
    existing = set(sources(*PACKAGES, suffixes=(".py", ".pyx", ".h")))

    assert set(file_map()) - existing == set(), "in the map, but not in the tree: make map"
    assert existing - set(file_map()) == set(), "in the tree, but not in the map: make map"


def test_only_the_modules_that_choose_import_a_compiled_one() -> None:
    choosers = (
        "kafka_aio/consumer/cursor.py",
        "kafka_aio/producer/delivery.py",
        "kafka_aio/producer/partition.py",
        "kafka_aio/protocol/reader.py",
        "kafka_aio/records/codec.py",
    )
    imports = re.compile("|".join(rf"(from|import) {re.escape(name)}\b" for name in PAIRS))

    for path in sources(*PACKAGES):
        is_chooser = path in choosers
        assert bool(imports.search((ROOT / path).read_text())) == is_chooser, path


def test_the_dots_of_the_file_map_are_the_exceptions_of_ruff() -> None:
    exempt = {
        path
        for pattern, rules in RUFF["per-file-ignores"].items()
        if pattern.startswith(PACKAGES) and "TID251" in rules
        for path in (match.relative_to(ROOT).as_posix() for match in ROOT.glob(pattern))
    }
    dotted = {path for path, purity in file_map().items() if purity == "●"}

    assert dotted == exempt
    assert set(file_map().values()) <= {"●", "pure"}


def test_what_pure_modules_may_not_import_is_the_list_of_ruff() -> None:
    (listed,) = re.findall(r"^Banned from pure modules: (.+)$", DESIGN, re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", listed)) == BANNED - {"datetime"}


@pytest.mark.parametrize("path", sources(*PACKAGES, suffixes=(".pyx", ".pxd", ".h")))
def test_cython_sources_are_as_pure_as_the_others(path: str) -> None:
    text = (ROOT / path).read_text()
    imported = [
        name
        for line in re.findall(r"^\s*c?import (.+)$", text, re.MULTILINE)
        for name in line.split(",")
    ]
    imported += re.findall(r"^\s*from ([\w.]+) c?import", text, re.MULTILINE)
    included = re.findall(r"(?:#include|extern from)\s*[<\"']+([\w/.]+)\.h", text)
    words = {word for name in imported for word in name.split(" as ")[0].strip().split(".")}
    words |= {word for header in included for word in header.split("/")}

    assert words & BANNED == set()


def test_no_file_written_by_hand_passes_500_lines() -> None:
    lengths = {path: (ROOT / path).read_text().count("\n") for path in sources(*HAND_WRITTEN)}
    too_long = {path: lines for path, lines in lengths.items() if lines > 500}

    assert {path for path in too_long if not declared_only(path)} == set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fresh interpreter per module is a fork")
@pytest.mark.parametrize("part", range(4))
def test_each_module_imports_on_its_own_and_without_the_extras(part: int) -> None:
    names = [
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in sources(*PACKAGES)
        if not path.endswith("__main__.py")
    ]
    script = FORGET_AND_IMPORT.format(extras=EXTRAS, exempt=NEED_AN_EXTRA)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *names[part::4]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout + done.stderr == ""


def test_every_cython_module_is_built_and_has_a_stub_and_a_twin_held_to_it() -> None:
    built = {extension["name"] for extension in EXTENSIONS}
    written = {
        path.removesuffix(".pyx").replace("/", ".")
        for path in sources(*PACKAGES, suffixes=(".pyx",))
    }

    assert built == written == set(PAIRS)
    for extension in EXTENSIONS:
        assert (ROOT / extension["sources"][0]).with_suffix(".pyi").exists()
        assert extension["optional"], "an install without a compiler must go on"


def test_every_header_of_a_cython_module_is_among_what_it_depends_on() -> None:
    depends = {header for extension in EXTENSIONS for header in extension.get("depends", ())}

    assert depends == set(sources(*PACKAGES, suffixes=(".pxd", ".h")))


def test_every_dependency_has_its_reason_in_the_decisions() -> None:
    project = PYPROJECT["project"]
    lines = [*project["dependencies"], *PYPROJECT["build-system"]["requires"]]
    lines += [line for extra in project["optional-dependencies"].values() for line in extra]
    for file in (ROOT / "requirements").glob("*.in"):
        lines += file.read_text().splitlines()
    names = {found[0].lower() for line in lines if (found := re.match(r"[A-Za-z][\w.-]*", line))}
    decisions = (ROOT / "docs" / "decisions.md").read_text().lower()

    assert {name for name in names if f"`{name}`" not in decisions} == set()


def published() -> Iterator[tuple[str, str]]:
    """Path and text of every file that git has or would take."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for path in sorted(set(listed.stdout.splitlines())):
        if (ROOT / path).is_file():
            yield path, (ROOT / path).read_text(errors="replace")


def registry_hosts() -> set[str]:
    """The public registries, and those that this machine is told to use."""
    values = [value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))]
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    urls = re.findall(r"https?://[^\s'\"]+", "\n".join([*values, configured.stdout]))
    hosts = {urlsplit(url).hostname or "" for url in urls} - {"", "localhost"}
    return hosts | {"pypi" + ".org", "python" + "hosted.org", "repo1.maven" + ".org"}


def test_no_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    hosts = registry_hosts()
    own_paths = re.compile(r"(?<![\w./<-])/(?:root|work|home|Users)/\w")
    found = [
        (path, word)
        for path, text in published()
        for word in [host for host in hosts if host in text] + own_paths.findall(text)
    ]

    assert found == []


@pytest.mark.parametrize("path", sources("requirements", suffixes=(".txt",)))
def test_locked_requirements_have_hashes_and_leave_the_source_to_the_machine(path: str) -> None:
    text = (ROOT / path).read_text()
    pins = re.findall(r"^\S+==\S+", text, re.MULTILINE)

    assert pins
    assert len(re.findall(r"^\S+==.* \\\n    --hash=", text, re.MULTILINE)) == len(pins)
    assert "://" not in text
    assert not re.search(r"^--?(?:i|f|index|extra|find|trusted)", text, re.MULTILINE)


def test_the_page_of_figures_is_what_the_benchmarks_measured() -> None:
    assert figures.FIGURES.read_text() == figures.text(), "python -m benchmarks.figures"
