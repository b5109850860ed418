"""Names of Kafka's own Java classes, and what stands for them here. Pure: nothing is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_aio import serialization
from kafka_aio.config.option import Kind
from kafka_aio.errors import ConfigError
from kafka_aio.serialization import Deserializer, Serializer

ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""By their names in the group protocol, which are the same for every client."""

PARTITIONERS: Final = ("roundrobin",)

_ASSIGNOR_CLASSES: Final = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.StickyAssignor": "sticky",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
_PARTITIONER_CLASSES: Final = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": "roundrobin",
}
_PACKAGE = "org.apache.kafka.common.serialization."
_SERIALIZERS: Final[Mapping[str, Serializer | None]] = {
    "ByteArray": None,
    "ByteBuffer": None,
    "Bytes": None,
    "Boolean": serialization.serialize_boolean,
    "Double": serialization.serialize_double,
    "Float": serialization.serialize_float,
    "Integer": serialization.serialize_integer,
    "Long": serialization.serialize_long,
    "Short": serialization.serialize_short,
    "String": serialization.serialize_string,
    "UUID": serialization.serialize_uuid,
    "Void": serialization.serialize_void,
}
_DESERIALIZERS: Final[Mapping[str, Deserializer | None]] = {
    "ByteArray": None,
    "ByteBuffer": None,
    "Bytes": None,
    "Boolean": serialization.deserialize_boolean,
    "Double": serialization.deserialize_double,
    "Float": serialization.deserialize_float,
    "Integer": serialization.deserialize_integer,
    "Long": serialization.deserialize_long,
    "Short": serialization.deserialize_short,
    "String": serialization.deserialize_string,
    "UUID": serialization.deserialize_uuid,
    "Void": serialization.deserialize_void,
}
_SERIALIZER_CLASSES: Final = {
    f"{_PACKAGE}{name}Serializer": function for name, function in _SERIALIZERS.items()
}
_DESERIALIZER_CLASSES: Final = {
    f"{_PACKAGE}{name}Deserializer": function for name, function in _DESERIALIZERS.items()
}
_OAUTH = "org.apache.kafka.common.security.oauthbearer."

CLASSES: Final[Mapping[str, Mapping[str, object]]] = {
    "partition_assignment_strategy": _ASSIGNOR_CLASSES,
    "partitioner": _PARTITIONER_CLASSES,
    "key_serializer": _SERIALIZER_CLASSES,
    "value_serializer": _SERIALIZER_CLASSES,
    "key_deserializer": _DESERIALIZER_CLASSES,
    "value_deserializer": _DESERIALIZER_CLASSES,
    # What these do is built in: they need no field, only to be let through.
    "sasl_login_callback_handler_class": dict.fromkeys(
        (
            f"{_OAUTH}OAuthBearerLoginCallbackHandler",
            f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler",
        )
    ),
    "sasl_oauthbearer_jwt_retriever_class": dict.fromkeys(
        (f"{_OAUTH}DefaultJwtRetriever", f"{_OAUTH}ClientCredentialsJwtRetriever")
    ),
    "sasl_oauthbearer_jwt_validator_class": dict.fromkeys(
        (f"{_OAUTH}DefaultJwtValidator", f"{_OAUTH}ClientJwtValidator")
    ),
}
"""By the name of our option: Java's class name, and our value for it."""


def ours(option: str, name: str) -> object:
    """What stands for a Java class of that name.

    Raises:
        ConfigError: It is none of Kafka's own, or one that has no counterpart here.
    """
    classes = CLASSES[option]
    if name in classes:
        return classes[name]
    is_kafkas = name.startswith("org.apache.kafka.")
    problem = "has no counterpart here" if is_kafkas else "is not one of Kafka's own Java classes"
    raise ConfigError(
        f"{option}: {Kind().show(name)} {problem}, and no class is loaded here;"
        f" known are {', '.join(full.rpartition('.')[2] for full in classes)}, and an object or"
        " function of yours where the option takes one"
    )
