"""Records that were not delivered, until somebody was told."""

from __future__ import annotations

import logging

import pytest

from kafka_aio.errors import KafkaError, KafkaTimeoutError, MessageTooLarge, Persistence
from kafka_aio.producer import failures as module
from kafka_aio.producer.delivery import Outcome
from kafka_aio.producer.failures import Failures
from kafka_aio.types import TopicPartition
from tests.unit.producer.accumulated import StillLoop


def failed(count: int, *, partition: int = 0, error: KafkaError | None = None) -> Outcome:
    outcome = Outcome("t", partition, StillLoop())
    outcome.count = count
    outcome.fail(error or KafkaTimeoutError("too late"))
    return outcome


def test_without_failures_there_is_nothing_to_tell() -> None:
    assert Failures().unseen() is None


def test_it_tells_how_many_where_and_why() -> None:
    failures = Failures()
    failures.add(failed(3))
    failures.add(failed(2, partition=1, error=MessageTooLarge(where="t-1")))
    error = failures.unseen()

    assert error is not None
    assert error.count == 5
    assert error.by_partition == {TopicPartition("t", 0): 3, TopicPartition("t", 1): 2}
    assert [type(cause) for cause in error.causes] == [KafkaTimeoutError, MessageTooLarge]
    assert "5 records were not delivered" in str(error)
    assert error.__cause__ is error.causes[0]


def test_each_loss_is_told_once() -> None:
    failures = Failures()
    failures.add(failed(3))
    failures.unseen()

    assert failures.unseen() is None
    assert failures.records == 3


def test_what_somebody_saw_is_not_told_again() -> None:
    failures = Failures()
    outcome = failed(3)
    failures.add(outcome)
    outcome.saw(0, 2)
    error = failures.unseen()

    assert error is not None
    assert error.count == 1
    outcome.saw(2, 1)
    assert failures.unseen() is None


def test_who_looks_in_time_leaves_nothing_to_tell() -> None:
    failures = Failures()
    outcome = failed(1)
    failures.add(outcome)
    outcome.saw(0, 1)

    assert failures.unseen() is None


def test_reasons_are_told_once_each() -> None:
    failures = Failures()
    for _ in range(10):
        failures.add(failed(1))
    error = failures.unseen()

    assert error is not None
    assert len(error.causes) == 1


def test_what_is_kept_is_bounded_and_no_record_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 10)
    failures = Failures()
    for _ in range(25):
        failures.add(failed(2))
    assert "10 batches kept" in repr(failures)
    error = failures.unseen()

    assert error is not None
    assert error.count == 50


def test_each_failure_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, module.__name__):
        Failures().add(failed(3))

    assert caplog.messages == ["3 records were not delivered: too late"]


def test_a_reason_is_told_once_for_each_that_is_known_of_its_records() -> None:
    failures = Failures()
    known = [Persistence.POSSIBLY_PERSISTED, Persistence.NOT_PERSISTED]
    for persistence in known * 2:
        error = KafkaTimeoutError("too late")
        error.persistence = persistence
        failures.add(failed(1, error=error))
    told = failures.unseen()

    assert told is not None
    assert [cause.persistence for cause in told.causes] == known
