from __future__ import annotations

from itertools import pairwise

from kafka_aio.testing import VirtualLoop
from kafka_aio.testing.loop import START
from tests.unit.testing.pings import HOURS, play, trace
from tests.unit.testing.processes import printed

PINGS = "tests.unit.testing.pings"


def test_a_seed_gives_the_same_trace_in_each_process_and_another_seed_another() -> None:
    first = printed(PINGS, seed=7, hash_seed=1)
    here = [" ".join(map(str, event)) for event in trace(7)]
    other = [" ".join(map(str, event)) for event in trace(8)]

    assert len(first) > 1_000
    assert printed(PINGS, seed=7, hash_seed=2) == first
    assert here == first
    assert other != first


def test_a_trace_tells_the_story_of_a_connection() -> None:
    events = trace(1, hours=0.01)
    mine = [event.event for event in events if event.link == 1]

    assert events[0] == (START, "listens", 0, "127.0.0.1:30000")
    assert mine[:4] == ["connects", "connected", "sent", "received"]
    assert {"sent eof", "received eof"} <= set(mine)
    assert all(later.time >= event.time for event, later in pairwise(events))
    size, checksum = next(event.detail for event in events if event.event == "sent").split()[1:]
    assert size == "2"
    assert len(checksum) == 8


def test_who_was_cut_off_sends_no_end() -> None:
    events = trace(1)
    number = next(event.link for event in events if event.event == "cut")
    mine = [event.event for event in events if event.link == number]

    after = mine[mine.index("cut") + 1 :]
    assert after.count("received reset") == 2
    assert set(after) <= {"received", "received reset"}  # what had arrived can still be read


def test_without_a_trace_nothing_is_kept() -> None:
    with VirtualLoop(1) as loop:
        loop.run_until_complete(play(loop, HOURS))

        assert loop.trace == []
        assert loop.time() > START + HOURS * 3_600
