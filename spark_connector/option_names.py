"""What the clients say of their options, as a user of Spark has to hear it. Pure.

The clients have Python's names, and their advice may be an object or a function. An option of
Spark's is a text, by Kafka's name, with `kafka.` before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields
from typing import Final

from kafka_aio import AdminConfig, ConsumerConfig, ProducerConfig

_FIELDS: Final = {
    each.name for kind in (AdminConfig, ConsumerConfig, ProducerConfig) for each in fields(kind)
}
_NAMES: Final = {
    **{name: name.replace("_", ".") for name in _FIELDS if "_" in name},
    "partitioner": "partitioner.class",
    # Kafka has no options for these.
    "sasl_username": "sasl.jaas.config",
    "sasl_password": "sasl.jaas.config",
}
_MISSING: Final = re.compile(r"\bsasl_(username|password) is missing")
_BOTH: Final = re.compile(r"\bsasl_username and sasl_password\b")
# Advice that only a program in Python can follow, to the end of its part of the sentence.
_OF_OBJECTS: Final = re.compile(
    r"[;,][^;,]*\b(ssl_context|sasl_oauthbearer_token_provider|function of yours)\b[^;,]*"
)


def by_kafkas_names(text: str, given: Collection[str] = ()) -> str:
    """The text of an error with the names of options as Spark has them.

    Args:
        text: That of a client.
        given: Kafka's names of the options that it is about. They may stand in the text as they
            are, and lack their `kafka.`.
    """
    text = _OF_OBJECTS.sub("", text)
    text = _MISSING.sub(r"sasl_password is missing, or has no \1", text)
    text = _BOTH.sub("sasl_password", text)
    names = {**_NAMES}
    for name in given:
        if "." in name:
            names |= {name: name, name.replace(".", "_"): name}
    every = "|".join(map(re.escape, sorted(names, reverse=True)))  # the longer one of two first
    by_itself = rf"(?<![^\s(])({every})(?![\w/-]|\.\w)"  # and not as a part of a value
    return re.sub(by_itself, lambda found: f"kafka.{names[found[1]]}", text)
