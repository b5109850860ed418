"""Write kafka_aio/protocol/messages from the schemas inside Kafka's own jar.

    python -m tools.generate_messages [path of kafka-clients.jar]

Without a path the jar that the tests use is taken, and fetched if need be. The output is checked in
and belongs to the product, which needs neither this tool nor the jar. Run it for a new version of
Kafka, then read the difference. Only facts are taken over: names, types, versions, tags, defaults.

A module holds a family of APIs. Answers stand before requests and structs before their users. A
struct keeps its name; where two of a module differ under one name, the name of their API (or of
their message, if that is not enough) goes before it. What no valid version reaches is left out:
`since` and `until` of a field count within the versions that have its struct.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kafka import jars

ROOT = Path(__file__).parent.parent
SCHEMAS = "common/message/"

# Module: what it is for, and the APIs (or data) in it.
FAMILIES: dict[str, tuple[str, list[str]]] = {
    "acls": ("access control lists", ["DescribeAcls", "CreateAcls", "DeleteAcls"]),
    "api_versions": ("which versions a broker speaks", ["ApiVersions"]),
    "cluster": (
        "the cluster, its features and its quorum",
        [
            "DescribeCluster",
            "DescribeQuorum",
            "UpdateFeatures",
            "UnregisterBroker",
            "AddRaftVoter",
            "RemoveRaftVoter",
        ],
    ),
    "configs": (
        "configuration of topics, brokers and clients",
        ["DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "ListConfigResources"],
    ),
    "consumer_group": (
        "groups of the consumer protocol (KIP-848)",
        ["ConsumerGroupHeartbeat", "ConsumerGroupDescribe"],
    ),
    "consumer_protocol": (
        "what members of a group tell each other",
        ["ConsumerProtocolSubscription", "ConsumerProtocolAssignment"],
    ),
    "control_records": (
        "keys and values of control records",
        [
            "ControlRecordTypeSchema",
            "EndTxnMarker",
            "LeaderChangeMessage",
            "SnapshotHeaderRecord",
            "SnapshotFooterRecord",
            "KRaftVersionRecord",
            "VotersRecord",
        ],
    ),
    "fetch": ("fetching records", ["Fetch"]),
    "groups": (
        "coordinators and classic groups",
        [
            "FindCoordinator",
            "JoinGroup",
            "Heartbeat",
            "LeaveGroup",
            "SyncGroup",
            "DescribeGroups",
            "ListGroups",
            "DeleteGroups",
        ],
    ),
    "headers": ("what stands before a request or a response", ["RequestHeader", "ResponseHeader"]),
    "log_dirs": ("log directories of brokers", ["AlterReplicaLogDirs", "DescribeLogDirs"]),
    "metadata": (
        "topics, their partitions and leaders",
        ["Metadata", "DescribeTopicPartitions"],
    ),
    "offsets": (
        "offsets of partitions and of groups",
        ["ListOffsets", "OffsetCommit", "OffsetFetch", "OffsetForLeaderEpoch", "OffsetDelete"],
    ),
    "principal": ("who somebody is, as brokers tell each other", ["DefaultPrincipalData"]),
    "produce": ("producing records", ["Produce"]),
    "quotas": ("client quotas", ["DescribeClientQuotas", "AlterClientQuotas"]),
    "sasl": ("authentication", ["SaslHandshake", "SaslAuthenticate"]),
    "scram": (
        "SCRAM credentials",
        ["DescribeUserScramCredentials", "AlterUserScramCredentials"],
    ),
    "share": (
        "share groups (KIP-932)",
        [
            "ShareGroupHeartbeat",
            "ShareGroupDescribe",
            "ShareFetch",
            "ShareAcknowledge",
            "DescribeShareGroupOffsets",
            "AlterShareGroupOffsets",
            "DeleteShareGroupOffsets",
        ],
    ),
    "share_state": (
        "the state of share groups, between brokers",
        [
            "InitializeShareGroupState",
            "ReadShareGroupState",
            "WriteShareGroupState",
            "DeleteShareGroupState",
            "ReadShareGroupStateSummary",
        ],
    ),
    "streams": (
        "groups of Kafka Streams (KIP-1071)",
        ["StreamsGroupHeartbeat", "StreamsGroupDescribe"],
    ),
    "telemetry": (
        "metrics that clients push (KIP-714)",
        ["GetTelemetrySubscriptions", "PushTelemetry"],
    ),
    "tokens": (
        "delegation tokens",
        [
            "CreateDelegationToken",
            "RenewDelegationToken",
            "ExpireDelegationToken",
            "DescribeDelegationToken",
        ],
    ),
    "topics": (
        "topics: create, change, delete",
        [
            "CreateTopics",
            "DeleteTopics",
            "DeleteRecords",
            "CreatePartitions",
            "ElectLeaders",
            "AlterPartitionReassignments",
            "ListPartitionReassignments",
        ],
    ),
    "transactions": (
        "producer ids and transactions",
        [
            "InitProducerId",
            "AddPartitionsToTxn",
            "AddOffsetsToTxn",
            "EndTxn",
            "WriteTxnMarkers",
            "TxnOffsetCommit",
            "DescribeProducers",
            "DescribeTransactions",
            "ListTransactions",
        ],
    ),
}

# Fields that `repr` must not show: message, field.
SECRETS = {
    ("AlterConfigsRequest", "Value"),
    ("AlterUserScramCredentialsRequest", "Salt"),
    ("AlterUserScramCredentialsRequest", "SaltedPassword"),
    ("CreateDelegationTokenResponse", "Hmac"),
    ("DescribeDelegationTokenResponse", "Hmac"),
    ("ExpireDelegationTokenRequest", "Hmac"),
    ("IncrementalAlterConfigsRequest", "Value"),
    ("RenewDelegationTokenRequest", "Hmac"),
    ("SaslAuthenticateRequest", "AuthBytes"),
    ("SaslAuthenticateResponse", "AuthBytes"),
}

TYPES = {
    "bool": "Bool",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "float64": "Float64",
    "uuid": "Uuid",
    "string": "String",
    "bytes": "Bytes",
    "records": "Records",
}
ZEROS = {"bool": "False", "float64": "0.0", "uuid": "NO_UUID", "string": '""', "bytes": 'b""'}
EXPORTS = {*TYPES.values(), "NO_UUID", "PlainString", "Request", "SecretBytes", "SecretString"}
EXPORTS |= {"data", "message", "nullable", "request", "response", "since", "tagged", "until"}
OPEN = 1 << 15


@dataclass(frozen=True)
class Versions:
    """A range, both ends included; empty where the last is before the first."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str | None) -> Versions:
        if text is None or text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), OPEN)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.first, other.first), min(self.last, other.last))

    def __or__(self, other: Versions) -> Versions:
        if not self or not other:
            return self or other
        return Versions(min(self.first, other.first), max(self.last, other.last))

    def __bool__(self) -> bool:
        return self.first <= self.last


@dataclass
class Struct:
    """A struct of a message, and the versions in which the message reaches it."""

    name: str
    fields: list[dict[str, Any]]
    reached: Versions = Versions(0, -1)


@dataclass
class Message:
    """A schema file."""

    raw: dict[str, Any]
    structs: dict[str, Struct] = field(default_factory=dict)  # in the order of declaration
    names: dict[str, str] = field(default_factory=dict)  # of structs: schema's to ours

    def __post_init__(self) -> None:
        self.common = {
            entry["name"]: entry["fields"] for entry in self.raw.get("commonStructs", [])
        }
        self._reach(self.raw["fields"], self.valid)

    @property
    def name(self) -> str:
        return str(self.raw["name"])

    @property
    def api(self) -> str:
        return self.name.removesuffix("Request").removesuffix("Response")

    @property
    def valid(self) -> Versions:
        return Versions.parse(self.raw["validVersions"])

    def _reach(self, fields: list[dict[str, Any]], within: Versions) -> None:
        """Note the structs below `fields`, the innermost first."""
        for each in fields:
            versions = Versions.parse(each["versions"]) & within
            name = each["type"].removeprefix("[]")
            if not versions or name in TYPES:
                continue
            inner = each.get("fields") or self.common[name]
            self._reach(inner, versions)
            struct = self.structs.setdefault(name, Struct(name, inner))
            struct.reached |= versions


def read_schemas(jar: Path) -> dict[str, Message]:
    """Every schema of the jar that has a valid version, by name."""
    messages = {}
    with zipfile.ZipFile(jar) as archive:
        for path in archive.namelist():
            if path.startswith(SCHEMAS) and path.endswith(".json"):
                text = re.sub(r"^\s*//.*$", "", archive.read(path).decode(), flags=re.MULTILINE)
                raw = json.loads(text)
                if raw["validVersions"] != "none":
                    messages[raw["name"]] = Message(raw)
    return messages


def snake_case(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    made = words.lower().replace("k_raft", "kraft")
    return f"{made}_" if keyword.iskeyword(made) else made


def name_structs(messages: list[Message]) -> None:
    """Give each struct of a module a name that no other has."""

    def settle(choose: Any, users: list[tuple[Message, Struct]]) -> None:
        by_name = defaultdict(list)
        for message, struct in users:
            by_name[choose(message, struct)].append((message, struct))
        for name, claimants in by_name.items():
            shapes = {json.dumps(_shape(struct)) for _, struct in claimants}
            apis = {message.api for message, _ in claimants}
            if (len(shapes) == 1 and len(apis) == 1) or len(claimants) == 1:
                for message, struct in claimants:
                    message.names[struct.name] = name
            elif len(apis) > 1:
                settle(lambda message, struct: message.api + struct.name, claimants)
            else:
                settle(lambda message, struct: message.name + struct.name, claimants)

    everything = [(message, struct) for message in messages for struct in message.structs.values()]
    settle(lambda message, struct: struct.name, everything)


def _shape(struct: Struct) -> Any:
    """What must be equal for two structs to be one."""

    def bare(fields: list[dict[str, Any]]) -> Any:
        keep = ("name", "type", "versions", "nullableVersions", "tag", "default", "ignorable")
        return [
            {key: each[key] for key in keep if key in each} | {"in": bare(each.get("fields", []))}
            for each in fields
        ]

    return [struct.reached.first, struct.reached.last, bare(struct.fields)]


def write_module(purpose: str, messages: list[Message]) -> str:
    name_structs(messages)
    written: set[str] = set()
    parts = []
    for message in messages:
        for struct in message.structs.values():
            ours = message.names[struct.name]
            if ours not in written:
                written.add(ours)
                body = write_fields(message, struct.fields, struct.reached)
                parts.append(f"@message\nclass {ours}:\n{body}")
        parts.append(write_message(message))
    code = "\n\n\n".join(parts)
    words = set(re.findall(r"[A-Za-z_0-9]+", re.sub(r'"[^"]*"', "", code)))
    imports = f"from kafka_aio.protocol.schema import {', '.join(sorted(words & EXPORTS))}\n"
    first = f'"""Declarations only, with no limit of lines: {purpose}. Pure."""'
    return f"{first}\n\n{imports}\n\n{code}\n"


def write_message(message: Message) -> str:
    raw = message.raw
    facts = [f"versions=({message.valid.first}, {message.valid.last})"]
    flexible = Versions.parse(raw["flexibleVersions"])
    if flexible and flexible.first <= message.valid.last:
        facts.append(f"flexible={flexible.first}")
    role, parent = "data", ""
    if raw["type"] in ("request", "response"):
        role = raw["type"]
        facts.insert(0, f"key={raw['apiKey']}")
        if role == "request":
            parent = f"(Request[{message.api}Response])"
        if raw.get("latestVersionUnstable"):
            facts.append("unstable=True")
    body = write_fields(message, raw["fields"], message.valid)
    return f"@{role}({', '.join(facts)})\nclass {message.name}{parent}:\n{body}"


def write_fields(message: Message, fields: list[dict[str, Any]], reached: Versions) -> str:
    lines = [
        write_field(message, each, reached)
        for each in fields
        if Versions.parse(each["versions"]) & reached
    ]
    return "\n".join(f"    {line}" for line in lines) or "    pass"


def write_field(message: Message, raw: dict[str, Any], reached: Versions) -> str:
    versions = Versions.parse(raw["versions"]) & reached
    nulls = Versions.parse(raw.get("nullableVersions")) & versions
    if nulls and nulls.last != versions.last:
        raise ValueError(f"{message.name}.{raw['name']}: null stops being legal")
    annotation = write_type(message, raw) + (" | None" if nulls else "")
    has_default = "default" in raw
    default = write_default(message, raw)
    late_null = nulls.first if nulls and nulls.first > versions.first else None

    word, arguments = write_range(message, raw, versions, reached)
    if word:
        arguments.append(f"default={default}")
        if late_null is not None:
            arguments.append(f"nullable={late_null}")
        if raw.get("ignorable"):
            arguments.append("ignorable=True")
    elif late_null is not None:
        word = "nullable"
        arguments = [f"since={late_null}", *([f"default={default}"] if has_default else [])]
    value = f"{word}({', '.join(arguments)})" if word else default if has_default else ""
    return f"{snake_case(raw['name'])}: {annotation}{f' = {value}' if value else ''}"


def write_range(
    message: Message, raw: dict[str, Any], versions: Versions, reached: Versions
) -> tuple[str, list[str]]:
    """Which versions of its struct have the field: nothing if all of them do."""
    first, last = str(versions.first), str(versions.last)
    is_late, is_gone = versions.first > reached.first, versions.last < reached.last
    if "taggedVersions" in raw:
        if raw["taggedVersions"] != raw["versions"]:
            raise ValueError(f"{message.name}.{raw['name']}: not tagged in all its versions")
        return "tagged", [str(raw["tag"]), *([f"since={first}"] if is_late else [])]
    if is_late:
        return "since", [first, *([f"until={last}"] if is_gone else [])]
    return ("until", [last]) if is_gone else ("", [])


def write_type(message: Message, raw: dict[str, Any]) -> str:
    inner = raw["type"].removeprefix("[]")
    made = TYPES.get(inner) or message.names[inner]
    if (message.name, raw["name"]) in SECRETS:
        made = f"Secret{made}"
    if raw.get("flexibleVersions") == "none":
        made = f"Plain{made}"
    return f"list[{made}]" if raw["type"].startswith("[]") else made


def write_default(message: Message, raw: dict[str, Any]) -> str:
    """The default as source: the zero of the type where the schema has none."""
    kind, value = raw["type"], raw.get("default")
    if value == "null" or (value is None and kind == "records"):
        return "None"
    if kind.startswith("[]"):
        return "[]"
    if kind not in TYPES:
        return f"{message.names[kind]}()"
    if value is None or value == "":
        return ZEROS.get(kind, "0")
    if kind == "bool":
        return str(value).capitalize()
    if kind == "string":
        return json.dumps(value)
    number = int(str(value), 0)
    return f"{number:#x}" if abs(number) > 1_000_000 else str(number)


def write_index(messages: dict[str, Message]) -> str:
    where = {api: module for module, (_, apis) in FAMILIES.items() for api in apis}
    rows = sorted(
        (message.raw["apiKey"], where[message.api], message.name)
        for message in messages.values()
        if message.raw["type"] == "request" and message.api in where
    )
    lines = "".join(f'    {key}: ("{module}", "{name}"),\n' for key, module, name in rows)
    return (
        '"""Declarations only: where the request of each API key is declared. Pure."""\n\n'
        "from typing import Final\n\n"
        f"REQUESTS: Final = {{\n{lines}}}\n"
    )


def generate(jar: Path, target: Path) -> None:
    """Write every module into the folder `target`."""
    messages = read_schemas(jar)
    for module, (purpose, apis) in FAMILIES.items():
        wanted = [
            messages[name]
            for api in apis
            for name in ([api] if api in messages else [f"{api}Response", f"{api}Request"])
        ]
        (target / f"{module}.py").write_text(write_module(purpose, wanted))
    (target / "index.py").write_text(write_index(messages))
    config = ["--config", str(ROOT / "pyproject.toml"), "--quiet"]
    for command in (["check", "--fix", "--select", "F401,I"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, *config, str(target)]
        subprocess.run(ruff, check=True)


def main() -> None:
    if len(sys.argv) > 1:
        jar = Path(sys.argv[1])
    else:
        jar = jars.libs() / f"kafka-clients-{jars.VERSION}.jar"
    generate(jar, ROOT / "kafka_aio" / "protocol" / "messages")
    print(f"{len(FAMILIES)} modules written from {jar.name}")


if __name__ == "__main__":
    main()
