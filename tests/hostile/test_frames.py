"""Bytes that are no answer, in the place of each kind of answer that a client waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_aio.errors import (
    CorrelationIdError,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_aio.protocol.codec import encode
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslHandshakeResponse
from tests.hostile.attacks import (
    BEAT,
    QUICK_TO_GIVE_UP,
    REQUEST_SECONDS,
    SLACK,
    START_SECONDS,
    answers,
    breaks_off,
    drips,
    first,
    frame,
    outcome_of,
    promises,
    says_too_much,
    says_twice,
    the_first_asked_is,
    works,
)
from tests.net.clusters import UNHURRIED, joined, made, scripted
from tests.net.server import PATIENCE, Reaction, closes, resets, says_nothing, writes

TLS_ALERT = bytes([21, 3, 3, 0, 2, 2, 70])
TLS_HELLO = bytes([22, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3])
OF_ANOTHER_API = encode(SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]), 1)

RECEIVE_MAX_BYTES = 2 * 2**20
LIMITED = {**QUICK_TO_GIVE_UP, "receive_max_bytes": RECEIVE_MAX_BYTES}


class Attack(NamedTuple):
    """What comes, and which error says so: before we know that it is a broker, and after."""

    reaction: Reaction
    before: type[KafkaError]
    after: type[KafkaError]

    @property
    def start_seconds(self) -> float:
        """How long to try: what is certainly no broker ends `start` at once, the rest may mend."""
        return PATIENCE if self.is_final else START_SECONDS

    @property
    def options(self) -> dict[str, Any]:
        """No time-out may come before the error that is final."""
        return UNHURRIED if self.is_final else QUICK_TO_GIVE_UP

    @property
    def is_final(self) -> bool:
        return issubclass(self.before, ProtocolError)


def refused(reaction: Reaction) -> Attack:
    return Attack(reaction, ProtocolError, ProtocolError)


def out_of_turn(reaction: Reaction) -> Attack:
    return Attack(reaction, CorrelationIdError, CorrelationIdError)


def lost(reaction: Reaction) -> Attack:
    return Attack(reaction, KafkaConnectionError, KafkaConnectionError)


def late(reaction: Reaction) -> Attack:
    return Attack(reaction, KafkaConnectionError, KafkaTimeoutError)


ATTACKS = {
    "a frame of 2^31-1 bytes": refused(writes(frame(2**31 - 1))),
    "a frame of -2^31 bytes": refused(writes(frame(-(2**31)))),
    "a frame of -1 bytes": refused(writes(frame(-1))),
    "a frame of no bytes": refused(writes(frame(0))),
    "a frame of 3 bytes": refused(writes(frame(3, b"abc"))),
    "a frame of more bytes than are accepted": refused(promises(RECEIVE_MAX_BYTES + 1)),
    "a frame that the end cuts short": lost(breaks_off(100, sent=30)),
    "a length that the end cuts short": lost(breaks_off(100, sent=2)),
    "the end": lost(closes),
    "a reset": lost(resets),
    "nothing": late(says_nothing),
    "half of a length": late(writes(b"\0\0")),
    "the head of a frame, and nothing more": late(promises(100_000)),
    "one byte after another": late(drips(400)),
    "an answer of HTTP": refused(writes(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    "a greeting of SSH": refused(writes(b"SSH-2.0-OpenSSH_9.6\r\n")),
    "a greeting of SMTP": refused(writes(b"220 mail.example ESMTP\r\n")),
    "an error of Redis": refused(writes(b"-ERR unknown command\r\n")),
    "an alert of TLS": refused(writes(TLS_ALERT)),
    "a server's hello of TLS": refused(writes(TLS_HELLO)),
    "an answer without a body": refused(answers(b"")),
    "an answer to another API": refused(answers(OF_ANOTHER_API)),
    "an answer of many zeros": refused(answers(bytes(1_000))),
    "an answer to the next request": out_of_turn(answers(b"", turn=1)),
    "an answer to the request before": out_of_turn(answers(b"", turn=-1)),
    "an answer from the far future": out_of_turn(answers(b"", turn=2**30)),
    "an answer to a request below zero": out_of_turn(answers(b"", turn=-(2**30))),
}
each_attack = pytest.mark.parametrize("name", ATTACKS)


@each_attack
async def test_in_place_of_the_first_answer_it_is_a_typed_error_in_time(name: str) -> None:
    attack = ATTACKS[name]
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        good = reactions[ApiVersionsRequest]
        reactions[ApiVersionsRequest] = attack.reaction

        async with made(script.bootstrap(), **attack.options) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=attack.start_seconds))

            assert type(error) is attack.before
            assert seconds < START_SECONDS + SLACK
            reactions[ApiVersionsRequest] = good
            await works(cluster, script)


@each_attack
async def test_in_place_of_metadata_it_is_asked_for_again_on_a_new_connection(name: str) -> None:
    async with scripted(1) as script:
        reactions = script.brokers[1].reactions
        reactions[MetadataRequest] = first(ATTACKS[name].reaction, then=script.describe)

        async with made(script.bootstrap(), **LIMITED) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert error is None
            assert seconds < REQUEST_SECONDS + SLACK
            assert len({id(each.peer) for each in script.asked(MetadataRequest)}) == 2
            await works(cluster, script)


@each_attack
async def test_in_place_of_an_answer_it_is_a_typed_error_in_time(name: str) -> None:
    attack = ATTACKS[name]
    async with scripted(1) as script, joined(script.bootstrap(), **LIMITED) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = attack.reaction

        _, error, seconds = await outcome_of(cluster.send(1, BEAT))

        assert type(error) is attack.after
        assert error.indefinite
        assert seconds < REQUEST_SECONDS + SLACK
        await works(cluster, script)


@each_attack
async def test_of_the_bootstrap_server_asked_first_it_leaves_us_the_other(name: str) -> None:
    async with scripted(2) as script:
        the_first_asked_is(ATTACKS[name].reaction, script, ApiVersionsRequest)

        async with made(script.bootstrap(), **QUICK_TO_GIVE_UP) as cluster:
            _, error, seconds = await outcome_of(cluster.start(timeout=PATIENCE))

            assert error is None
            assert seconds < REQUEST_SECONDS + SLACK
            assert list(cluster.metadata.nodes) == [1, 2]


@pytest.mark.parametrize("glued", [says_twice, says_too_much])
async def test_of_two_answers_to_one_request_the_first_counts_and_the_connection_ends(
    glued: Callable[[object], Reaction],
) -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **LIMITED) as cluster:
        script.brokers[1].reactions[HeartbeatRequest] = glued(HeartbeatResponse(error_code=27))

        answer = await cluster.send(1, BEAT)
        await script.brokers[1].seen[-1].peer.wait_gone()

        assert answer.error_code == 27
        await works(cluster, script)


async def test_two_answers_in_one_packet_reach_those_who_asked() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **LIMITED) as cluster:
        tasks = [asyncio.create_task(cluster.send(1, BEAT)) for _ in range(2)]
        asked = [await script.brokers[1].next() for _ in tasks]

        codes = (27, 25)
        framed = [
            each.framed(HeartbeatResponse(error_code=code))
            for each, code in zip(asked, codes, strict=True)
        ]
        asked[0].peer.write(b"".join(framed))

        assert [(await task).error_code for task in tasks] == [27, 25]


async def test_an_answer_before_its_request_ends_the_connection() -> None:
    async with scripted(1) as script, joined(script.bootstrap(), **LIMITED) as cluster:
        await works(cluster, script)
        last = script.brokers[1].seen[-1]

        last.peer.write(last.framed(HeartbeatResponse(error_code=0), turn=1))
        await last.peer.wait_gone()

        await works(cluster, script)
