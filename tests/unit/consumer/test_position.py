from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_aio.config import ConsumerConfig
from kafka_aio.consumer.position import (
    EARLIEST,
    LATEST,
    Moves,
    OwnedPartition,
    Phase,
    Position,
    Reset,
    ResetTo,
    reset_policy,
)
from kafka_aio.errors import KafkaStorageError, NotLeaderOrFollower, StateError
from kafka_aio.metadata import Leader
from kafka_aio.types import OffsetAndMetadata
from tests.unit.consumer.owned import A0, FIRST, SECOND


@pytest.fixture
def owned() -> OwnedPartition:
    owned = OwnedPartition(A0, Moves())
    owned.lead(FIRST)
    return owned


@pytest.mark.parametrize(
    ("option", "policy"),
    [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("none", None),
        ("by_duration:PT1H", Reset(ResetTo.BY_DURATION, 3600.0)),
    ],
)
def test_the_policy_is_that_of_the_configuration(option: str, policy: Reset | None) -> None:
    config = ConsumerConfig(bootstrap_servers="localhost:9092", auto_offset_reset=option)

    assert reset_policy(config.auto_offset_reset, config.auto_offset_reset_lookback) == policy


def test_a_new_partition_has_no_position_and_is_not_fetched(owned: OwnedPartition) -> None:
    assert owned.phase is Phase.INITIALISING
    assert owned.position is None
    assert not owned.is_fetchable
    assert repr(owned) == "<OwnedPartition a-0: INITIALISING, nowhere yet>"


def test_a_seek_without_an_epoch_is_fetched_at_once(owned: OwnedPartition) -> None:
    owned.seek(Position(10))

    assert owned.phase is Phase.FETCHING
    assert owned.is_fetchable


def test_a_seek_with_an_epoch_is_held_against_the_leader(owned: OwnedPartition) -> None:
    # B49
    owned.seek(Position(10, 5))

    assert owned.phase is Phase.AWAITING_VALIDATION
    assert not owned.is_fetchable

    owned.confirm()

    assert owned.is_fetchable
    assert owned.position == Position(10, 5)


def test_a_seek_back_to_the_same_epoch_is_held_against_the_leader_again(
    owned: OwnedPartition,
) -> None:
    owned.seek(Position(10, 5))
    owned.confirm()
    owned.seek(Position(8, 4))

    assert owned.phase is Phase.AWAITING_VALIDATION


def test_another_leader_is_asked_about_the_position(owned: OwnedPartition) -> None:
    owned.seek(Position(10))
    owned.advance(Position(20, 5))
    era = owned.era

    phases = []
    for leader in (FIRST, SECOND):
        owned.lead(leader)
        phases.append(owned.phase)

    assert phases == [Phase.FETCHING, Phase.AWAITING_VALIDATION]
    assert owned.era == era


def test_a_partition_without_a_leader_is_not_fetched_and_the_same_leader_not_asked_again(
    owned: OwnedPartition,
) -> None:
    owned.seek(Position(10, 5))
    owned.confirm()
    owned.lead(None)

    assert not owned.is_fetchable

    owned.lead(FIRST)

    assert owned.is_fetchable


def test_a_seek_while_nobody_leads_is_held_against_the_next_leader(owned: OwnedPartition) -> None:
    owned.lead(None)
    owned.seek(Position(10, 5))
    owned.lead(FIRST)

    assert owned.phase is Phase.AWAITING_VALIDATION


def test_brokers_without_epochs_are_not_asked(owned: OwnedPartition) -> None:
    owned.seek(Position(10, 5))
    owned.lead(Leader(2, -1))

    assert owned.phase is Phase.FETCHING


def test_a_third_leader_during_a_validation_is_asked_at_once(owned: OwnedPartition) -> None:
    owned.seek(Position(10, 5))
    owned.retry_at = 100.0
    owned.lead(SECOND)

    assert owned.phase is Phase.AWAITING_VALIDATION
    assert owned.checked_epoch == SECOND.epoch
    assert owned.retry_at < 100.0


def test_a_new_leader_does_not_end_a_reset(owned: OwnedPartition) -> None:
    owned.reset(EARLIEST)
    owned.lead(SECOND)

    assert owned.phase is Phase.AWAITING_RESET


def test_where_a_reset_leads_is_not_validated(owned: OwnedPartition) -> None:
    owned.reset(EARLIEST)
    assert owned.position is None

    owned.settle_reset(3)

    assert owned.phase is Phase.FETCHING
    assert owned.position == Position(3)
    assert owned.reset_to is None


def test_the_leader_of_a_reset_is_not_asked_about_what_is_read_after_it(
    owned: OwnedPartition,
) -> None:
    owned.seek(Position(10))
    owned.reset(EARLIEST)
    owned.lead(SECOND)
    owned.settle_reset(3)
    owned.advance(Position(5, 6))
    owned.lead(SECOND)

    assert owned.phase is Phase.FETCHING


def test_a_position_moves_over_gaps_and_stays_within_its_era(owned: OwnedPartition) -> None:
    # B42: the last records of a batch may be compacted away, or all of them.
    owned.seek(Position(10))
    era = owned.era
    owned.advance(Position(500, 5))
    owned.advance(Position(500, 5))

    assert owned.position == Position(500, 5)
    assert owned.era == era


def test_a_position_goes_back_by_a_seek_only(owned: OwnedPartition) -> None:
    owned.seek(Position(10))

    with pytest.raises(StateError, match="that takes a seek"):
        owned.advance(Position(9))
    assert owned.position == Position(10)


def test_a_partition_without_a_position_does_not_advance(owned: OwnedPartition) -> None:
    with pytest.raises(StateError, match="nowhere yet"):
        owned.advance(Position(0))


def test_each_jump_begins_an_era_that_never_was(owned: OwnedPartition) -> None:
    # B46
    jumps: list[Callable[[], None]] = [
        lambda: owned.seek(Position(10, 5)),
        lambda: owned.truncated(Position(8, 4)),
        lambda: owned.seek(Position(8)),
        lambda: owned.reset(LATEST),
        owned.look_for_end,
        lambda: owned.found_end(9),
        lambda: owned.settle_reset(9),
    ]
    eras = [owned.era]
    for jump in jumps:
        jump()
        eras.append(owned.era)

    assert len(set(eras)) == len(eras)


@pytest.mark.parametrize("word", ["confirm", "look_for_end"])
def test_what_is_not_awaited_is_refused(owned: OwnedPartition, word: str) -> None:
    owned.seek(Position(10))
    era = owned.era

    with pytest.raises(StateError, match="is not AWAITING"):
        getattr(owned, word)()
    assert (owned.phase, owned.position, owned.era) == (Phase.FETCHING, Position(10), era)


@pytest.mark.parametrize("word", ["settle_reset", "found_end"])
def test_an_offset_that_is_not_awaited_is_refused(owned: OwnedPartition, word: str) -> None:
    owned.seek(Position(10))

    with pytest.raises(StateError, match="is not AWAITING_RESET"):
        getattr(owned, word)(3)
    assert owned.position == Position(10)


def test_a_truncation_that_is_not_awaited_is_refused(owned: OwnedPartition) -> None:
    owned.seek(Position(10))

    with pytest.raises(StateError, match="is not AWAITING_VALIDATION"):
        owned.truncated(Position(3))
    assert owned.position == Position(10)


def test_what_was_handed_over_ends_no_later_than_where_one_goes_back_to(
    owned: OwnedPartition,
) -> None:
    ends = [owned.handed_over]
    for offset in (20, 10, 30):
        owned.handed_over = max(owned.handed_over, 15)
        owned.seek(Position(offset))
        ends.append(owned.handed_over)

    assert ends == [0, 15, 10, 15]


@pytest.mark.parametrize("read_committed", [False, True])
def test_an_end_that_was_asked_for_makes_its_own_lag_known(
    owned: OwnedPartition, read_committed: bool
) -> None:
    owned.seek(Position(10))
    owned.saw_end(25, read_committed=read_committed)

    assert owned.lag(read_committed=read_committed) == 15
    assert owned.lag(read_committed=not read_committed) is None


def test_the_lag_counts_to_the_end_of_what_may_be_read(owned: OwnedPartition) -> None:
    assert owned.lag() is None

    owned.seek(Position(10))
    owned.saw(high_watermark=25, last_stable_offset=18, log_start_offset=2)

    assert owned.lag() == 15
    assert owned.lag(read_committed=True) == 8
    assert owned.log_start_offset == 2


def test_what_an_answer_does_not_say_is_not_known(owned: OwnedPartition) -> None:
    owned.seek(Position(10))
    owned.saw(high_watermark=-1, last_stable_offset=-1, log_start_offset=-1)

    assert owned.lag() is None
    assert owned.log_start_offset is None


def test_the_lag_is_never_negative(owned: OwnedPartition) -> None:
    owned.seek(Position(30))
    owned.saw(high_watermark=25, last_stable_offset=18, log_start_offset=2)

    assert owned.lag() == 0


def test_an_epoch_is_committed_where_it_is_known() -> None:
    assert Position(3, 5).to_commit() == OffsetAndMetadata(3, leader_epoch=5)
    assert Position(3).to_commit() == OffsetAndMetadata(3)


def test_flags_are_shown(owned: OwnedPartition) -> None:
    owned.seek(Position(10, 5))
    owned.is_paused = owned.is_held = True

    text = "<OwnedPartition a-0: AWAITING_VALIDATION, at 10 (epoch 5), paused, held>"
    assert repr(owned) == text


def test_the_last_of_the_errors_of_a_partition_is_kept_and_how_long_they_last(
    owned: OwnedPartition,
) -> None:
    owned.seek(Position(10))
    owned.failed(NotLeaderOrFollower(), now=5.0)
    first = owned.trouble
    owned.failed(KafkaStorageError(), now=8.0)

    assert first is not None
    assert (first.since, first.lasts) == (5.0, 0.0)
    assert owned.trouble is not None
    assert (owned.trouble.since, owned.trouble.lasts) == (5.0, 3.0)
    assert "KAFKA_STORAGE_ERROR" in owned.missing


@pytest.mark.parametrize(
    "step",
    [
        lambda owned: owned.seek(Position(20)),
        lambda owned: owned.reset(EARLIEST),
        lambda owned: owned.saw(20, 20, 0),
        lambda owned: owned.confirm(),
        lambda owned: owned.truncated(Position(5)),
    ],
)
def test_errors_are_forgotten_when_something_goes_well(
    owned: OwnedPartition, step: Callable[[OwnedPartition], None]
) -> None:
    owned.seek(Position(10, 5))
    owned.failed(NotLeaderOrFollower(), now=5.0)
    step(owned)

    assert owned.trouble is None
    assert "last" not in owned.missing


@pytest.mark.parametrize(
    "step",
    [
        lambda owned: owned.look_for_end(),
        lambda owned: owned.found_end(7),
        lambda owned: owned.settle_reset(7),
    ],
)
def test_errors_are_forgotten_at_each_step_of_a_reset(
    owned: OwnedPartition, step: Callable[[OwnedPartition], None]
) -> None:
    owned.reset(EARLIEST)
    owned.failed(NotLeaderOrFollower(), now=5.0)
    step(owned)

    assert owned.trouble is None
