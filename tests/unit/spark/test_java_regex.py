from __future__ import annotations

import re

import pytest

from kafka_aio.errors import ConfigError
from spark_connector.java_regex import PatternError, compiled
from spark_connector.options import Pattern

NAMES = ("clicks", "Clicks.EU", "clicks-1", "orders_7", "a.b", "b", "A")


def found(pattern: str) -> list[str]:
    """The names in which it is found. All answers below are those of JDK 17."""
    return [name for name in NAMES if compiled(pattern).search(name)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("lick", ["clicks", "Clicks.EU", "clicks-1"]),
        ("^b$", ["b"]),
        (r"^clicks\z", ["clicks"]),
        (r"\AA\Z", ["A"]),
        (r"\Q.\E", ["Clicks.EU", "a.b"]),
        (r"\Q.b", ["a.b"]),
        (r"[\Q.-\E]", ["Clicks.EU", "clicks-1", "a.b"]),
        (r"\d", ["clicks-1", "orders_7"]),
        (r"[-.]", ["Clicks.EU", "clicks-1", "a.b"]),
        (r"[]-]", ["clicks-1"]),
        (r"^[^\w]|^[ab&&[^a]]$", ["b"]),
        ("^[a-z&&[^ab]]", ["clicks", "clicks-1", "orders_7"]),
        ("^[a[o]]", ["orders_7", "a.b"]),
        ("^[^a-z&&[a-c]]", ["Clicks.EU", "orders_7", "A"]),
        (r"^\p{Upper}", ["Clicks.EU", "A"]),
        (r"^\P{Lower}", ["Clicks.EU", "A"]),
        (r"^\p{Lu}$", ["A"]),
        (r"\p{IsAlphabetic}\p{Punct}\p{L}", ["Clicks.EU", "a.b"]),
        (r"\pN", ["clicks-1", "orders_7"]),
        (r"[\p{Digit}\x2e]", ["Clicks.EU", "clicks-1", "orders_7", "a.b"]),
        ("(?i)^a", ["a.b", "A"]),
        ("^(?i)a|B", ["a.b", "b", "A"]),
        ("^zz(?i)z|B", ["a.b", "b"]),
        ("^(?:(?i)A)", ["a.b", "A"]),
        ("(?i:^c)(?-i:L|l)", ["clicks", "Clicks.EU", "clicks-1"]),
        ("(?i)^[^a]$", ["b"]),
        ("(?i)(?-i)^C", ["Clicks.EU"]),
        ("(?<x>c)li\\k<x>", ["clicks", "clicks-1"]),
        (r"(c)li\1", ["clicks", "clicks-1"]),
        (r"^(c)li\1ks$", ["clicks"]),
        ("c++l", ["clicks", "clicks-1"]),
        ("(?>c*)k", ["clicks", "Clicks.EU", "clicks-1"]),
        ("(?<=s)-(?=1)", ["clicks-1"]),
        ("(?<!s)_|(?!a)^.$", ["b", "A"]),
        (r"\u0061\x{2e}\0142", ["a.b"]),
        (r"[\u0061-\x62]\.", ["a.b"]),
        ("o.{6}7", ["orders_7"]),
        ("^.{1,3}$", ["a.b", "b", "A"]),
        (r"\-|\_", ["clicks-1", "orders_7"]),
        ("}|]|s-", ["clicks-1"]),
        ("(?dU)^b", ["b"]),
        (r"\h|\v|\R|\s|\e|\cA|\t", []),
        (r"\H\V\S\D\B", ["clicks", "Clicks.EU", "clicks-1", "orders_7"]),
        ("[é]|é", []),
        ("", list(NAMES)),
    ],
)
def test_what_java_finds_is_found(pattern: str, names: list[str]) -> None:
    assert found(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("[", "a class is not closed"),
        ("[a", "a class is not closed"),
        ("[z-a]", "the range z-a ends before it begins"),
        ("[&&a]", "nothing before or after &&"),
        ("[a&&]", "nothing before or after &&"),
        ("(a", "a group is not closed"),
        ("a)", "there is a ) without its ("),
        ("a{", "after { there is no number of times"),
        ("a{,2}", "after { there is no number of times"),
        ("{1}", "Python's re says: nothing to repeat"),
        ("*a", "Python's re says: nothing to repeat"),
        ("a**", "Python's re says: multiple repeat"),
        ("a{3,2}", "Python's re says: min repeat greater than max repeat"),
        ("a{99999999999}", "Python's re says"),
        ("a\\", "it ends too early"),
        (r"\y", r"\y is not supported here"),
        (r"\X", r"\X is not supported here"),
        (r"\b{g}", "after { there is no number of times"),
        (r"\p{IsGreek}", r"\p{IsGreek} is not supported here"),
        (r"\p", "after \\p there is no {property}"),
        (r"\k", "after \\k there is no <name>"),
        (r"\x4", "after \\x there is no number of a character"),
        (r"\x{110000}", "after \\x there is no number of a character"),
        (r"\2", "Python's re says: invalid group reference 2"),
        ("(?P<x>a)", "Java has no group that begins like"),
        ("(?#x)", "Java has no group that begins like"),
        ("(?x)a b", "the flag x (comments) is not supported"),
        ("(?<=a+)b", "Python's re says: look-behind requires fixed-width pattern"),
    ],
)
def test_what_is_wrong_or_not_to_be_had_in_python_is_an_error(pattern: str, sentence: str) -> None:
    with pytest.raises(PatternError, match=re.escape(sentence)):
        compiled(pattern)
    with pytest.raises(ConfigError, match=r"expected is a regular expression of Java's"):
        Pattern(pattern)


def test_a_digit_after_a_reference_is_one_of_it_only_where_there_are_so_many_groups() -> None:
    assert compiled(r"(a)\12").search("aa2")
    assert compiled("(x)" * 9 + r"(a)(b)\11").search("xxxxxxxxxabb")
