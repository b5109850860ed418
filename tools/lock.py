"""Pins requirements/*.txt anew, with hashes, for every Python and platform: `make lock`.

They are made to agree with each other, and name no registry: pip takes the one of the machine.
"""

from __future__ import annotations

import subprocess
import sys

COMPILE = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--upgrade", "--universal"]
COMPILE += ["--generate-hashes", "--python-version", "3.11", "--no-annotate"]
COMPILE += ["--custom-compile-command", "make lock"]

BUILD = "requirements/build.in"
PRODUCT = "pyproject.toml"
# Not gssapi: it has no wheels for Linux, and would have to be compiled wherever a test runs.
EXTRAS = [f"--extra={name}" for name in ("arrow", "oidc", "pkcs12", "spark", "uvloop")]
# The widest first: the others are parts of it.
FILES = {
    "test": [PRODUCT, *EXTRAS, BUILD, "requirements/test.in"],
    "unit": [PRODUCT, *EXTRAS, BUILD, "requirements/unit.in"],
    "spark": [PRODUCT, "--extra", "spark", "--extra", "uvloop", "requirements/spark.in"],
    "demo": [PRODUCT, "--extra", "arrow", "requirements/demo.in"],
    "run": [PRODUCT],
    "build": [BUILD],
}


def main() -> None:
    for name, sources in FILES.items():
        target = f"requirements/{name}.txt"
        agree = [] if name == "test" else ["--constraints", "requirements/test.txt"]
        subprocess.run([*COMPILE, *sources, *agree, "--output-file", target], check=True)
        print(f"{target}: pinned")


if __name__ == "__main__":
    main()
