"""What a producer sent: read, checked, and made as the topic wants it. Pure.

Only the header of a batch and its CRC are looked at. Its records are decoded where the topic asks
for it: another codec, keys (compaction), bounds for timestamps that are near. Who lies about the
records in a batch with a good CRC is not found out otherwise; Kafka reads them all.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_aio.errors import (
    BrokerError,
    CorruptMessage,
    CorruptRecord,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    UnknownServerError,
    UnsupportedCompressionType,
)
from kafka_aio.records.batch import read_header
from kafka_aio.records.codec import BatchBuilder, Record, RecordReader, crc32c
from kafka_aio.records.compression import LEVELS, Codec, Compression, compress, decompress
from kafka_aio.records.layout import (
    CODEC_MASK,
    CONTROL,
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LEGACY_BYTES,
    LENGTH_FROM,
    LOG_APPEND_TIME,
    MAGIC,
    MAX_INFLATED,
    TRANSACTIONAL,
    BatchHeader,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kafka_aio.broker.topics.topics import Partition, Topic

_MAGIC_AT: Final = 16
_LENGTH: Final = struct.Struct(">i")
_LENGTH_AT: Final = 8
_ATTRIBUTES_AT: Final = 22
"""Of their two bytes, the one that is used."""
FIRST_WITH_ZSTD: Final = 7
"""The version of Produce."""
_ANY_AGE: Final = 2**63 - 1
_ANY_SIZE: Final = 2**31 - 1
_SHOWN: Final = 3
_NO_TIMESTAMP: Final = -1
_TOO_FAR: Final = "inflates beyond"
"""How all codecs say that a batch passes its bound, and is not damaged."""


class Batch(NamedTuple):
    """One batch as it came."""

    data: memoryview
    """All of it, and nothing else."""
    header: BatchHeader


class RecordsRejected(BrokerError):
    """Some records of a batch cannot be accepted, and so none of them is (KIP-467)."""

    def __init__(self, error: BrokerError, records: list[tuple[int, str]]) -> None:
        super().__init__(error.message)
        self.code = error.code
        self.records = records
        """Which ones, counted from 0, and why."""


class InflatesTooFar(MessageTooLarge):
    """A batch becomes larger than we inflate any. Kafka has no such bound: so it is told of ours.

    Attributes:
        message: What to tell the producer.
    """

    def __init__(self) -> None:
        super().__init__(
            f"the batch inflates to more than the {MAX_INFLATED} bytes that the embedded broker"
            " looks at, as the topic wants: send smaller batches"
        )


def stamps(topic: Topic) -> bool:
    """Whether the broker puts the time on the batches of a topic, and not the producer."""
    return topic.timestamp_type == "LogAppendTime"


def batch_size(data: memoryview, at: int) -> int | None:
    """How many bytes the batch takes that begins at `at`; None if there is no whole one.

    Raises:
        CorruptMessage: What is there is no batch of any format.
    """
    left = len(data) - at
    if left < LENGTH_FROM:
        return None
    length: int = _LENGTH.unpack_from(data, at + _LENGTH_AT)[0]
    if length < LEGACY_BYTES:
        raise CorruptMessage(
            f"Record size {length} is less than the minimum record overhead ({LEGACY_BYTES})"
        )
    if left <= _MAGIC_AT:
        return None
    if (magic := data[at + _MAGIC_AT]) > MAGIC:
        raise CorruptMessage(f"Invalid magic found in record: {magic}")
    size = LENGTH_FROM + length
    return size if size <= left else None


def is_transactional(records: memoryview) -> bool:
    """Whether the first batch belongs to a transaction.

    Raises:
        CorruptMessage: It is no batch.
    """
    if not batch_size(records, 0) or records[_MAGIC_AT] != MAGIC:
        return False
    return bool(records[_ATTRIBUTES_AT] & TRANSACTIONAL)


def has_unknown_codec(records: memoryview) -> bool:
    """Whether the first batch is compressed by nothing that Kafka knows.

    Raises:
        CorruptMessage: It is no batch.
    """
    if not batch_size(records, 0) or records[_MAGIC_AT] != MAGIC:
        return False
    return records[_ATTRIBUTES_AT] & CODEC_MASK > Codec.ZSTD


def only_batch(records: memoryview, version: int) -> Batch:
    """The one batch that a partition is sent in a Produce request of this version.

    Raises:
        InvalidRecord: There is none, or more than one, or it is of an old format.
        UnsupportedCompressionType: It is compressed by zstd, which the version does not know.
        CorruptMessage: It is no batch.
    """
    size = batch_size(records, 0)
    if size is None:
        raise InvalidRecord("there is no batch")
    if records[_MAGIC_AT] != MAGIC:
        raise InvalidRecord(f"a batch of format {records[_MAGIC_AT]}, not {MAGIC}")
    codec = records[_ATTRIBUTES_AT] & CODEC_MASK
    if codec == Codec.ZSTD and version < FIRST_WITH_ZSTD:
        raise UnsupportedCompressionType("zstd came with version 7 of Produce")
    if size < len(records) and batch_size(records, size) is not None:
        raise InvalidRecord("more than one batch")
    if size < HEADER_BYTES:
        raise CorruptMessage(f"{size} bytes are no batch")
    return Batch(records[:size], BatchHeader._make(HEADER.unpack_from(records)))


def accept(batch: Batch, partition: Partition, wall_ms: int) -> Batch:
    """Check a batch, and make it what the topic wants to store.

    Raises:
        CorruptMessage: The CRC is wrong.
        MessageTooLarge: It is larger than the topic allows, as it came or as it would be stored.
        InvalidRecord: The header contradicts itself, or says what only a broker may.
        RecordsRejected: Some records are not as the topic wants them.
        InflatesTooFar: It is a small batch that becomes a huge one.
        UnknownServerError: It cannot be inflated.
    """
    topic = partition.topic
    header = batch.header
    _check_header(batch, topic.max_message_bytes)
    if _must_look(header, topic, wall_ms):
        _check_records(batch, partition, wall_ms)
    if header.attributes & LOG_APPEND_TIME and not stamps(topic):
        batch = _rewritten(header, header.attributes & ~LOG_APPEND_TIME, batch.data[HEADER_BYTES:])
    if topic.compression_type != "producer":
        batch = _recompressed(batch, topic)
    return batch


def _check_header(batch: Batch, max_bytes: int) -> None:
    """What Kafka looks at first, in its order."""
    data, header = batch
    if header.base_offset != 0:
        raise InvalidRecord(f"base offset {header.base_offset} instead of 0")
    if len(data) > max_bytes:
        raise MessageTooLarge(f"{len(data)} bytes of at most {max_bytes}")
    if crc32c(data[CRC_FROM:]) != header.crc:
        raise CorruptMessage("the checksum (CRC-32C) does not match")
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        raise UnknownServerError(f"unknown codec {header.codec}")
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise InvalidRecord(
            f"record count {header.record_count}, last offset delta {header.last_offset_delta}"
        )
    if header.attributes & CONTROL:
        raise InvalidRecord("clients do not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise InvalidRecord(f"producer {header.producer_id} gives no sequence")


def _must_look(header: BatchHeader, topic: Topic, wall_ms: int) -> bool:
    """Whether the records must be decoded to know if the topic can have them."""
    if topic.is_compacted:
        return True
    if stamps(topic):
        return header.is_log_append_time
    return (
        header.max_timestamp - wall_ms > topic.timestamp_after_max_ms
        or topic.timestamp_before_max_ms != _ANY_AGE
    )


def _check_records(batch: Batch, partition: Partition, wall_ms: int) -> None:
    """Look at each record: it has a key where there must be one, and a time that can be."""
    topic = partition.topic
    rejected: list[tuple[int, str]] = []
    has_bad_time = False
    for index, record in enumerate(_decode(batch)):
        if topic.is_compacted and record.key is None:
            reason: str | None = (
                "Compacted topic cannot accept message without key in topic partition"
                f" {topic.name}-{partition.index}"
            )
        else:
            reason = _bad_time(record, batch.header, topic, wall_ms)
            has_bad_time = has_bad_time or reason is not None
        if reason is not None:
            rejected.append((index, reason))
    if has_bad_time:
        text = "One or more records have been rejected due to invalid timestamp"
        raise RecordsRejected(InvalidTimestamp(text), rejected)
    if rejected:
        shown = (f"RecordError(batchIndex={at}, message='{why}')" for at, why in rejected[:_SHOWN])
        text = (
            f"One or more records have been rejected due to {len(rejected)} record errors in total,"
            f" and only showing the first three errors at most: [{', '.join(shown)}]"
        )
        raise RecordsRejected(InvalidRecord(text), rejected)


def _decode(batch: Batch) -> list[Record]:
    try:
        reader = RecordReader(batch.data, check_crcs=False, max_inflated=MAX_INFLATED)
        records = reader.read()
        if not reader.is_done:
            reader.read()  # stopped before the end: raises what it stopped at
    except CorruptRecord as problem:
        raise _not_inflated(problem) from None
    return records


def _not_inflated(problem: CorruptRecord) -> BrokerError:
    return InflatesTooFar() if _TOO_FAR in str(problem) else UnknownServerError(str(problem))


def _bad_time(record: Record, header: BatchHeader, topic: Topic, wall_ms: int) -> str | None:
    """What is wrong with the timestamp of a record, in Kafka's words: clients show them."""
    timestamp = record.timestamp
    if stamps(topic) or timestamp == _NO_TIMESTAMP:
        if not header.is_log_append_time:
            return None
        return (
            f"Invalid timestamp type in message DefaultRecord(offset={record.offset},"
            f" timestamp={timestamp}, key={len(record.key or b'')} bytes,"
            f" value={len(record.value or b'')} bytes)."
            " Producer should not set timestamp type to LogAppendTime."
        )
    least = wall_ms - topic.timestamp_before_max_ms
    greatest = wall_ms + topic.timestamp_after_max_ms
    if least <= timestamp <= greatest:
        return None
    return (
        f"Timestamp {timestamp} of message with offset {record.offset} is out of range."
        f" The timestamp should be within [{least}, {greatest}]"
    )


def _recompressed(batch: Batch, topic: Topic) -> Batch:
    """The same records, compressed as the topic says."""
    header = batch.header
    name = topic.compression_type
    target = Codec.NONE if name == "uncompressed" else Codec[name.upper()]
    if target == header.codec:
        return batch
    level = topic.configs.get(f"compression.{name}.level") if target in LEVELS else None
    try:
        records = decompress(Codec(header.codec), batch.data[HEADER_BYTES:], MAX_INFLATED)
    except CorruptRecord as problem:
        raise _not_inflated(problem) from None
    records = compress(Compression(target, None if level is None else int(level)), records)
    batch = _rewritten(header, header.attributes & ~CODEC_MASK | target, records)
    if len(batch.data) > topic.max_message_bytes:
        raise MessageTooLarge(f"{len(batch.data)} bytes when compressed by {name}")
    return batch


def _rewritten(header: BatchHeader, attributes: int, records: Buffer) -> Batch:
    """A batch with other attributes, and its records as these want them."""
    data = memoryview(bytearray(HEADER_BYTES) + memoryview(records))
    length = len(data) - LENGTH_FROM
    header = header._replace(length=length, attributes=attributes)
    HEADER.pack_into(data, 0, *header)
    header = header._replace(crc=crc32c(data[CRC_FROM:]))
    HEADER.pack_into(data, 0, *header)
    return Batch(data, header)


def first_records(data: memoryview, count: int) -> Batch | None:
    """A batch of the first records of one that is in a log; None if that cannot be read."""
    header = read_header(data)
    builder = BatchBuilder(_ANY_SIZE)
    try:
        for record in _decode(Batch(data, header))[:count]:
            builder.append(record.key, record.value, record.timestamp, record.headers)
    except BrokerError:
        return None
    made = builder.finish(Compression(Codec(header.codec)), header.stamp)
    new = read_header(made)
    if not header.is_log_append_time:
        return Batch(made, new)
    new = new._replace(max_timestamp=header.max_timestamp)
    return _rewritten(new, new.attributes | LOG_APPEND_TIME, made[HEADER_BYTES:])
