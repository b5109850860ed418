from __future__ import annotations

import os
import random
import subprocess
import sys
from types import ModuleType

import pytest

import kafka_aio
from kafka_aio.records import codec as chosen
from kafka_aio.records.layout import advance_sequence
from tests.unit.records import samples

# -- CRC-32C


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0x00000000),
        (b"a", 0xC1D04330),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # the vectors of RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (
            bytes.fromhex(
                "01c00000000000000000000000000000140000000000040000000014"
                "0000001828000000000000000200000000000000"
            ),
            0xD9963A56,
        ),
    ],
)
def test_the_checksum_has_its_known_values(codec: ModuleType, data: bytes, crc: int) -> None:
    assert codec.crc32c(data) == samples.crc32c(data) == crc


def test_the_checksum_is_right_at_every_length_and_alignment(codec: ModuleType) -> None:
    data = random.Random(1).randbytes(1100)
    step = 1 if codec.CRC32C_BY != "python" else 9

    for start in range(0, 17, 1 if step == 1 else 5):
        running = 0xFFFFFFFF  # the definition, a byte further each time
        for size in range(1001):
            if size % step == 0:
                assert codec.crc32c(memoryview(data)[start : start + size]) == running ^ 0xFFFFFFFF
            running ^= data[start + size]
            for _ in range(8):
                running = running >> 1 ^ (0x82F63B78 if running & 1 else 0)


@pytest.mark.parametrize("size", [767, 768, 769, 6143, 6144, 6145, 6912, 12288, 100_000])
def test_the_checksum_is_right_where_several_streams_meet(codec: ModuleType, size: int) -> None:
    data = random.Random(size).randbytes(size)

    assert codec.crc32c(data) == samples.crc32c(data)


def test_the_checksum_goes_on_from_another(codec: ModuleType) -> None:
    data = random.Random(2).randbytes(900)

    for cut in (0, 1, 7, 8, 450, 899, 900):
        assert codec.crc32c(data[cut:], codec.crc32c(data[:cut])) == codec.crc32c(data)


# -- which codec is at work


def test_the_codec_at_work_is_told() -> None:
    info = kafka_aio.codec_info()

    assert info.compiled == (samples.compiled is not None)
    assert info.codecs == ("gzip", "snappy", "lz4", "zstd")
    assert (info.crc32c == "python") == (not info.compiled)
    assert chosen.BatchBuilder is samples.codecs[0].BatchBuilder
    assert kafka_aio.Record is samples.codecs[0].Record


def told(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_AIO_")}
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


ASK = "import kafka_aio; info = kafka_aio.codec_info(); print(info.compiled, info.reason)"
HIDE = "import sys; sys.modules['kafka_aio.records._codec'] = None; "


def test_the_twin_is_forced_by_a_variable() -> None:
    assert told(ASK, KAFKA_AIO_PURE="1").stdout == "False KAFKA_AIO_PURE is set\n"


@pytest.mark.parametrize("value", ["", "0"])
def test_the_twin_is_not_forced_by_an_empty_variable(value: str) -> None:
    assert "KAFKA_AIO_PURE" not in told(ASK, KAFKA_AIO_PURE=value).stdout


def test_the_twin_serves_where_nothing_was_compiled() -> None:
    assert told(HIDE + ASK).stdout.startswith("False nothing was compiled at install")


def test_a_compiled_module_that_is_missing_is_an_error_where_it_is_required() -> None:
    answer = told(HIDE + ASK, KAFKA_AIO_REQUIRE_COMPILED="1")

    assert answer.returncode == 1
    assert "kafka_aio.records._codec" in answer.stderr


@pytest.mark.skipif(samples.compiled is None, reason="nothing was compiled")
def test_the_compiled_module_is_found() -> None:
    answer = told(ASK, KAFKA_AIO_REQUIRE_COMPILED="1")

    assert answer.stdout == "True the compiled codec was found\n"


def test_both_codecs_have_the_same_names() -> None:
    for name in chosen.__all__:
        if name not in ("CodecInfo", "codec_info"):
            assert all(hasattr(module, name) for module in samples.codecs)


# -- sequences


@pytest.mark.parametrize(
    ("sequence", "count", "after"),
    [
        (0, 0, 0),
        (0, 1, 1),
        (2**31 - 2, 1, 2**31 - 1),
        (2**31 - 1, 1, 0),
        (2**31 - 1, 2, 1),
        (2**31 - 3, 10, 7),
    ],
)
def test_the_sequence_after_the_greatest_is_0(sequence: int, count: int, after: int) -> None:
    assert advance_sequence(sequence, count) == after
