"""One topic as an answer has it, and what is kept of what was known before. Pure.

A leader epoch counts the elections of a partition (KIP-320). An answer with an older epoch than one
seen before comes from a node that is behind, and the partition stays as it was. Epochs start over
when the topic has another id: then it was deleted and created anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_aio.errors import ProtocolError
from kafka_aio.metadata.partitions import NO_PARTITIONS, Partitions
from kafka_aio.protocol.messages.metadata import MetadataResponseTopic
from kafka_aio.protocol.schema import NO_UUID, Uuid

MAX_NAME: Final = 2**15 - 1
"""In bytes: what the protocol can carry. Kafka itself allows 249."""


@dataclass(slots=True)
class Topic:
    """What is known of a topic."""

    code: int = 0
    """The error that the broker has for it; then nothing else is known but epochs."""
    id: Uuid = NO_UUID
    is_internal: bool = False
    partitions: Partitions = NO_PARTITIONS
    """None if it does not exist."""
    seen: Partitions = NO_PARTITIONS
    """Whose epochs are the newest seen: `partitions`, or those that it had when it last existed."""
    older: tuple[int, ...] = ()
    """The partitions of which the last answer was behind."""

    @property
    def exists(self) -> bool:
        return bool(self.partitions)

    def is_progress(self, known: Topic) -> bool:
        """Whether this tells more than was known, so that asking again soon may tell even more."""
        if self.id != known.id or not self.partitions.has_same_numbers(known.partitions):
            return True
        if self.exists:
            return self.partitions.is_progress(known.partitions)
        return self.seen is not known.seen and known.seen.has_epochs()


UNKNOWN: Final = Topic()
"""A topic of which nothing was known before."""


def check_name(name: object) -> None:
    """Whether it can be sent as the name of a topic; the broker says whether it is a good one.

    Raises:
        TypeError: It is not a str.
        ValueError: It is empty, has no form in UTF-8, or is far too long.
    """
    if not isinstance(name, str):
        raise TypeError(f"a topic is named by a str, not <{type(name).__qualname__}>")
    try:
        fits = 0 < len(name.encode()) <= MAX_NAME
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ValueError(f"{name[:40]!r} cannot be the name of a topic")


def read_topic(
    answer: MetadataResponseTopic, known: Topic, *, reliable_epochs: bool = True
) -> Topic:
    """What an answer says about a topic of which this was known. Its partitions are taken over.

    Raises:
        ProtocolError: It has a partition with a negative number.
    """
    if answer.error_code:
        return Topic(answer.error_code, is_internal=answer.is_internal, seen=known.seen)
    if not answer.partitions:
        return Topic(is_internal=answer.is_internal)
    partitions = Partitions(answer.partitions, has_epochs=reliable_epochs)
    if (lowest := next(iter(partitions)).partition_index) < 0:
        raise ProtocolError(f"Metadata: topic {answer.name!r} has a partition {lowest}")
    # Between deletion and return a topic has an error, and its id is lost. So an id where there was
    # none may be a new one. Without ids (Kafka before 2.8) the two cannot be told apart.
    is_same = answer.topic_id in (NO_UUID, known.id)
    older = partitions.keep_newer(known.partitions, known.seen) if is_same else ()
    return Topic(0, answer.topic_id, answer.is_internal, partitions, partitions, older)
