"""Good answers with some bytes changed, and noise: from seeds, so that each can be seen again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest

from kafka_aio.errors import KafkaError, ProtocolError
from kafka_aio.metadata.endpoint import problem_of
from kafka_aio.net.cluster import Cluster
from kafka_aio.net.coordinators import Coordinator, CoordinatorKind
from kafka_aio.protocol.frame import decode_response
from kafka_aio.protocol.messages.api_versions import ApiVersionsRequest
from kafka_aio.protocol.messages.groups import FindCoordinatorRequest, HeartbeatRequest
from kafka_aio.protocol.messages.metadata import MetadataRequest
from kafka_aio.protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_aio.protocol.schema import Request, schema_of
from tests.fuzz.mutation import mutate
from tests.hostile.attacks import BEAT, beats, outcome_of, works
from tests.net.clusters import Scripted, made, scripted
from tests.net.server import HOST, PATIENCE, Asked, Peer, Reaction, authenticated
from tests.unit.protocol.sasl_broker import ScramBroker

WORKERS = 6
GROUP = Coordinator(CoordinatorKind.GROUP, "g")
OPTIONS: dict[str, Any] = {
    "request_timeout_ms": 300,
    "default_api_timeout_ms": 600,
    "socket_connection_setup_timeout_ms": 300,
    "socket_connection_setup_timeout_max_ms": 5_000,  # on a machine that has much else to do
}
LOGIN: dict[str, Any] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_username": "alice",
    "sasl_password": "alice-secret",
}
ALICE = ScramBroker("SCRAM-SHA-256", "alice", "alice-secret")

Target = type[Request[Any]]
TARGETS: list[Target] = [
    ApiVersionsRequest,
    SaslHandshakeRequest,
    SaslAuthenticateRequest,
    MetadataRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
]
HANDSHAKE = (ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
Harm = Callable[[random.Random, bytes], bytes]


def changed(rng: random.Random, answer: bytes) -> bytes:
    return bytes(mutate(rng, answer, answer))


def noise(rng: random.Random, answer: bytes) -> bytes:
    return rng.randbytes(rng.randrange(1, 2_000))


class Session:
    """A broker, and clients that are answered wrongly once."""

    def __init__(self, script: Scripted) -> None:
        self.script = script
        self._broker = script.brokers[1]
        self._reactions = self._broker.reactions
        self._reactions[SaslAuthenticateRequest] = self._authenticate
        self._reactions[HeartbeatRequest] = beats
        self._users: dict[Peer, ScramBroker] = {}
        self._forged: set[Peer] = set()  # to whom the broker's proof was not what it should be

    async def survive(self, seed: int, harm: Harm) -> None:
        """Any error is typed, nothing hangs, and the next answers are taken."""
        rng = random.Random(seed)
        target = TARGETS[seed % len(TARGETS)]
        good = self._reactions[target]
        turn = rng.randrange(2)
        self._reactions[target] = self._harmed(rng, harm, turn, good)
        login = LOGIN if schema_of(target).name.startswith("Sasl") else {}
        async with made(self.script.bootstrap(), **OPTIONS, **login) as cluster:
            await outcome_of(cluster.start())
            await outcome_of(cluster.refresh(["t"]))
            await outcome_of(cluster.send_to_coordinator(GROUP, BEAT))

            self._reactions[target] = good
            for peer in self._broker.peers:
                peer.close()  # what was said about versions holds for a connection
            await self._recovers(cluster, f"after-{seed}")

        assert not any(
            asked.peer in self._forged and not isinstance(asked.message, HANDSHAKE)
            for asked in self._broker.seen
        )
        for each in (self._users, self._forged, self._broker.peers, self._broker.seen):
            each.clear()

    async def _recovers(self, cluster: Cluster, topic: str) -> None:
        async with asyncio.timeout(2 * PATIENCE):
            while True:
                try:
                    return await works(cluster, self.script, topic)
                except KafkaError:
                    await asyncio.sleep(0.05)

    def _harmed(self, rng: random.Random, harm: Harm, turn: int, good: Reaction) -> Reaction:
        """The answer of that turn, changed."""
        session = self
        turns = iter(range(turn + 1))

        class Harmed(Asked):
            def answer(self, response: object) -> None:
                answer = self.framed(response)
                data = harm(rng, answer)
                while session._leads_away(self, data):
                    data = harm(rng, answer)
                session._note(self, answer, data)
                self.peer.write(data)

        def react(asked: Asked) -> None:
            good(Harmed(**vars(asked)) if next(turns, None) == turn else asked)

        return react

    def _leads_away(self, asked: Asked, data: bytes) -> bool:
        """Whether we would be sent to a stranger: this is a test on loopback."""
        response = decoded(asked, data)
        named = [*getattr(response, "brokers", []), *getattr(response, "coordinators", [])]
        home = (HOST, self._broker.port)
        return any((each.host, each.port) != home and not problem_of(each) for each in named)

    def _note(self, asked: Asked, answer: bytes, data: bytes) -> None:
        if not isinstance(asked.message, SaslAuthenticateRequest):
            return
        honest, said = decoded(asked, answer), decoded(asked, data)
        if said is not None and said.auth_bytes != honest.auth_bytes:
            self._forged.add(asked.peer)

    def _authenticate(self, asked: Asked) -> None:
        user = self._users.setdefault(asked.peer, copy(ALICE))
        said = asked.message.auth_bytes
        asked.answer(authenticated(user.first(said) if said[:3] == b"n,," else user.final(said)))


def decoded(asked: Asked, data: bytes) -> Any:
    """What a client reads, if it reads an answer to that request; None if it does not."""
    length, correlation_id = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    if correlation_id != asked.correlation_id or length > len(data) - 4:
        return None
    try:
        return decode_response(type(asked.message), data[4 : 4 + length], asked.version)
    except ProtocolError:
        return None


async def survive(seeds: range, harm: Harm) -> None:
    """Several at a time: most of the time of each is spent on waiting for what does not come."""
    todo = iter(seeds)

    async def work() -> None:
        async with scripted(1) as script:
            session = Session(script)
            for seed in todo:
                try:
                    await session.survive(seed, harm)
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise

    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(work())


@pytest.mark.timeout(180)
@pytest.mark.parametrize("harm", [changed, noise])
async def test_of_a_broken_answer_come_typed_errors_and_the_client_lives_on(harm: Harm) -> None:
    await survive(range(40), harm)


@pytest.mark.timeout(180)
@pytest.mark.loop("uvloop")  # in debug mode, asyncio would take minutes
async def test_of_a_thousand_broken_answers_come_typed_errors_and_the_client_lives_on() -> None:
    await survive(range(1_000, 2_000), changed)
