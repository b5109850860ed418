from __future__ import annotations

import pytest

from kafka_aio import broker


@pytest.mark.parametrize("name", broker.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(broker, name).__name__ == name
    assert name in dir(broker)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = broker.Nothing
