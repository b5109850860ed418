from __future__ import annotations

from collections import Counter

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.options import Type


def test_every_default_is_one_that_the_option_takes() -> None:
    options = [option for option in BROKER_OPTIONS.values() if option.default is not None]

    read = [option.read(option.default or "") for option in options]

    assert len(read) == 283


def test_there_are_as_many_options_as_a_broker_tells() -> None:
    scopes = Counter(option.scope for option in BROKER_OPTIONS.values())

    assert len(BROKER_OPTIONS) == 340
    assert scopes == {"": 241, "cluster": 62, "node": 27, "listener": 10}


def test_a_password_has_no_default() -> None:
    passwords = [each for each in BROKER_OPTIONS.values() if each.type is Type.PASSWORD]

    assert {each.default for each in passwords} == {None}
