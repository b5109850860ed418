"""The broker without its sockets: a request in, answers out, and when to look again. Pure.

The server makes a `Call` of each request and hands it to `receive`; after that, and after `tick`,
it takes what `take_answers` has and sends it. An answer may come at once, or much later: a fetch
waits for bytes, a member for the others of its group. `deadline` says when `tick` is due.
"""

from __future__ import annotations

from kafka_aio.broker.api import SERVED, answerer_of
from kafka_aio.broker.call import Call
from kafka_aio.broker.state import State
from kafka_aio.errors import BrokerError
from kafka_aio.protocol.messages import for_key
from kafka_aio.protocol.schema import schema_of


class Core:
    """Requests to answers, for all nodes of a cluster."""

    def __init__(self, state: State) -> None:
        self.state = state
        state.versions.update({key: schema_of(for_key(key)).stable_versions for key in SERVED})
        state.faults.served = state.versions

    def __repr__(self) -> str:
        return f"<Core of {len(self.state.nodes)} nodes, {len(self.state.topics.by_name)} topics>"

    @property
    def deadline(self) -> float:
        """When `tick` is due; infinity if never."""
        return self.state.agenda.next_at

    def receive(self, call: Call) -> None:
        """Take a request of a version that is served.

        Raises:
            BrokerError: It cannot be answered, not even by an error: the connection must end.
        """
        answerer = answerer_of(schema_of(type(call.request)).key)
        try:
            response = answerer(call.request, call)
        except BrokerError as error:
            call.refuse(error)
            return
        if response is not None:
            call.answer(response)

    def tick(self, *, now: float) -> None:
        """Do what is due: time-outs, and what waited too long."""
        self.state.agenda.run(now=now)

    def take_answers(self) -> list[tuple[Call, object]]:
        """What is to be sent, in this order."""
        answers, self.state.answers = self.state.answers, []
        return answers
