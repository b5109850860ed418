"""What both codecs have: the stub of the compiled one, which its twin is held against."""

from collections.abc import Iterable, Sequence
from typing import Final, Self, final

from typing_extensions import Buffer

from kafka_aio.records.columns import BinaryColumn, Columns, HeadersColumn, TimestampColumn
from kafka_aio.records.compression import Compression
from kafka_aio.records.layout import Header, Headers, ProducerStamp
from kafka_aio.types import TimestampType

CRC32C_BY: Final[str]
"""How CRC-32C is computed: an instruction set, a table, or plain Python."""

def crc32c(data: Buffer, crc: int = 0) -> int: ...
def inflated_size(codec: int, data: Buffer, enough: int) -> int: ...

@final
class Record:
    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers = (),
        timestamp_type: TimestampType = ...,
        leader_epoch: int = -1,
    ) -> None: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> TimestampType: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> tuple[Header, ...]: ...
    @property
    def leader_epoch(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class BatchBuilder:
    def __new__(cls, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def base_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def is_finished(self) -> bool: ...
    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        timestamp: int,
        headers: Headers | None = None,
    ) -> bool: ...
    def append_many(
        self,
        values: Iterable[Buffer | None],
        timestamp: int,
        keys: Iterable[Buffer | None] | None = None,
        start: int = 0,
    ) -> int: ...
    def append_rows(self, rows: Rows, start: int, stop: int, timestamp: int) -> int: ...
    def append_taken(
        self, rows: Rows, indices: Buffer, start: int, stop: int, timestamp: int
    ) -> int: ...
    def finish(
        self,
        compression: Compression = ...,
        stamp: ProducerStamp = ...,
        *,
        base_offset: int = 0,
        leader_epoch: int = -1,
        control: bool = False,
    ) -> memoryview: ...

@final
class Rows:
    def __new__(
        cls,
        length: int,
        value: BinaryColumn,
        key: BinaryColumn | None = None,
        timestamp: TimestampColumn | None = None,
        headers: HeadersColumn | None = None,
    ) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def length(self) -> int: ...
    def payload(self, row: int) -> int: ...

@final
class RecordReader:
    def __new__(
        cls,
        data: Buffer,
        topic: str = "",
        partition: int = -1,
        *,
        start_offset: int = -1,
        check_crcs: bool = True,
        aborted: Sequence[tuple[int, int]] | None = None,
        control_records: bool = False,
        max_inflated: int = ...,
    ) -> Self: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def is_incomplete(self) -> bool: ...
    @property
    def is_done(self) -> bool: ...
    def to_inflate(self, enough: int) -> int: ...
    def open_batch(self) -> bool: ...
    def read(
        self, max_records: int = -1, *, max_bytes: int = -1, max_inflate: int = -1
    ) -> list[Record]: ...
    def columns(
        self, max_rows: int = -1, *, headers: bool = False, max_bytes: int = 2147483647
    ) -> Columns: ...
