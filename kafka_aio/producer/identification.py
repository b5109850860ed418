"""Asking the cluster for a producer id, until it gives one or refuses (KIP-98)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from kafka_aio.backoff import Backoff
from kafka_aio.errors import (
    BrokerError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
    UnsupportedVersion,
    for_code,
)
from kafka_aio.net import clock
from kafka_aio.net.cluster import Cluster
from kafka_aio.protocol.messages.transactions import InitProducerIdRequest

logger = logging.getLogger(__name__)


class ProducerId(NamedTuple):
    """What the cluster gave us."""

    producer_id: int
    epoch: int


async def ask_for_id(
    cluster: Cluster,
    *,
    transaction_timeout_ms: int,
    backoff: Backoff,
    complain: Callable[[str], object],
) -> ProducerId:
    """An id of our own. `complain` hears why there is none yet.

    Raises:
        KafkaError: There will be none: trying again does not help.
    """
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=transaction_timeout_ms
    )
    attempt = 0
    while True:
        try:
            return await _asked(cluster, request)
        except KafkaError as error:
            if not _may_ask_again(error):
                raise
            logger.info("no producer id yet: %s", error)
            complain(str(error))
        await asyncio.sleep(backoff.delay(attempt, jitter=clock.rng().uniform(-1, 1)))
        attempt += 1


async def _asked(cluster: Cluster, request: InitProducerIdRequest) -> ProducerId:
    response = await cluster.send_any(request)
    if response.error_code:
        raise for_code(response.error_code, where="InitProducerId")
    found = ProducerId(response.producer_id, response.producer_epoch)
    if min(found) < 0:
        raise ProtocolError(f"InitProducerId: the broker gave us {found}")
    return found


def _may_ask_again(error: KafkaError) -> bool:
    if isinstance(error, BrokerError):
        return error.retriable
    is_understood = not isinstance(error, UnsupportedVersion)
    return is_understood and isinstance(
        error, KafkaConnectionError | KafkaTimeoutError | ProtocolError
    )
