from __future__ import annotations

import subprocess
import sys

import pytest

import kafka_aio


@pytest.mark.parametrize("name", kafka_aio.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kafka_aio, name) is not None
    assert name in dir(kafka_aio)


def test_a_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Adnim'"):
        _ = kafka_aio.Adnim


@pytest.mark.parametrize("module", ["kafka_aio", "kafka_aio.cli"])
def test_no_client_is_imported_before_it_is_used(module: str) -> None:
    code = f"import sys, {module}; print([m for m in sys.modules if m.startswith('kafka_aio.net')])"

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert printed.strip() == "[]"
