"""Records that were not delivered, until somebody was told: so that no loss is silent."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from kafka_aio.errors import DeliveryError, KafkaError, Persistence
from kafka_aio.producer.delivery import Outcome
from kafka_aio.types import TopicPartition

MOST_KEPT: Final = 10_000
"""As many batches are remembered one by one; of those before them only the numbers."""
_MOST_CAUSES: Final = 5

logger = logging.getLogger(__name__)


class Failures:
    """The batches that failed, and of how many of their records nobody knows yet."""

    def __init__(self) -> None:
        self.records = 0
        """All records that were not delivered."""
        self._kept: list[Outcome] = []
        self._forgotten: Counter[TopicPartition] = Counter()
        self._causes: dict[tuple[str, Persistence | None], KafkaError] = {}

    def __repr__(self) -> str:
        return f"<Failures: {self.records} records, {len(self._kept)} batches kept>"

    def add(self, outcome: Outcome) -> None:
        """A batch has failed. It is logged once, here."""
        self.records += outcome.count
        logger.warning("%d records were not delivered: %s", outcome.count, outcome.error)
        self._kept.append(outcome)
        if len(self._kept) > MOST_KEPT:
            self._forget(self._kept[: MOST_KEPT // 2])
            del self._kept[: MOST_KEPT // 2]

    def unseen(self) -> DeliveryError | None:
        """What nobody was told of yet; from now on somebody was. None if there is nothing."""
        self._forget(self._kept)
        self._kept = []
        count = self._forgotten.total()
        if not count:
            return None
        by_partition, self._forgotten = dict(self._forgotten), Counter()
        causes, self._causes = tuple(self._causes.values()), {}
        places = ", ".join(f"{number} of {place}" for place, number in by_partition.items())
        error = DeliveryError(
            f"{count} records were not delivered, and nobody awaited them ({places}): {causes[0]}",
            count=count,
            by_partition=by_partition,
            causes=causes,
        )
        error.__cause__ = causes[0]
        return error

    def _forget(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if (unseen := outcome.unseen) and outcome.error is not None:
                self._forgotten[TopicPartition(outcome.topic, outcome.partition)] += unseen
                if len(self._causes) < _MOST_CAUSES:
                    kind = type(outcome.error).__name__, outcome.error.persistence
                    self._causes.setdefault(kind, outcome.error)
