"""From Kafka's option names and texts to our fields: what `from_kafka` does. Pure.

A value never appears in an error about a name, and neither does a name that could be a piece of a
secret: a line lost from a PEM text or a password comes here as a name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from kafka_aio.config import jaas, java
from kafka_aio.config.catalogue import CLIENTS, IGNORED, REFUSED
from kafka_aio.config.option import Kind
from kafka_aio.errors import ConfigError

_EVERY_NAME: Final = frozenset().union(*CLIENTS.values())
_RENAMED: Final = {"partitioner.class": "partitioner"}
_BUILT_IN: Final = (
    "sasl.login.callback.handler.class",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
)


def translate(
    client: str, options: Mapping[str, object], kinds: Mapping[str, Kind]
) -> tuple[dict[str, Any], list[str]]:
    """Our options, and a sentence on each that was given but has no effect.

    Raises:
        ConfigError: A name is unknown, an option is refused or given twice, or a value is wrong.
    """
    ours: dict[str, Any] = {}
    ignored: list[str] = []
    for name, value in options.items():
        if value is None:
            continue
        found = _translated(client, name, value, kinds)
        if isinstance(found, str):
            ignored.append(found)
            continue
        for field, converted in found.items():
            if field in ours and ours[field] != converted:
                raise ConfigError(f"{field} is given twice, with two values: leave one out")
            ours[field] = converted
    return ours, ignored


def check_names(client: str, names: Iterable[str], kinds: Mapping[str, Kind]) -> None:
    """Raise a ConfigError for the first name that is not an option of ours."""
    for name in names:
        if name in kinds:
            continue
        if name.replace("_", ".") in _EVERY_NAME:
            raise ConfigError(f"{name} is Kafka's, and no field here: from_kafka() may take it")
        raise ConfigError(_unknown(client, name, kinds))


def _translated(
    client: str, name: str, value: object, kinds: Mapping[str, Kind]
) -> dict[str, object] | str:
    dotted = name if name in _EVERY_NAME else str(name).replace("_", ".")
    field = _RENAMED.get(dotted, dotted.replace(".", "_"))
    if field in kinds:
        return {field: _converted(field, name, value, kinds[field])}
    if dotted not in CLIENTS[client]:
        others = [other for other in CLIENTS if dotted in CLIENTS[other]]
        if others:
            return f"{dotted} is an option of the {others[0]}, not of the {client}: it is ignored"
        raise ConfigError(_unknown(client, name, kinds))
    if dotted == "sasl.jaas.config":
        return _from_jaas(value, kinds)
    if dotted in _BUILT_IN:
        java.ours(field, str(value).strip())
        return {}
    if dotted in IGNORED:
        return f"{dotted} is ignored: {IGNORED[dotted]}"
    raise ConfigError(f"{dotted} cannot be given: {REFUSED[dotted]}")


def _converted(field: str, name: str, value: object, kind: Kind) -> object:
    if field == "partition_assignment_strategy":
        parts = re.split(r"\s*,\s*", value.strip()) if isinstance(value, str) else value
        return kind.checked(name, [_object(field, part) for part in cast(Iterable[object], parts)])
    if field in java.CLASSES:
        return kind.checked(name, _object(field, value))
    return kind.checked(name, value, from_text=isinstance(value, str))


def _object(field: str, value: object) -> object:
    """Our value for a Java class, where the text looks like the name of one."""
    is_class = isinstance(value, str) and "." in value
    return java.ours(field, cast(str, value).strip()) if is_class else value


def _from_jaas(value: object, kinds: Mapping[str, Kind]) -> dict[str, object]:
    if not isinstance(value, str):
        raise ConfigError("sasl.jaas.config must be a str")
    return {field: kinds[field].checked(field, said) for field, said in jaas.parse(value).items()}


def _unknown(client: str, name: object, kinds: Mapping[str, Kind]) -> str:
    text = name if isinstance(name, str) else ""
    # By the dotted name: how to write it. Kafka's own are dotted if the wrong one was.
    writes = {field.replace("_", "."): field for field in kinds}
    if "." in text:
        writes |= {dotted: dotted for dotted in CLIENTS[client]}
    near = difflib.get_close_matches(text.replace("_", "."), writes, n=1, cutoff=0.7)
    if near:
        return f"{text!r} is not an option of the {client}; did you mean {writes[near[0]]!r}?"
    if re.fullmatch(r"[a-z]+([._][a-z0-9]+)+", text):
        return f"{text!r} is not an option of the {client}"
    return (
        f"a name was given that is not an option of the {client}; it is not shown, because it"
        " looks like a piece of a value (a line without its \\ at the end?)"
    )
