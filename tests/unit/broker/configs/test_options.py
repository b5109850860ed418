from __future__ import annotations

import re

import pytest

from kafka_aio.broker.configs.options import (
    Check,
    Option,
    Type,
    Value,
    at_least,
    between,
    list_of,
    one_of,
    shown,
)
from kafka_aio.errors import InvalidConfig


def option(type: Type) -> Option:
    return Option("an.option", type, None)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (Type.BOOLEAN, " TRUE ", True),
        (Type.BOOLEAN, "false", False),
        (Type.INT, " +7", 7),
        (Type.INT, "-2147483648", -(2**31)),
        (Type.SHORT, "32767", 32_767),
        (Type.LONG, "9223372036854775807", 2**63 - 1),
        (Type.DOUBLE, "1e-4d", 0.0001),
        (Type.DOUBLE, ".5", 0.5),
        (Type.STRING, " a b ", "a b"),
        (Type.LIST, "", ()),
        (Type.LIST, " a , b,a", ("a", "b")),
        (Type.LIST, "a,", ("a", "")),
        (Type.PASSWORD, "secret", "secret"),
    ],
)
def test_a_text_is_read_as_java_reads_it(type: Type, text: str, value: Value) -> None:
    assert option(type).read(text) == value


@pytest.mark.parametrize(
    ("type", "text", "why"),
    [
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.INT, "1.5", "Not a number of type INT"),
        (Type.SHORT, "-32769", "Not a number of type SHORT"),
        (Type.LONG, "9" * 5000, "Not a number of type LONG"),
        (Type.LONG, "1_000", "Not a number of type LONG"),
        (Type.LONG, "", "Not a number of type LONG"),
        (Type.DOUBLE, "0x1p3", "Not a number of type DOUBLE"),
        (Type.DOUBLE, "inf", "Not a number of type DOUBLE"),
    ],
)
def test_a_text_of_another_type_is_refused_in_the_words_of_kafka(
    type: Type, text: str, why: str
) -> None:
    with pytest.raises(InvalidConfig) as raised:
        option(type).read(text)

    assert raised.value.message == f"Invalid value {text} for configuration an.option: {why}"


@pytest.mark.parametrize(
    ("check", "value", "why"),
    [
        (at_least(2), 1, "Invalid value 1 for configuration o: Value must be at least 2"),
        (between(0, 1), 1.5, "Invalid value 1.5 for configuration o: Value must be no more than 1"),
        (one_of("a", "b"), "A", "Invalid value A for configuration o: String must be one of: a, b"),
        (list_of("a"), ("a", "b"), "Invalid value b for configuration o: String must be one of: a"),
        (list_of("a"), ("a", ""), "Configuration 'o' values must not be empty."),
        (list_of(), ("",), "Configuration 'o' values must not be empty."),
    ],
)
def test_a_check_says_what_it_takes(check: Check, value: Value, why: str) -> None:
    with pytest.raises(InvalidConfig, match=f"says: {re.escape(why)}$"):
        check("o", value)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (at_least(2), 2),
        (between(0, 1), 1.0),
        (one_of("a", "b"), "b"),
        (list_of("a"), ()),
        (list_of(), ("x",)),
    ],
)
def test_a_check_lets_pass_what_it_takes(check: Check, value: Value) -> None:
    check("o", value)


def test_an_option_parses_what_it_does_not_accept() -> None:
    checked = Option("o", Type.INT, None, at_least(10))

    assert checked.parse("1") == 1
    with pytest.raises(InvalidConfig, match="Value must be at least 10"):
        checked.read("1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        ((), ""),
        (("a", "b"), "a,b"),
        ("text", "text"),
        (0.5, "0.5"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.00025, "-2.5E-4"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_a_value_is_told_as_java_prints_it(value: Value, text: str | None) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("type", Type)
def test_passwords_and_what_nobody_knows_are_sensitive(type: Type) -> None:
    assert option(type).is_sensitive == (type in (Type.PASSWORD, Type.UNKNOWN))
