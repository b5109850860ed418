"""Every test of the codec runs on both: the compiled one, and its twin."""

from __future__ import annotations

from types import ModuleType

import pytest

from kafka_aio.records import arrow, batch
from tests.unit.records import samples


@pytest.fixture(params=samples.codecs, ids=lambda module: module.__name__.rpartition(".")[2])
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module: ModuleType = request.param
    for name in ("BatchBuilder", "RecordReader", "crc32c"):
        monkeypatch.setattr(batch, name, getattr(module, name))
    monkeypatch.setattr(arrow, "Rows", module.Rows)
    return module
