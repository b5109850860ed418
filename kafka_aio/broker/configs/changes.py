"""Changes of options (KIP-226, KIP-339): what is set afterwards, and whether it may be. Pure.

The texts of the errors, and the order in which mistakes are found, are Kafka's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_aio.broker.configs.broker import BROKER_OPTIONS
from kafka_aio.broker.configs.configs import CLUSTER, MIN_ISR
from kafka_aio.broker.configs.options import Option, Type
from kafka_aio.errors import InvalidConfig, InvalidRequest

_MOST_CHARACTERS: Final = 2**15 - 1


class Operation(IntEnum):
    """What is done to an option; the numbers are those of the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    """One change of one option."""

    operation: Operation
    name: str
    value: str = ""


def changed(
    configs: Mapping[str, str], changes: Sequence[Change], options: Mapping[str, Option]
) -> dict[str, str]:
    """The options that are set after some changes.

    Args:
        configs: Those that are set before.
        changes: What is to be done, at most once for an option.
        options: What there is.

    Raises:
        InvalidConfig: An option that is no list is to be longer or shorter, or a text is too long.
    """
    new = dict(configs)
    for operation, name, value in changes:
        if operation is Operation.DELETE:
            new.pop(name, None)
            continue
        if operation is not Operation.SET:
            option = options.get(name)
            if option is None or option.type is not Type.LIST:
                raise InvalidConfig(
                    f"Can't {operation.name} to key {name} because its type is not LIST."
                )
            value = _changed_list(configs.get(name, option.default), operation, value)
        if len(value) > _MOST_CHARACTERS:
            raise InvalidConfig(
                "The configuration value cannot be added because it exceeds the maximum value size"
                f" of {_MOST_CHARACTERS} bytes."
            )
        new[name] = value
    return new


def _changed_list(text: str | None, operation: Operation, value: str) -> str:
    items = [item for item in (text or "").split(",") if item]
    for item in value.split(","):
        if operation is Operation.APPEND and item not in items:
            items.append(item)
        elif operation is Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


def check_broker_changes(changes: Sequence[Change]) -> None:
    """Raise what a broker says of changes that its options cannot take.

    Raises:
        InvalidConfig: An option that is no list is to be longer or shorter.
    """
    for operation, name, _ in changes:
        if operation not in (Operation.APPEND, Operation.SUBTRACT):
            continue
        if (option := BROKER_OPTIONS.get(name)) is None:
            raise InvalidConfig(f"Unknown config name: {name}")
        if option.type is not Type.LIST:
            what = operation.name.lower()
            raise InvalidConfig(f"Config value {what} is not allowed for config key: {name}")


def check_broker_configs(configs: Mapping[str, str], *, for_node: bool) -> None:
    """Raise what a broker says of options that are to be set for it, or for all nodes.

    Options that it does not know pass: they may be of a plug-in.

    Raises:
        InvalidRequest: One cannot be changed, or not in this way, or its value is wrong.
    """
    known = {name: BROKER_OPTIONS[name] for name in configs if name in BROKER_OPTIONS}
    _refuse(
        [name for name, option in known.items() if not option.scope],
        "Cannot update these configs dynamically",
    )
    _refuse(
        [name for name, option in known.items() if option.scope == "listener"],
        "These security configs can be dynamically updated only per-listener using the listener"
        " prefix",
    )
    for name, option in known.items():
        try:
            option.read(configs[name])
        except InvalidConfig as error:
            raise InvalidRequest(error.message) from error
    if not for_node:
        _refuse(
            [name for name, option in known.items() if option.scope == "node"],
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def _refuse(names: Sequence[str], why: str) -> None:
    if names:
        raise InvalidRequest(f"{why}: [{', '.join(sorted(names))}]")


def check_min_isr(name: str, changes: Sequence[Change], configs: Mapping[str, str]) -> None:
    """Raise what the controller says of changes of `min.insync.replicas`.

    Args:
        name: For which node, or `CLUSTER`.
        changes: What is to be changed.
        configs: What is set then.

    Raises:
        InvalidConfig: It is for one node, or taken away: eligible leaders (KIP-966) depend on it.
    """
    if name != CLUSTER and any(change.name == MIN_ISR for change in changes):
        raise InvalidConfig(f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if name == CLUSTER and MIN_ISR not in configs:
        raise InvalidConfig(f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")
