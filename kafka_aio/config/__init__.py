"""Configuration: frozen dataclasses with Kafka's option names and defaults. Pure.

    ProducerConfig(bootstrap_servers="localhost:9092", linger_ms=20)
    ProducerConfig.from_kafka({"bootstrap.servers": "localhost:9092", "linger.ms": "20"})
    ProducerConfig.from_properties(Path("client.properties"))

`client` has what all share, `producer`, `consumer` and `admin` the rest; `option` says what a value
may be, `security` and `store` what goes together; `translation` reads Kafka's own names, with
`catalogue`, `java`, `jaas` and `properties`. Every wrong value is a `ConfigError`, before any I/O;
so is a wrong name, but for a keyword that a class does not have: that is Python's `TypeError`.
"""

from kafka_aio.config.admin import AdminConfig
from kafka_aio.config.client import ClientConfig, KafkaConfigWarning, TokenProvider
from kafka_aio.config.consumer import ConsumerConfig
from kafka_aio.config.option import Secret
from kafka_aio.config.producer import ProducerConfig

__all__ = [
    "AdminConfig",
    "ClientConfig",
    "ConsumerConfig",
    "KafkaConfigWarning",
    "ProducerConfig",
    "Secret",
    "TokenProvider",
]
