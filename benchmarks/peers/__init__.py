"""Adapters of other clients for `kafka-aio bench --peers`; `kafka_aio.cli.bench.clients` says how.

A module has the name of the distribution that it is for. All clients get the same settings. What an
adapter cannot pass on ends the run, so that nobody is measured on an easier way to the broker.
"""

from __future__ import annotations

from typing import Any

from kafka_aio.cli.bench.plan import configured
from kafka_aio.cli.bench.work import Work
from kafka_aio.config import ProducerConfig, Secret
from kafka_aio.net import tls

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def settings(work: Work) -> ProducerConfig:
    """The connection that is asked for.

    Raises:
        ValueError: It is one that adapters do not know.
    """
    config = configured(ProducerConfig, work.connection)
    if is_sasl(config) and config.sasl_mechanism not in MECHANISMS:
        raise ValueError(f"its adapter knows {', '.join(MECHANISMS)}, not {config.sasl_mechanism}")
    return config


def is_sasl(config: ProducerConfig) -> bool:
    return config.security_protocol.startswith("SASL")


def is_idempotent(work: Work) -> bool:
    return work.load.acks == "all" and settings(work).enable_idempotence


def is_tls(config: ProducerConfig) -> bool:
    return config.security_protocol.endswith("SSL")


def revealed(secret: str | None) -> str:
    return Secret(secret or "").reveal()


# What aiokafka and kafka-python have in common.


def producer_options(work: Work) -> dict[str, Any]:
    return python_options(work) | {
        "acks": work.load.acks if work.load.acks == "all" else int(work.load.acks),
        "linger_ms": work.load.linger_ms,
        "compression_type": None if work.load.codec == "none" else work.load.codec,
        "enable_idempotence": is_idempotent(work),
    }


def consumer_options(work: Work) -> dict[str, Any]:
    return python_options(work) | {
        "group_id": work.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "check_crcs": True,
        "max_partition_fetch_bytes": work.load.max_partition_fetch_bytes,
    }


def python_options(work: Work) -> dict[str, Any]:
    config = settings(work)
    options: dict[str, Any] = {
        "bootstrap_servers": list(config.bootstrap_servers),
        "client_id": config.client_id,
        "security_protocol": config.security_protocol,
    }
    if is_tls(config):
        options["ssl_context"] = tls.context(config)
    if is_sasl(config):
        options["sasl_mechanism"] = config.sasl_mechanism
        options["sasl_plain_username"] = config.sasl_username
        options["sasl_plain_password"] = revealed(config.sasl_password)
    return options
