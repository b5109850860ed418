"""The schemas inside Kafka's jar are the truth. They are read here anew, not with the generator."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kafka_aio.protocol import messages
from kafka_aio.protocol.layout import Layout, Part, layout_of
from kafka_aio.protocol.messages.index import REQUESTS
from kafka_aio.protocol.schema import Array, Field, Struct, response_of, schema_of
from tests.kafka import jars
from tests.unit.protocol.samples import MESSAGES, VERSIONS, every_message
from tools import generate_messages

Json = dict[str, Any]

# No listener of a broker takes them: they are spoken between controllers.
CONTROLLER_ONLY = {52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82}
REMOVED = {4, 5, 6, 7}
ZEROS = {"bool": False, "float64": 0.0, "uuid": bytes(16), "string": "", "bytes": b""}


@pytest.fixture(scope="module")
def schemas(kafka_libs: Path) -> dict[str, Json]:
    found = {}
    with zipfile.ZipFile(kafka_libs / f"kafka-clients-{jars.VERSION}.jar") as jar:
        for name in jar.namelist():
            if name.startswith("common/message/") and name.endswith(".json"):
                lines = jar.read(name).decode().splitlines()
                text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
                schema = json.loads(text)
                found[schema["name"]] = schema
    return found


def has(versions: str | None, version: int) -> bool:
    """Whether a range such as 3, 0-4, 2+ or none has the version."""
    if versions is None or versions == "none":
        return False
    first, last = re.fullmatch(r"(\d+)(?:-(\d+)|\+)?", versions).groups()  # type: ignore[union-attr]
    if versions.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last or first)


def letters(name: str) -> str:
    return name.replace("_", "").lower()


def default_of(field: Json) -> object:
    """The default as Kafka's generator understands it; structs are compared by their fields."""
    kind, default = field["type"], field.get("default")
    if default == "null" or (default is None and kind == "records"):
        return None
    if kind.startswith("[]"):
        return []
    if default is None or default == "":
        return ZEROS.get(kind, 0)
    if kind == "bool":
        return str(default).lower() == "true"
    return default if kind == "string" else int(str(default), 0)


class Comparison:
    """Walks a schema and a declaration together, in one version."""

    def __init__(self, schema: Json, version: int) -> None:
        self.version = version
        self.flexible = has(schema["flexibleVersions"], version)
        self.common = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}

    def struct(self, fields: list[Json], layout: Layout) -> None:
        assert layout.flexible == self.flexible
        present = [field for field in fields if has(field["versions"], self.version)]
        tagged = [field for field in present if has(field.get("taggedVersions"), self.version)]
        plain = [field for field in present if field not in tagged]
        assert [letters(part.name) for part in layout.fields] == [
            letters(field["name"]) for field in plain
        ]
        assert [(part.tag, letters(part.name)) for part in layout.tagged] == sorted(
            (field["tag"], letters(field["name"])) for field in tagged
        )
        theirs = {letters(field["name"]): field for field in fields}
        for part in (*layout.fields, *layout.tagged):
            self.field(theirs[letters(part.name)], part)
        for absent in layout.absent:
            field = theirs[letters(absent.name)]
            assert absent.ignorable == bool(field.get("ignorable")), absent.name
            self.default(field, absent)

    def field(self, field: Json, part: Part) -> None:
        array = "[]" if isinstance(part.type, Array) else ""
        inner = part.type.item if isinstance(part.type, Array) else part.type
        if isinstance(inner, Struct):
            assert part.struct is not None
            name = field["type"].removeprefix("[]")
            assert field["type"] == f"{array}{name}"
            assert inner.name.endswith(name)
            self.struct(field.get("fields") or self.common[name], part.struct)
        else:
            assert part.type.name == field["type"], part.name
            assert part.compact == (self.flexible and field.get("flexibleVersions") != "none")
        assert part.nullable == has(field.get("nullableVersions"), self.version), part.name
        self.default(field, part)

    def default(self, field: Json, ours: Part | Field) -> None:
        if isinstance(ours.type, Struct) and field.get("default") != "null":
            is_needed = ours.empty is None
            assert is_needed or ours.empty == ours.type.cls(), ours.name
        else:
            assert ours.empty == default_of(field), ours.name
            assert type(ours.empty) is type(default_of(field)), ours.name


@pytest.mark.parametrize(
    ("cls", "version"), VERSIONS, ids=[f"{c.__name__}-v{v}" for c, v in VERSIONS]
)
def test_a_declaration_says_what_the_schema_says(
    schemas: dict[str, Json], cls: type, version: int
) -> None:
    schema = schemas[cls.__name__]

    layout = layout_of(cls, version)

    Comparison(schema, version).struct(schema["fields"], layout)


@every_message
def test_a_message_has_the_key_and_versions_of_its_schema(
    schemas: dict[str, Json], cls: type
) -> None:
    theirs = schemas[cls.__name__]

    ours = schema_of(cls)

    first, last = ours.versions
    assert [v for v in range(100) if has(theirs["validVersions"], v)] == list(
        range(first, last + 1)
    )
    assert ours.key == theirs.get("apiKey", -1)
    assert ours.role == {"header": "data"}.get(theirs["type"], theirs["type"])
    assert ours.unstable == bool(theirs.get("latestVersionUnstable"))


@every_message
def test_a_field_must_be_given_unless_its_schema_has_a_default_or_a_version_lacks_it(
    schemas: dict[str, Json], cls: type
) -> None:
    first, last = schema_of(cls).versions
    layouts = [layout_of(cls, version) for version in range(first, last + 1)]
    theirs = {letters(field["name"]): field for field in schemas[cls.__name__]["fields"]}

    for field in schema_of(cls).fields:
        their = theirs[letters(field.name)]
        always = all(field.name in {part.name for part in layout.fields} for layout in layouts)
        assert field.required == (always and "default" not in their), field.name


def test_every_api_that_a_broker_listens_to_is_declared(schemas: dict[str, Json]) -> None:
    requests = [schema for schema in schemas.values() if schema["type"] == "request"]

    listened = {each["apiKey"] for each in requests if "broker" in each.get("listeners", ())}
    others = {each["apiKey"] for each in requests} - listened

    assert set(REQUESTS) == listened
    assert others == CONTROLLER_ONLY | REMOVED


def test_all_data_of_the_jar_is_declared(schemas: dict[str, Json]) -> None:
    theirs = {name for name, each in schemas.items() if each["type"] in ("data", "header")}

    assert {cls.__name__ for cls in MESSAGES if schema_of(cls).role == "data"} == theirs


@pytest.mark.parametrize("key", REQUESTS)
def test_a_key_leads_to_its_request_and_its_response(schemas: dict[str, Json], key: int) -> None:
    (api,) = (
        name.removesuffix("Request")
        for name, schema in schemas.items()
        if schema.get("apiKey") == key and schema["type"] == "request"
    )

    request = messages.for_key(key)

    assert request.__name__ == f"{api}Request"
    assert response_of(request).__name__ == f"{api}Response"


def test_the_declarations_are_what_the_generator_writes(kafka_libs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kafka_aio" / "protocol" / "messages"
    folder.mkdir(parents=True)

    generate_messages.generate(kafka_libs / f"kafka-clients-{jars.VERSION}.jar", folder)

    written = {path.name: path.read_text() for path in folder.glob("*.py")}
    kept = {path.name: path.read_text() for path in Path(messages.__path__[0]).glob("*.py")}
    assert written == {name: text for name, text in kept.items() if name != "__init__.py"}
