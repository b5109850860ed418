from __future__ import annotations

from asyncio import CancelledError
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.errors import InvalidRecord, KafkaConnectionError, KafkaError, StateError
from kafka_aio.producer import _delivery_py as twin
from kafka_aio.producer import delivery as chosen
from kafka_aio.records.codec import BatchBuilder
from tests.unit.producer.deliveries import Awaiting, Loop, compiled, outcome_of

NAMES = ("Accepted", "Delivery", "OpenBatch", "OpenTopic", "Outcome")
both = pytest.mark.skipif(compiled is None, reason="nothing was compiled")


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@both
@pytest.mark.parametrize("name", [*NAMES, "Waiter"])
def test_both_have_the_same_names(name: str) -> None:
    assert compiled is not None
    internal = {
        "when_done",
        "await_by",
        "leave",
        "settled",
    }  # not seen from Python where it is compiled

    assert public(getattr(twin, name)) - internal == public(getattr(compiled, name))


def test_the_compiled_one_is_chosen_where_there_is_one() -> None:
    expected = compiled or twin

    assert [getattr(chosen, name) for name in NAMES] == [getattr(expected, name) for name in NAMES]


class Run:
    """A batch in one of the forms, and all that was seen of it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._loop = Loop()
        self._pending = [outcome_of(module, self._loop)]
        self._topic = module.OpenTopic(1)
        self._batch = module.OpenBatch(BatchBuilder(300), self._pending[0])
        self._topic.put(0, self._batch)
        self._deliveries: list[Any] = []
        self._awaiting: list[Awaiting] = []
        self.seen: list[object] = []

    def do(self, action: str, number: int) -> None:
        """One step; what it gives, or raises, is seen."""
        try:
            self.seen.append((action, getattr(self, action)(number)))
        except (KafkaError, TypeError, ValueError, CancelledError) as error:
            self.seen.append((action, type(error).__name__, str(error)))

    def close(self) -> None:
        for each in self._awaiting:
            each.close()

    def append(self, number: int) -> bool:
        if self._batch.outcome.count:
            return False  # closed
        key = (None, b"k", bytearray(b"k"))[number % 3]
        delivery = self._topic.append(key, b"v" * number, number - 2, 1.0, None, 0)
        if delivery is not None:
            self._deliveries.append(delivery)
        return delivery is not None

    def _settled(self, number: int) -> Any:
        self._batch.outcome.count = self._batch.outcome.count or self._batch.builder.count
        if not self._pending:
            raise StateError("all are settled")
        return self._pending.pop(number % len(self._pending))

    def deliver(self, number: int) -> None:
        self._settled(number).deliver(number - 1, -1 if number % 2 else number)

    def fail(self, number: int) -> None:
        errors: dict[int, KafkaError] = {number % 4: InvalidRecord("one")}
        self._settled(number).fail(KafkaConnectionError("lost"), errors if number % 2 else None)

    def divide(self, number: int) -> str:
        outcome = self._settled(number)
        at = 1 + number % max(outcome.count - 1, 1)
        parts = [
            outcome_of(self._module, self._loop, count=max(count, 0))
            for count in (at, outcome.count - at)
        ]
        outcome.divide([(0, parts[0]), (at, parts[1])])
        self._pending += parts
        return repr(outcome)

    def result(self, number: int) -> object:
        return self._one(number).result()

    def peek(self, number: int) -> object:
        metadata, error = self._one(number).peek()
        return metadata, type(error), str(error)

    def wait(self, number: int) -> object:
        self._awaiting.append(Awaiting(self._one(number)))
        return self.step(-1)

    def step(self, number: int) -> object:
        if not self._awaiting:
            return None
        each = self._awaiting.pop(number % len(self._awaiting))
        if each.is_begun and not each.is_woken:  # no task goes on before that
            self._awaiting.append(each)
            return "waits"
        if each.step().is_done:
            return each.result, type(each.error), str(each.error)
        self._awaiting.append(each)
        return "waits"

    def cancel(self, number: int) -> object:
        if not self._awaiting:
            return None
        return self._awaiting[number % len(self._awaiting)].waits_for.cancel(f"number {number}")

    def cancelled(self, number: int) -> object:
        if not self._awaiting:
            return None
        return self._awaiting[number % len(self._awaiting)].waits_for.result()

    def call(self, number: int) -> None:
        one = self._one(number)
        one.add_done_callback(lambda each: self.seen.append(("called", number, each is one)))

    def run(self, number: int) -> None:
        self._loop.run()

    def look(self, number: int) -> object:
        outcome = self._batch.outcome
        woken = [each.is_woken for each in self._awaiting]
        return repr(self._deliveries), repr(outcome), outcome.seen, outcome.unseen, woken

    def _one(self, number: int) -> Any:
        if not self._deliveries:
            raise StateError("none yet")
        return self._deliveries[number % len(self._deliveries)]


ACTIONS = [name for name in vars(Run) if not name.startswith("_") and name not in ("do", "close")]


@both
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 80)), max_size=60))
def test_both_do_the_same(steps: list[tuple[str, int]]) -> None:
    assert compiled is not None
    runs = [Run(compiled), Run(twin)]
    for run in runs:
        for action, number in [*[("append", 5)] * 3, *steps]:
            run.do(action, number)
        run.do("look", 0)
        run.close()

    assert runs[0].seen == runs[1].seen
