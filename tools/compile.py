"""Compiles the extension modules in place: `python tools/compile.py release`.

Who installs from source may lack a compiler, so pyproject.toml marks the modules as optional and a
failure is forgiven. Here it is an error. `debug` turns on C assertions and Cython's bounds checks.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from pathlib import Path

import setuptools
from setuptools.command.build_ext import build_ext

PACKAGES = ("kafka_aio", "spark_connector")
DEBUG_FLAGS = ["-O0", "-g", "-UNDEBUG", "-DKAFKA_AIO_DEBUG"]
DEBUG_SOURCES = Path("build/debug")
# Objects of one mode are neither newer nor older than those of the other, only different.
LAST_MODE = Path("build/mode")


class Compile(build_ext):
    """`build_ext` that fails where it cannot compile, and knows the two modes."""

    mode = "release"

    def finalize_options(self) -> None:
        super().finalize_options()
        self.force = LAST_MODE.exists() and LAST_MODE.read_text() != self.mode
        for extension in self.extensions:
            extension.optional = False
            if self.mode == "debug":
                extension.sources = [str(DEBUG_SOURCES / source) for source in extension.sources]
                extension.extra_compile_args += DEBUG_FLAGS


def copy_sources_with_checks() -> None:
    """Copies all Cython sources; where one turns a check off, the copy turns it on.

    A directive in the first lines of a .pyx wins over those given to the compiler.
    """
    for package in PACKAGES:
        for source in Path(package).rglob("*"):
            if source.suffix in {".pyx", ".pxd", ".h"} or source.name == "__init__.py":
                checked = re.sub(r"\b(\w+check\s*[=(]\s*)False", r"\1True", source.read_text())
                target = DEBUG_SOURCES / source
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(checked)


def main() -> None:
    Compile.mode = sys.argv[1]
    if Compile.mode == "debug":
        copy_sources_with_checks()
    warnings.filterwarnings("ignore", "(?s).*ext-modules.*experimental")  # known: docs/decisions.md
    distribution = setuptools.setup(
        cmdclass={"build_ext": Compile}, script_args=["--quiet", "build_ext", "--inplace"]
    )
    LAST_MODE.parent.mkdir(exist_ok=True)
    LAST_MODE.write_text(Compile.mode)

    sys.path.insert(0, str(Path.cwd()))
    for extension in distribution.ext_modules or ():
        module = importlib.import_module(extension.name)
        print(f"{extension.name}: {Path(str(module.__file__)).name} ({Compile.mode})")


if __name__ == "__main__":
    main()
