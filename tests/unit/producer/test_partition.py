from __future__ import annotations

import array
import importlib
import os
import random
from collections.abc import Sequence
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.producer import _partition_py as twin
from kafka_aio.producer import partition as chosen


def _find_compiled() -> ModuleType | None:
    if os.environ.get("KAFKA_AIO_PURE", "0") not in ("", "0"):
        return None
    try:
        return importlib.import_module("kafka_aio.producer._partition")
    except ImportError:
        if os.environ.get("KAFKA_AIO_REQUIRE_COMPILED", "0") not in ("", "0"):
            raise
        return None


compiled = _find_compiled()
modules: Sequence[ModuleType] = [twin] if compiled is None else [compiled, twin]
both = pytest.mark.skipif(compiled is None, reason="nothing was compiled")


@pytest.fixture(params=modules, ids=lambda module: module.__name__.rpartition(".")[2])
def module(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


# What Java's own test of its hash expects.
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "number"), JAVA.items())
def test_the_hash_is_that_of_java(module: ModuleType, key: bytes, number: int) -> None:
    assert module.murmur2(key) == number


@pytest.mark.parametrize("peer", ["aiokafka.partitioner", "kafka.partitioner.default"])
def test_the_hash_is_that_of_other_clients(module: ModuleType, peer: str) -> None:
    theirs = pytest.importorskip(peer)
    rng = random.Random(2)
    keys = [rng.randbytes(size) for size in range(70) for _ in range(5)]
    keys += [bytes([255]) * size for size in range(12)]

    for key in keys:
        assert module.murmur2(key) & 0xFFFFFFFF == theirs.murmur2(key) & 0xFFFFFFFF


def test_a_key_s_partition_leaves_the_sign_of_its_hash_out(module: ModuleType) -> None:
    for key, number in JAVA.items():
        for count in (1, 2, 3, 6, 50, 2**31 - 1):
            assert module.partition_of_key(key, count) == (number & 0x7FFFFFFF) % count


def test_keys_spread_over_all_partitions(module: ModuleType) -> None:
    seen = [0] * 8
    for number in range(4000):
        seen[module.partition_of_key(b"%d" % number, 8)] += 1

    assert min(seen) > 400
    assert max(seen) < 600


def test_a_key_may_be_any_contiguous_bytes(module: ModuleType) -> None:
    for key in (bytearray(b"xfoobar")[1:], memoryview(b"xfoobar")[1:], array.array("B", b"foobar")):
        assert module.murmur2(key) == JAVA[b"foobar"]
        assert module.partition_of_key(key, 6) == (JAVA[b"foobar"] & 0x7FFFFFFF) % 6


def test_the_bytes_of_a_key_count_whatever_their_format(module: ModuleType) -> None:
    key = array.array("i", [1, -2, 3])

    assert module.murmur2(key) == module.murmur2(key.tobytes())


@pytest.mark.parametrize("key", ["text", None, 7])
def test_a_key_that_is_not_bytes_is_refused(module: ModuleType, key: object) -> None:
    with pytest.raises(TypeError):
        module.murmur2(key)
    with pytest.raises(TypeError):
        module.partition_of_key(key, 3)


@pytest.mark.parametrize("count", [0, -1])
def test_a_topic_has_at_least_one_partition(module: ModuleType, count: int) -> None:
    with pytest.raises(ValueError, match=f"a topic has 1 partition or more, not {count}"):
        module.partition_of_key(b"key", count)


@both
@given(key=st.binary(max_size=100), count=st.integers(1, 2**31 - 1))
def test_both_hash_alike(key: bytes, count: int) -> None:
    assert compiled is not None
    assert compiled.murmur2(key) == twin.murmur2(key)
    assert compiled.partition_of_key(key, count) == twin.partition_of_key(key, count)


def test_the_compiled_one_is_chosen_where_it_is_there() -> None:
    assert chosen.murmur2 is modules[0].murmur2
    assert chosen.scatter is modules[0].scatter
