"""`kafka-aio groups` on real Kafka, new and old, and beside Kafka's own program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from kafka_aio import Admin, OffsetAndMetadata, TopicPartition
from tests.broker.filled import filled, fresh
from tests.kafka import members
from tests.kafka.cluster import Cluster
from tests.unit.cli.shell import Outcome, call

GROUPS_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

Shell = Callable[..., Outcome]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], each_kafka: Cluster) -> Shell:
    def run(*argv: object) -> Outcome:
        outcome = call(capsys, "groups", *argv, "-b", each_kafka.bootstrap)
        assert "Traceback" not in outcome.err
        return outcome

    return run


class World:
    """A topic with two partitions of five records, and what is done beside the shell."""

    def __init__(self, bootstrap: str) -> None:
        self._runner = asyncio.Runner()
        self._admin = Admin(bootstrap_servers=bootstrap, client_id="tests")
        self._runner.run(self._admin.start())
        self.partitions = self._runner.run(filled(self._admin))
        self.topic = self.partitions[0].topic

    def close(self) -> None:
        self._runner.run(self._admin.aclose())
        self._runner.close()

    def commit(self, group: str, *offsets: int) -> None:
        given = dict(zip(self.partitions, offsets, strict=False))
        result = self._runner.run(self._admin.alter_group_offsets(group, given))
        assert set(result.values()) == {None}

    def join(self, group: str, instance: str | None = None) -> members.Member:
        return self._runner.run(
            members.join(self._admin, group, self.partitions, instance=instance)
        )

    def committed(self, group: str) -> dict[TopicPartition, int]:
        found = self._runner.run(self._admin.list_group_offsets([group]))[group]
        assert isinstance(found, dict)
        return {
            each: offset.offset
            for each, offset in found.items()
            if isinstance(offset, OffsetAndMetadata)
        }


@pytest.fixture
def world(each_kafka: Cluster) -> Iterator[World]:
    world = World(each_kafka.bootstrap)
    yield world
    world.close()


def test_a_group_without_members_is_shown_with_its_lag(shell: Shell, world: World) -> None:
    group = fresh("idle")
    world.commit(group, 3, 1)

    listed = shell("list", "--state", "empty")
    described = shell("describe", group)
    offsets = shell("offsets", group, "--json").document

    assert (listed.code, described.code) == (0, 0)
    assert [group, "Classic", "Empty"] in [line.split()[:3] for line in listed.out.splitlines()]
    headline, names, *rows = described.out.splitlines()
    assert headline.startswith(f"{group}: Classic, Empty, coordinator 127.0.0.1:")
    assert headline.endswith("0 members, lag 6")
    assert names.split() == ["topic", "partition", "committed", "end", "lag"]
    assert [row.split()[1:] for row in rows] == [["0", "3", "5", "2"], ["1", "1", "5", "4"]]
    (entry,) = offsets["groups"]
    assert (entry["group"], entry["lag"]) == (group, 6)


def test_the_lag_is_what_kafkas_own_program_says(
    shell: Shell, world: World, each_kafka: Cluster
) -> None:
    group = fresh("lag")
    world.commit(group, 3, 1)
    member = world.join(group, "i-1")

    printed = each_kafka.tool(
        GROUPS_TOOL, "--bootstrap-server", each_kafka.bootstrap, "--describe", "--group", group
    )
    (ours,) = shell("describe", group, "--json").document["groups"]

    rows = [line.split() for line in printed.splitlines() if line.startswith(group)]
    theirs = sorted(
        # group, topic, partition, [leader epoch,] offset, end, lag, member, host, client
        (row[1], int(row[2]), int(row[-6]), int(row[-5]), int(row[-4]), row[-3], row[-1])
        for row in rows
    )
    (its,) = ours["members"]
    owners = {(each["topic"], each["partition"]): its for each in its["assignment"]}
    assert theirs == [
        (
            each["topic"],
            each["partition"],
            each["committed"],
            each["end"],
            each["lag"],
            owners[each["topic"], each["partition"]]["member"],
            its["client"],
        )
        for each in ours["offsets"]
    ]
    assert (its["member"], its["instance"], ours["state"]) == (member.id, "i-1", "Stable")


def test_a_reset_is_shown_and_done_when_it_is_told_to(shell: Shell, world: World) -> None:
    group = fresh("reset")
    world.commit(group, 3)

    looked = shell("reset", group, "--topic", world.topic, "--to-latest")
    untouched = world.committed(group)
    done = shell("reset", group, "--topic", f"{world.topic}:1", "--to-offset", 2, "--execute")
    shifted = shell("reset", group, "--all-topics", "--shift-by", -1, "--execute", "--json")

    first, second = world.partitions
    assert looked.out.splitlines()[0] == f"{group}: 2 offsets would be moved"
    assert "nothing was changed; --execute does it" in looked.err
    assert untouched == {first: 3}
    assert [line.split()[1:] for line in done.out.splitlines()[2:]] == [["1", "-", "2"]]
    assert (looked.code, done.code, shifted.code) == (0, 0, 0)
    assert shifted.document["executed"] is True
    assert world.committed(group) == {first: 2, second: 1}


def test_a_group_with_members_is_not_reset_or_deleted(shell: Shell, world: World) -> None:
    group = fresh("busy")
    world.join(group)

    reset = shell("reset", group, "--topic", world.topic, "--to-latest", "--execute")
    deleted = shell("delete", group, "--yes")
    forgotten = shell("delete-offsets", group, "--topic", f"{world.topic}:0", "--yes")

    assert (reset.code, deleted.code, forgotten.code) == (1, 1, 1)
    for outcome in (reset, deleted):
        assert outcome.err == (
            f"kafka-aio: error: group '{group}': The group still has members; stop them first"
            " (NON_EMPTY_GROUP, code 68)\n"
        )
    assert "The group is subscribed to the topic" in forgotten.err


def test_members_are_removed_and_the_group_is_deleted(shell: Shell, world: World) -> None:
    group, missing = fresh("gone"), fresh("never-there")
    world.join(group, "i-1")

    removed = shell("remove-members", group, "--instance-id", "i-1", "--reason", "tests")
    again = shell("remove-members", group, "--all", "--yes")
    world.commit(group, 3, 1)
    forgotten = shell("delete-offsets", group, "--topic", world.topic, "--yes")
    nothing = shell("delete-offsets", group, "--topic", world.topic, "--yes")
    world.commit(group, 3)  # in 3.9 a group goes with its last offset
    deleted = shell("delete", group, missing, "--yes")
    tolerant = shell("delete", missing, "--yes", "--if-exists")

    assert (removed.code, removed.out) == (0, f"{group}: 1 member removed\n")
    assert (again.code, again.out) == (0, f"{group}: 0 members removed\n")
    assert (forgotten.code, forgotten.out) == (0, f"{group}: 2 offsets deleted\n")
    assert nothing.code == 1
    assert f"group '{group}' has committed nothing for these topics" in nothing.err
    assert (deleted.code, deleted.out) == (1, f"{group}: deleted\n")
    assert f"group '{missing}': There is no such group" in deleted.err
    assert (tolerant.code, tolerant.out) == (0, f"{missing}: it was not there\n")


def test_what_does_not_exist_is_said_in_a_line(shell: Shell) -> None:
    missing = fresh("never-there")

    described = shell("describe", missing)
    reset = shell("reset", missing, "--topic", missing, "--to-latest")
    everything = shell("describe", "--all", "--json")

    assert (described.code, described.out, described.err.count("\n")) == (1, "", 1)
    assert f"group '{missing}': There is no such group" in described.err
    assert (reset.code, reset.out, reset.err.count("\n")) == (1, "", 1)
    assert f"topic '{missing}': The broker has no such topic or partition" in reset.err
    assert everything.code == 0
    assert missing not in {each["group"] for each in everything.document["groups"]}
