"""kio is an independent implementation, generated from the same schemas with other code."""

from __future__ import annotations

import dataclasses
import io
import typing
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer

from kafka_aio.protocol.codec import decode, encode
from kafka_aio.protocol.layout import Part, layout_of
from kafka_aio.protocol.schema import Scalar, Sized
from tests.unit.protocol.samples import MESSAGES, VERSIONS, anything, messages_of

THEIRS: dict[tuple[str, int], Any] = {
    (path.rpartition(":")[2], version): (name, version, kind)
    for name, versions in schema_name_map.items()
    for version, kinds in versions.items()
    for kind, path in kinds.items()
}
NAMES = {cls.__name__: cls for cls in MESSAGES}
SHARED = sorted(name_and_version for name_and_version in THEIRS if name_and_version[0] in NAMES)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Between controllers: no client, admin or broker of ours sends or answers these.
CONTROLLER_APIS = {
    "AllocateProducerIds",
    "AlterPartition",
    "AssignReplicasToDirs",
    "BeginQuorumEpoch",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "ControllerRegistration",
    "EndQuorumEpoch",
    "Envelope",
    "FetchSnapshot",
    "UpdateRaftVoter",
    "Vote",
}


def our_name(theirs: str) -> str:
    """kio writes `type_`, `k_raft_version`, and durations without their unit."""
    return theirs.rstrip("_").replace("k_raft", "kraft")


def pairs(entity: type, parts: dict[str, Part]) -> list[tuple[dataclasses.Field[Any], Part]]:
    """The fields of an entity of kio with ours."""
    found = []
    for field in dataclasses.fields(entity):
        name = our_name(field.name)
        found.append((field, parts[name] if name in parts else parts[f"{name}_ms"]))
    return found


def parts_of(layout: Any) -> dict[str, Part]:
    return {part.name: part for part in (*layout.fields, *layout.tagged)}


def entity_in(annotation: Any) -> Any:
    """The entity class inside `tuple[Entity, ...] | None`."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    inner = [arg for arg in typing.get_args(annotation) if arg not in (NoneType, Ellipsis)]
    return entity_in(inner[0])


def to_kio(entity: type, message: Any, layout: Any) -> Any:
    hints = typing.get_type_hints(entity)
    values = {}
    for field, part in pairs(entity, parts_of(layout)):
        value = getattr(message, part.name)
        if part.struct is not None:
            inner = entity_in(hints[field.name])
            values[field.name] = _each(value, lambda one, i=inner, p=part: to_kio(i, one, p.struct))
        else:
            kind = field.metadata["kafka_type"]
            values[field.name] = _each(value, lambda one, kind=kind: _leaf(kind, one))
    return entity(**values)


def _each(value: Any, convert: Any) -> Any:
    if value is None:
        return None
    return tuple(map(convert, value)) if isinstance(value, list) else convert(value)


def _leaf(kind: str, value: Any) -> Any:
    match kind:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return EPOCH + timedelta(milliseconds=value)
        case "uuid":
            return UUID(bytes=value) if any(value) else None
    return value


def what_kio_can_say(part: Part, wire: Scalar | Sized) -> st.SearchStrategy[Any]:
    """kio makes dates and enumerations of numbers, so not every number will do."""
    if wire.name == "int64":
        return st.integers(0, 2**40)
    if "error_code" in part.name:
        return st.sampled_from([code.value for code in ErrorCode])
    return anything(part, wire)


def test_kio_has_every_message_and_version_that_we_have() -> None:
    ours = {(cls.__name__, version) for cls, version in VERSIONS}

    assert ours - set(THEIRS) == set()


def test_what_only_kio_has_is_for_controllers() -> None:
    ours = {(cls.__name__, version) for cls, version in VERSIONS}

    left_out = {name for name, version in set(THEIRS) - ours}

    assert left_out == {
        f"{api}{role}" for api in CONTROLLER_APIS for role in ("Request", "Response")
    }


def same_fields(entity: type, layout: Any) -> bool:
    """Whether both have the same fields, all the way down."""
    hints = typing.get_type_hints(entity)
    both = pairs(entity, parts_of(layout))
    return len(both) == len(parts_of(layout)) and all(
        part.struct is None or same_fields(entity_in(hints[field.name]), part.struct)
        for field, part in both
    )


@pytest.mark.parametrize(("name", "version"), SHARED, ids=[f"{n}-v{v}" for n, v in SHARED])
@settings(max_examples=3)
@given(data=st.data())
def test_both_write_the_same_bytes_and_read_what_the_other_wrote(
    name: str, version: int, data: st.DataObject
) -> None:
    cls = NAMES[name]
    entity: Any = load_entity_schema(*THEIRS[name, version])
    choices = messages_of(cls, version, what_kio_can_say, unknown_tags=False)
    message = data.draw(choices)
    theirs = to_kio(entity, message, layout_of(cls, version))
    written = io.BytesIO()
    entity_writer(entity)(written, theirs)

    ours = encode(message, version)

    assert same_fields(entity, layout_of(cls, version))
    assert ours == written.getvalue()
    assert decode(cls, written.getvalue(), version) == message
    assert entity_reader(entity)(ours, 0) == (theirs, len(ours))
