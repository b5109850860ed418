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
from kafka_aio.config.catalogue import CLIENTS, COMMON, DEFAULTS, IGNORED, REFUSED
from kafka_aio.config.option import Kind, Text
from kafka_aio.errors import ConfigError

_EVERY_NAME: Final = frozenset().union(*CLIENTS.values())
_NAMES: Final = {**CLIENTS, "client": COMMON}
_RENAMED: Final = {"partitioner.class": "partitioner"}
_INSTEAD: Final = {**_RENAMED, "interceptor.classes": "interceptors"}
_BUILT_IN: Final = (
    "sasl.login.callback.handler.class",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
)


def translate(
    client: str, options: Mapping[Any, Any], kinds: Mapping[str, Kind]
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
        if not isinstance(name, str):
            raise ConfigError(_unknown(client, name, kinds))
        found = _translated(client, name, value, kinds)
        if isinstance(found, str):
            ignored.append(found)
            continue
        for field, converted in found.items():
            if field in ours and ours[field] != converted:
                raise ConfigError(f"{field} is given twice, with two values: leave one out")
            ours[field] = converted
    for name in ("sasl.jaas.config", "sasl_jaas_config"):
        if options.get(name) is not None and "sasl_mechanism" in ours:
            jaas.check_mechanism(options[name], ours["sasl_mechanism"])
    return ours, ignored


def unknown_names(client: str, options: Mapping[Any, Any], kinds: Mapping[str, Kind]) -> list[str]:
    """The names for which `translate` raises, as no client of Kafka's has them."""
    return [
        name
        for name, value in options.items()
        if value is not None and isinstance(name, str) and not _is_known(client, name, kinds)
    ]


def ignored_names(
    client: str, options: Mapping[Any, Any], kinds: Mapping[str, Kind]
) -> dict[str, str]:
    """The names that `translate` tells of as without effect, each with its sentence."""
    found = {}
    for name, value in options.items():
        if value is not None and isinstance(name, str):
            dotted, field = _spelled(name)
            if field not in kinds and (sentence := _ignored(client, dotted, value)):
                found[name] = sentence
    return found


def check_names(client: str, names: Iterable[Any], kinds: Mapping[str, Kind]) -> None:
    """Raise a ConfigError for the first name that is not an option of ours."""
    for name in names:
        if name in kinds:
            continue
        if not isinstance(name, str):
            raise ConfigError(_unknown(client, name, kinds))
        dotted = name.replace("_", ".")
        if _INSTEAD.get(dotted) in kinds:
            instead = _INSTEAD[dotted]
            raise ConfigError(f"{name!r} is no field here; did you mean {instead!r}?")
        if "." not in name and dotted not in _NAMES[client] and _other(client, dotted):
            raise ConfigError(_foreign(client, name, dotted))
        if dotted in _EVERY_NAME:
            raise ConfigError(f"{name} is Kafka's, and no field here: from_kafka() may take it")
        # No line lost from a longer text: those of PEM have 64 characters.
        is_name = name.isidentifier() and len(name) < 64
        raise ConfigError(_unknown(client, name, kinds, shown=is_name))


def _translated(
    client: str, name: str, value: object, kinds: Mapping[str, Kind]
) -> dict[str, object] | str:
    dotted, field = _spelled(name)
    if field in kinds:
        return {field: _converted(field, name, value, kinds[field])}
    if sentence := _ignored(client, dotted, value):
        return sentence
    if dotted not in _NAMES[client]:
        raise ConfigError(_unknown(client, name, kinds))
    if dotted == "sasl.jaas.config":
        return _from_jaas(value, kinds)
    if dotted in _BUILT_IN:
        java.ours(field, Text().checked(dotted, value).strip())
        return {}
    if _changes_nothing(dotted, value):
        return {}
    raise ConfigError(f"{dotted} cannot be given: {REFUSED[dotted]}")


def _ignored(client: str, dotted: str, value: object) -> str:
    """Why an option that is no field has no effect; empty where it has one, or is refused."""
    if dotted not in _NAMES[client]:
        is_foreign = _other(client, dotted) != ""
        return f"{_foreign(client, dotted, dotted)}: it is ignored" if is_foreign else ""
    if dotted in IGNORED and not _changes_nothing(dotted, value):
        return f"{dotted} is ignored: {IGNORED[dotted]}"
    return ""


def _spelled(name: str) -> tuple[str, str]:
    """The option as Kafka writes it, and as a field."""
    dotted = name if name in _EVERY_NAME else name.replace("_", ".")
    return dotted, _RENAMED.get(dotted, dotted.replace(".", "_"))


def _is_known(client: str, name: str, kinds: Mapping[str, Kind]) -> bool:
    dotted, field = _spelled(name)
    return field in kinds or dotted in _NAMES[client] or _other(client, dotted) != ""


def _changes_nothing(dotted: str, value: object) -> bool:
    """Whether it is empty, or Kafka's default."""
    read = value.strip() if isinstance(value, str) else value
    read = read.lower() if isinstance(read, str) and read.lower() == "false" else read
    return read in ("", [], (), *DEFAULTS.get(dotted, ()))


def _other(client: str, dotted: str) -> str:
    """Another client that has the option; empty where none has."""
    if dotted.startswith("share.") and dotted in _EVERY_NAME:
        return "share consumer"
    others = [other for other in CLIENTS if other != client and dotted in CLIENTS[other]]
    return others[0] if others else ""


def _foreign(client: str, name: str, dotted: str) -> str:
    return f"{name} is an option of the {_other(client, dotted)}, not of {_called(client)}"


def _called(client: str) -> str:
    return "every client" if client == "client" else f"the {client}"


def _converted(field: str, name: str, value: object, kind: Kind) -> object:
    if field == "partition_assignment_strategy":
        parts = re.split(r"\s*,\s*", value.strip()) if isinstance(value, str) else value
        if isinstance(parts, list | tuple):
            return kind.checked(name, [_object(field, part) for part in parts])
        return kind.checked(name, value)
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


def _unknown(client: str, name: object, kinds: Mapping[str, Kind], *, shown: bool = False) -> str:
    text = name if isinstance(name, str) else ""
    is_dotted = "." in text
    # By the dotted name: how to write it. Kafka's own are dotted if the wrong one was.
    writes = {field.replace("_", "."): field for field in kinds}
    if is_dotted:
        writes |= {dotted: dotted for dotted in _NAMES[client]}
    problem = f"{text!r} is not an option of {_called(client)}"
    near = _nearest(text, writes)
    if near:
        return f"{problem}; did you mean {writes[near]!r}?"
    near = _nearest(text, _EVERY_NAME - _NAMES[client])
    if near:
        written = near if is_dotted else near.replace(".", "_")
        return f"{problem}; did you mean the {_other(client, near)}'s {written!r}?"
    if shown or re.fullmatch(r"[a-z]+([._][a-z0-9]+)+", text):
        return problem
    return (
        f"a name was given that is not an option of {_called(client)}; it is not shown, because it"
        " looks like a piece of a value (a line without its \\ at the end?)"
    )


def _nearest(text: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(text.replace("_", "."), sorted(names), n=1, cutoff=0.7)
    return near[0] if near else ""
