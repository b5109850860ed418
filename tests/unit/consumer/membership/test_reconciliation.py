from __future__ import annotations

from kafka_aio.consumer.membership.member import Assign, Revoke
from kafka_aio.consumer.membership.reconciliation import Reconciliation
from kafka_aio.protocol.schema import Uuid
from tests.unit.consumer.membership.coordinated import partitions, topic_id

OLD, NEW, U = topic_id("old"), topic_id("new"), topic_id("u")


def reconcile(it: Reconciliation) -> list[Revoke | Assign]:
    """Do all steps there are."""
    steps = []
    while step := it.begin():
        it.done(step)
        steps.append(step)
    return steps


def owning(names: dict[Uuid, str], *slots: tuple[Uuid, int]) -> Reconciliation:
    it = Reconciliation(names.get)
    it.aim_at(frozenset(slots))
    reconcile(it)
    it.must_acknowledge = False
    return it


def test_a_topic_made_anew_is_another_one() -> None:
    it = owning({OLD: "t", NEW: "t", U: "u"}, (OLD, 0), (U, 0))

    it.aim_at(frozenset({(NEW, 0), (U, 0)}))
    revoke, assign = reconcile(it)

    assert isinstance(assign, Assign)
    assert (revoke.partitions, assign.added) == (partitions(t=[0]), partitions(t=[0]))
    assert assign.partitions == partitions(t=[0], u=[0])
    assert [each.topic_id for each in it.topic_partitions()] == [NEW, U]


def test_names_that_the_metadata_forgets_are_kept_as_long_as_they_are_needed() -> None:
    names = {OLD: "t", U: "u"}
    it = owning(names, (OLD, 0), (U, 0))

    names.clear()
    it.aim_at(frozenset({(OLD, 0), (OLD, 1)}))
    revoke, assign = reconcile(it)

    assert (revoke.partitions, assign.partitions) == (partitions(u=[0]), partitions(t=[0, 1]))
    assert not it.unresolved

    it.aim_at(frozenset())
    it.aim_at(frozenset({(OLD, 0)}))

    assert not it.unresolved

    it.aim_at(frozenset({(U, 0)}))

    assert it.unresolved == {U}


def test_a_first_target_without_names_is_not_told_as_an_empty_one() -> None:
    names: dict[Uuid, str] = {}
    it = Reconciliation(names.get)
    it.aim_at(frozenset({(U, 0)}))

    assert it.begin() is None
    assert it.unresolved == {U}
    assert not it.is_reconciled

    names[U] = "u"
    it.metadata_changed()

    assert [each.partitions for each in reconcile(it)] == [partitions(u=[0])]
    assert it.is_reconciled


def test_what_is_not_resolved_does_not_keep_what_is_to_be_revoked() -> None:
    it = owning({OLD: "t"}, (OLD, 0))

    it.aim_at(frozenset({(U, 0)}))
    steps = reconcile(it)

    assert [(type(each), each.partitions) for each in steps] == [
        (Revoke, partitions(t=[0])),
        (Assign, ()),
    ]
    assert it.must_acknowledge


def test_a_target_that_is_owned_already_is_acknowledged_without_a_step() -> None:
    it = owning({OLD: "t"}, (OLD, 0))

    it.aim_at(frozenset({(OLD, 1)}))
    it.aim_at(frozenset({(OLD, 0)}))

    assert it.can_begin
    assert it.begin() is None
    assert (it.must_acknowledge, it.is_reconciled, it.can_begin) == (True, True, False)


def test_a_step_of_another_life_changes_nothing() -> None:
    it = owning({OLD: "t"}, (OLD, 0))
    step = it.lose()
    assert step is not None
    it.forget()

    it.done(step)

    assert (it.owned, it.can_lose, it.begin()) == (frozenset(), False, None)
