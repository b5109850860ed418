"""Who leads a partition, and who is in sync: as Kafka 4.3 with eligible leader replicas does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.broker.log import PartitionLog
from kafka_aio.broker.topics.partitions import NOBODY, Partition
from kafka_aio.broker.topics.topics import Topic
from kafka_aio.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    PreferredLeaderNotAvailable,
)
from tests.unit.broker.clusters import made


class Led:
    """A partition, and which of its nodes are up."""

    def __init__(self, replicas: Sequence[int], *, least: int = 1, unclean: bool = False) -> None:
        configs = {
            "min.insync.replicas": str(least),
            "unclean.leader.election.enable": str(unclean).lower(),
        }
        state = made()
        self.topic = Topic("t", state.topics.create("t").id)
        self.topic.configure(configs, state.configs.topic_values(configs))
        log = PartitionLog(segment_bytes=1_000)
        self.partition = Partition(self.topic, 0, list(replicas), log, isr=list(replicas))
        self.up = set(replicas)

    @property
    def is_up(self) -> Callable[[int], bool]:
        return self.up.__contains__

    def down(self, *nodes: int) -> None:
        for node in nodes:
            self.up.discard(node)
            self.partition.lose(node, self.is_up)

    def come_up(self, *nodes: int) -> None:
        for node in nodes:
            self.up.add(node)
            self.partition.regain(self.is_up)

    @property
    def roles(self) -> tuple[int, list[int], list[int]]:
        """Leader, in sync, eligible."""
        return self.partition.leader, self.partition.isr, self.partition.elr

    @property
    def epochs(self) -> tuple[int, int]:
        return self.partition.leader_epoch, self.partition.partition_epoch


def test_the_first_replica_leads_at_first() -> None:
    led = Led([2, 3, 1])

    assert led.roles == (2, [2, 3, 1], [])
    assert led.epochs == (0, 0)
    assert repr(led.partition) == "<Partition t-0 led by 2 in epoch 0>"


def test_when_the_leader_is_lost_the_next_replica_leads_in_the_next_epoch() -> None:
    led = Led([2, 3, 1])

    led.down(2)

    assert led.roles == (3, [3, 1], [])
    assert led.epochs == (1, 1)


def test_a_follower_that_is_lost_leaves_the_leader_and_its_epoch() -> None:
    led = Led([2, 3, 1])

    led.down(3)

    assert led.roles == (2, [2, 1], [])
    assert led.epochs == (0, 1)


def test_who_was_not_in_sync_is_not_missed() -> None:
    led = Led([1, 2])
    led.down(2)

    changed = led.partition.lose(2, led.is_up)

    assert not changed
    assert led.epochs == (0, 1)


def test_the_last_one_that_goes_stays_eligible_and_is_remembered() -> None:
    led = Led([1])

    led.down(1)

    assert led.roles == (NOBODY, [], [1])
    assert led.epochs == (1, 1)
    assert led.partition.last_leader == 1


def test_who_falls_out_below_the_least_number_in_sync_is_eligible() -> None:
    led = Led([1, 2, 3], least=2)

    led.down(1)
    with_enough = led.roles
    led.down(2)

    assert with_enough == (2, [2, 3], [])
    assert led.roles == (3, [3], [2])


def test_the_least_number_in_sync_is_never_more_than_the_replicas() -> None:
    led = Led([1], least=3)

    led.down(1)
    led.come_up(1)

    assert led.roles == (1, [1], [])


def test_who_comes_back_first_of_the_eligible_leads() -> None:
    led = Led([1, 2, 3], least=2)
    led.down(1, 2, 3)
    nobody = led.roles

    led.come_up(2)

    assert nobody == (NOBODY, [], [2, 3])
    assert led.roles == (2, [2], [3])
    assert led.partition.last_leader == NOBODY


def test_who_is_not_eligible_does_not_lead() -> None:
    led = Led([1, 2, 3], least=2)
    led.down(1, 2, 3)

    led.come_up(1)

    assert led.roles == (NOBODY, [], [2, 3])
    assert led.partition.last_leader == 3


def test_who_comes_back_is_in_sync_at_once_and_by_id() -> None:
    led = Led([3, 2, 1])
    led.down(2)

    led.come_up(2)

    assert led.roles == (3, [1, 2, 3], [])
    assert led.epochs == (0, 2)


def test_the_leader_does_not_change_when_the_preferred_one_comes_back() -> None:
    led = Led([1, 2])
    led.down(1)

    led.come_up(1)

    assert led.roles == (2, [1, 2], [])


def test_enough_in_sync_make_eligible_ones_needless() -> None:
    led = Led([1, 2, 3], least=2)
    led.down(1, 2)

    led.come_up(1)

    assert led.roles == (3, [1, 3], [])


def test_where_it_is_allowed_anyone_who_is_up_leads() -> None:
    led = Led([1, 2], unclean=True)
    led.down(2, 1)

    led.come_up(2)

    assert led.roles == (2, [2], [])


def test_the_preferred_leader_is_elected() -> None:
    led = Led([1, 2])
    led.down(1)
    led.come_up(1)

    led.partition.elect_preferred(led.is_up)

    assert led.roles == (1, [1, 2], [])
    assert led.epochs == (2, 3)


def test_the_preferred_leader_is_not_elected_twice() -> None:
    led = Led([1, 2])

    with pytest.raises(ElectionNotNeeded, match="Leader election not needed"):
        led.partition.elect_preferred(led.is_up)


def test_a_preferred_leader_that_is_down_cannot_be_elected() -> None:
    led = Led([1, 2])
    led.down(1)

    with pytest.raises(PreferredLeaderNotAvailable, match="preferred leader was not available"):
        led.partition.elect_preferred(led.is_up)

    assert led.roles == (2, [2], [])


def test_an_election_finds_whom_nobody_has_elected_yet() -> None:
    led = Led([1, 2, 3], least=2)
    led.down(1, 2, 3)
    led.up.add(3)

    led.partition.elect_preferred(led.is_up)

    assert led.roles == (3, [3], [2])


def test_an_unclean_election_is_not_needed_while_somebody_leads() -> None:
    led = Led([1, 2])

    with pytest.raises(ElectionNotNeeded):
        led.partition.elect_unclean(led.is_up)


def test_an_unclean_election_takes_anyone_who_is_up() -> None:
    led = Led([1, 2])
    led.down(2, 1)
    led.come_up(2)

    led.partition.elect_unclean(led.is_up)

    assert led.roles == (2, [2], [])


def test_after_an_unclean_election_all_who_are_up_are_in_sync() -> None:
    led = Led([1, 2, 3])
    led.down(2, 3, 1)
    led.come_up(3, 2)
    nobody = led.roles

    led.partition.elect_unclean(led.is_up)

    assert nobody == (NOBODY, [], [1])
    assert led.roles == (2, [2, 3], [])


def test_an_unclean_election_needs_somebody_who_is_up() -> None:
    led = Led([1])
    led.down(1)

    with pytest.raises(EligibleLeadersNotAvailable):
        led.partition.elect_unclean(led.is_up)


def test_a_leader_that_keeps_its_partition_begins_an_epoch_when_others_are_taken_out() -> None:
    led = Led([1, 2, 3])

    led.partition.reassign([2, 1], led.is_up)

    assert led.roles == (1, [1, 2], [])
    assert led.partition.replicas == [2, 1]
    assert led.epochs == (1, 1)


def test_more_replicas_need_no_other_epoch_of_the_leader() -> None:
    led = Led([2])
    led.up.add(1)

    led.partition.reassign([2, 1, 3], led.is_up)

    assert led.roles == (2, [1, 2], [])
    assert led.epochs == (0, 1)


def test_replicas_in_another_order_need_no_other_epoch_of_the_leader() -> None:
    led = Led([1, 2])

    led.partition.reassign([2, 1], led.is_up)

    assert led.roles == (1, [1, 2], [])
    assert led.partition.preferred_leader == 2
    assert led.epochs == (0, 1)


def test_who_is_taken_out_is_not_eligible_any_more() -> None:
    led = Led([1, 2, 3], least=3)
    led.down(2, 3)

    led.partition.reassign([1, 3], led.is_up)

    assert led.roles == (1, [1], [3])


def test_a_leader_that_loses_its_partition_is_followed_by_the_first_of_the_new() -> None:
    led = Led([1, 2])
    led.up.add(3)

    led.partition.reassign([3, 2], led.is_up)

    assert led.roles == (3, [2, 3], [])
    assert led.epochs == (1, 1)


def test_each_leader_begins_an_epoch_of_the_log_and_nobody_does_not() -> None:
    led = Led([1])
    led.down(1)
    without_leader = led.partition.log.epochs.latest

    led.come_up(1)

    assert without_leader == 0
    assert led.partition.log.epochs.latest == led.partition.leader_epoch == 2


def test_what_was_told_before_an_election_does_not_change_by_it() -> None:
    led = Led([1, 2, 3], least=2)
    led.down(1, 2, 3)
    told = led.partition.isr, led.partition.elr

    led.come_up(2)

    assert told == ([], [2, 3])


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_whatever_fails_the_rules_hold(seed: int, least: int, unclean: bool) -> None:
    chance = Random(seed)
    led = Led([1, 2, 3], least=least, unclean=unclean)
    for _ in range(30):
        before = led.epochs
        node = chance.randint(1, 3)
        if node in led.up:
            led.down(node)
        else:
            led.come_up(node)

        leader, isr, elr = led.roles
        assert set(isr) <= led.up, "who is down is not in sync"
        assert not set(isr) & set(elr)
        assert leader == NOBODY or leader in isr
        assert leader == NOBODY or set(isr) == led.up, "who is up is in sync"
        assert isr or elr, "somebody has all that was acknowledged"
        assert led.epochs >= before, "epochs only grow"
        assert led.epochs[0] <= led.epochs[1]
        if unclean:
            assert (leader == NOBODY) == (not led.up)
