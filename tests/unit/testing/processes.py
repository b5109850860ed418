"""Programs of the tests, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def printed(module: str, *, seed: int, hash_seed: int) -> list[str]:
    """The lines that a module prints for a seed, where sets of texts have another order."""
    done = subprocess.run(
        [sys.executable, "-m", module, str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
