from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.broker.groups.patterns import Pattern
from kafka_aio.errors import InvalidRegularExpression

NAMES = ("", "a", "b", "ab", "aab", "abab", "A", "a.b", "a-b", "a_1", "orders", "orders.eu", "7")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("", ("",)),
        ("a", ("a",)),
        ("a|b", ("a", "b")),
        ("a||b", ("", "a", "b")),
        ("(a|b)+", ("a", "b", "ab", "aab", "abab")),
        ("a*b", ("b", "ab", "aab")),
        ("a+b", ("ab", "aab")),
        ("a?b", ("b", "ab")),
        ("a+?b??", ("a", "ab", "aab")),
        ("(ab){2}", ("abab",)),
        ("(ab){1,}", ("ab", "abab")),
        ("(ab){0,1}", ("", "ab")),
        ("(ab){0}", ("",)),
        ("a{2", ()),
        (".", ("a", "b", "A", "7")),
        ("a.b", ("aab", "a.b", "a-b")),
        (r"a\.b", ("a.b",)),
        ("a[.-]b", ("a.b", "a-b")),
        ("[^a-z]", ("A", "7")),
        ("[]a]", ("a",)),
        ("[a-]", ("a",)),
        (r"[\w-]{3}", ("aab", "a-b", "a_1")),
        (r"[\d]", ("7",)),
        ("[[:upper:]]", ("A",)),
        ("[[:^alpha:]]", ("7",)),
        (r"\d", ("7",)),
        (r"\D", ("a", "b", "A")),
        (r"\w+", ("a", "b", "ab", "aab", "abab", "A", "a_1", "orders", "7")),
        (r"a\Wb", ("a.b", "a-b")),
        (r"\S\s?", ("a", "b", "A", "7")),
        (r"\pL", ("a", "b", "A")),
        (r"\p{Lu}", ("A",)),
        (r"\P{L}", ("7",)),
        (r"\p{^L}", ("7",)),
        (r"\p{Latin}", ("a", "b", "A")),
        (r"\p{Greek}", ()),
        (r"\p{Any}", ("a", "b", "A", "7")),
        (r"\x61\x{62}", ("ab",)),
        (r"\141", ("a",)),
        (r"\0141?", ()),
        (r"[\t\]a]", ("a",)),
        ("[[a]", ("a",)),
        ("[[:a]", ("a",)),
        (r"\Qa.b\E", ("a.b",)),
        (r"\Qa.b", ("a.b",)),
        ("(?i)a", ("a", "A")),
        ("(?i:A)b?", ("a", "ab", "A")),
        ("((?i)a)|B", ("a", "A")),
        ("(?i)(?-i)a", ("a",)),
        ("(?i)[^a]", ("b", "7")),
        ("(?P<one>a)(?<two>b)", ("ab",)),
        ("^a$", ("a",)),
        (r"\Aa\z", ("a",)),
        ("a^b", ()),
        (r"a\b\.b", ("a.b",)),
        (r"a\B.b", ("aab",)),
        (r"orders(\..+)?", ("orders", "orders.eu")),
        ("é|a", ("a",)),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, matched: tuple[str, ...]) -> None:
    assert tuple(filter(Pattern(pattern).matches, NAMES)) == matched


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing closing )"),
        ("a)", "regexp/syntax: internal error"),
        ("[a", "missing closing ]"),
        ("[b-a]", "invalid character class range"),
        ("[[:nothing:]]", "invalid character class range"),
        (r"\p{nothing}", "invalid character class range"),
        (r"\p{L", "invalid character class range"),
        (r"\p", "invalid character class range"),
        ("*", "missing argument to repetition operator"),
        ("(+a)", "missing argument to repetition operator"),
        ("a|?", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a++", "invalid nested repetition operator"),
        ("a{2}{3}", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{3,2}", "invalid repeat count"),
        ("a{" + "9" * 5000 + "}", "invalid repeat count"),
        ("a\\", "trailing backslash at end of expression"),
        (r"(a)\1", "invalid escape sequence"),
        (r"\Z", "invalid escape sequence"),
        (r"\C", "invalid escape sequence"),
        (r"\x{110000}", "invalid escape sequence"),
        (r"\xg", "invalid escape sequence"),
        (r"[a-\d]", "invalid escape sequence"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?!a)", "invalid or unsupported Perl syntax"),
        ("(?>a)", "invalid or unsupported Perl syntax"),
        ("(?P=a)", "invalid or unsupported Perl syntax"),
        ("(?i-)a", "invalid or unsupported Perl syntax"),
        ("(?", "invalid or unsupported Perl syntax"),
        ("(?<=a)", "invalid named capture"),
        ("(?<!a)b>", "invalid named capture"),
        ("(?P<a", "invalid named capture"),
        ("(?P<a>)(?P<a>)", "duplicate capture group name"),
        ("((((a{100}){100}){100}){100}){100}", "expression too large"),
        ("a" * 10_001, "expression too large"),
    ],
)
def test_what_re2_does_not_know_is_refused_in_its_words(pattern: str, why: str) -> None:
    with pytest.raises(InvalidRegularExpression) as caught:
        Pattern(pattern)

    assert caught.value.message == (
        f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {why}."
    )


def test_a_pattern_that_stops_a_backtracker_is_answered() -> None:
    # `re` would need longer than the universe is old.
    assert not Pattern("((a*)*)*b").matches("a" * 249)


def test_parentheses_may_be_as_deep_as_a_request_is_long() -> None:
    depth = 5_000

    assert Pattern("(" * depth + "a" + ")" * depth).matches("a")


def test_a_name_that_is_not_ascii_matches_nothing() -> None:
    assert not Pattern(".*").matches("é")


def test_a_repr_shows_the_expression() -> None:
    assert repr(Pattern("a.*")) == "<Pattern 'a.*'>"


# What both RE2 and Python's `re` know, and mean the same by.
_atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\.", "^", "$", r"\b", r"\B"])
_shared = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda each: f"({'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


# Not the empty name: there Python's `\B` was wrong up to 3.13.
@given(pattern=_shared, name=st.text("ab._", min_size=1, max_size=6))
def test_a_pattern_matches_as_pythons_would(pattern: str, name: str) -> None:
    assert Pattern(pattern).matches(name) == bool(re.fullmatch(pattern, name, re.ASCII))


def test_a_large_pattern_is_tried_on_many_long_names_in_no_time() -> None:
    pattern = Pattern("((x*)*){900}y")  # minutes, if each step were followed for each letter

    matches = [pattern.matches("x" * 249) for _ in range(100)]

    assert not any(matches)
    assert pattern.matches("x" * 248 + "y")
