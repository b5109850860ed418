from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_aio.observability.registry import (
    BOUNDS,
    Counter,
    Distribution,
    Family,
    Gauge,
    Histogram,
    Kind,
    Registry,
    Sample,
)

VALUES = st.floats(BOUNDS[0], BOUNDS[-1], exclude_min=True)


def observed(*values: float) -> Distribution:
    histogram = Registry().histogram("seconds", "")
    for value in values:
        histogram.observe(value)
    return histogram.now


def test_a_counter_counts() -> None:
    counter = Registry().counter("requests", "Requests sent.")

    counter.add()
    counter.add(2)
    counter.value += 3

    assert counter.value == counter.now == 6


def test_a_gauge_is_what_it_was_last_set_to() -> None:
    gauge = Registry().gauge("connections", "Connections that are ready.")

    gauge.set(5)
    gauge.set(3)

    assert gauge.value == gauge.now == 3


def test_a_number_that_is_kept_elsewhere_is_read_when_somebody_looks() -> None:
    registry = Registry()
    queue: list[int] = []
    registry.gauge("queue", "", read=lambda: len(queue))
    registry.counter("sent", "", read=lambda: 10 * len(queue))
    queue.append(1)

    assert [family.samples for family in registry.snapshot()] == [
        (Sample((), 1),),
        (Sample((), 10),),
    ]


def test_asking_again_gives_the_same_metric_and_leaves_where_it_is_read() -> None:
    registry = Registry()
    counter = registry.counter("requests", "Requests sent.", node=1, api="fetch")
    gauge = registry.gauge("queue", "", read=lambda: 7)

    assert registry.counter("requests", "", api="fetch", node="1") is counter
    assert registry.gauge("queue", "") is gauge
    assert gauge.now == 7
    assert registry.histogram("seconds", "") is registry.histogram("seconds", "")


def test_other_labels_are_another_metric() -> None:
    registry = Registry()

    assert registry.counter("requests", "", node=1) is not registry.counter("requests", "", node=2)


def test_a_name_has_one_kind() -> None:
    registry = Registry()
    registry.counter("requests", "")

    with pytest.raises(ValueError, match="metric 'requests' is a counter, not a gauge"):
        registry.gauge("requests", "")
    with pytest.raises(ValueError, match="metric 'requests' is a counter, not a histogram"):
        registry.histogram("requests", "")


def test_a_name_has_one_set_of_labels() -> None:
    registry = Registry()
    registry.counter("requests", "", node=1)

    with pytest.raises(ValueError, match=r"has the labels \('node',\), not \('api', 'node'\)"):
        registry.counter("requests", "", api="fetch", node=1)
    with pytest.raises(ValueError, match=r"has the labels \('node',\), not \(\)"):
        registry.counter("requests", "")


@pytest.mark.parametrize("name", ["", "Requests", "1st", "a-b", "a b", "_a", "ä", "a\n"])
def test_names_and_labels_are_in_snake_case(name: str) -> None:
    registry = Registry()

    with pytest.raises(ValueError, match="is not in snake case"):
        registry.counter(name, "")
    with pytest.raises(ValueError, match=r"metric 'fine': .* is not in snake case"):
        registry.counter("fine", "", **{name: "x"})  # type: ignore[arg-type]  # no `read`
    assert registry.snapshot() == ()


def test_a_label_may_have_the_name_of_a_parameter() -> None:
    counter = Registry().counter("requests", "", name="a", help="b")

    assert counter.now == 0


def test_labels_beyond_the_limit_share_a_metric() -> None:
    registry = Registry(max_series=2)
    first = registry.counter("records", "", topic="a", node=1)
    registry.counter("records", "", topic="b", node=1)

    beyond = registry.counter("records", "", topic="c", node=1)

    assert registry.counter("records", "", topic="d", node=9) is beyond
    assert registry.counter("records", "", topic="a", node=1) is first
    (family,) = registry.snapshot()
    assert [sample.labels for sample in family.samples] == [
        (("node", "1"), ("topic", "a")),
        (("node", "1"), ("topic", "b")),
        (("node", "other"), ("topic", "other")),
    ]


def test_the_limit_is_a_thousand_for_each_name() -> None:
    registry = Registry()
    for name in ("records", "batches"):
        for topic in range(1_500):
            registry.counter(name, "", topic=topic).add()

    for family in registry.snapshot():
        values = {sample.labels: sample.value for sample in family.samples}
        assert len(values) == 1_001
        assert values[("topic", "other"),] == 500


def test_a_snapshot_is_sorted_and_does_not_change() -> None:
    registry = Registry()
    registry.gauge("z", "The last.").set(1.5)
    requests = registry.counter("requests", "Requests sent.", node="b")
    registry.counter("requests", "Another text.", node="a")
    registry.histogram("latency_seconds", "Time.").observe(0.5)

    snapshot = registry.snapshot()
    requests.add()

    counts = [0] * (len(BOUNDS) + 1)
    counts[29] = 1
    assert snapshot == (
        Family(
            "latency_seconds",
            Kind.HISTOGRAM,
            "Time.",
            (Sample((), Distribution(tuple(counts), 0.5)),),
        ),
        Family(
            "requests",
            Kind.COUNTER,
            "Requests sent.",
            (Sample((("node", "a"),), 0), Sample((("node", "b"),), 0)),
        ),
        Family("z", Kind.GAUGE, "The last.", (Sample((), 1.5),)),
    )
    assert registry.snapshot() != snapshot
    assert hash(snapshot) == hash(tuple(snapshot))


def test_the_bounds_of_histograms_are_five_for_each_power_of_ten() -> None:
    assert BOUNDS[0] == 1e-6
    assert BOUNDS[30] == 1.0
    assert BOUNDS[35] == 10.0
    assert BOUNDS[-1] == 1e10
    assert all(1.5 < high / low < 1.6 for low, high in pairwise(BOUNDS))


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(-1.0, 0), (0.0, 0), (1e-6, 0), (1.0, 30), (1.0001, 31), (1e10, 80), (1e11, 81)],
)
def test_a_value_falls_into_the_first_bucket_whose_bound_it_does_not_pass(
    value: float, bucket: int
) -> None:
    seen = observed(value)

    assert [at for at, count in enumerate(seen.counts) if count] == [bucket]
    assert seen.count == 1
    assert seen.sum == value


def test_a_distribution_of_nothing_is_zero() -> None:
    assert observed().count == 0
    assert observed().sum == 0
    assert observed().quantile(0.5) == 0


def test_a_quantile_lies_in_the_bucket_of_its_rank() -> None:
    seen = observed(*[0.5] * 90, *[50.0] * 10)

    assert BOUNDS[28] < seen.quantile(0.5) < BOUNDS[29]
    assert seen.quantile(0.9) == BOUNDS[29]
    assert BOUNDS[38] < seen.quantile(0.95) < BOUNDS[39]
    assert seen.quantile(1.0) == BOUNDS[39]


def test_a_quantile_beyond_the_last_bound_is_that_bound() -> None:
    assert observed(1.0, 1e11).quantile(1.0) == 1e10
    assert observed(1e11).quantile(0.0) == 1e10


@given(st.lists(VALUES, min_size=1, max_size=50), st.floats(0.01, 1.0))
def test_a_quantile_is_wrong_by_a_factor_of_1_6_at_most(values: list[float], part: float) -> None:
    estimate = observed(*values).quantile(part)
    rank = part * len(values)
    exact = next(value for at, value in enumerate(sorted(values), start=1) if at >= rank)

    assert exact / 1.6 <= estimate <= exact * 1.6


@pytest.mark.parametrize("part", [-0.1, 1.1, float("nan")])
def test_a_quantile_is_a_part_of_the_whole(part: float) -> None:
    with pytest.raises(ValueError, match="a quantile is from 0 to 1, not"):
        observed(1.0).quantile(part)


@pytest.mark.parametrize("cls", [Counter, Gauge, Histogram])
def test_a_metric_is_small(cls: type[Counter] | type[Gauge] | type[Histogram]) -> None:
    assert not hasattr(cls(), "__dict__")


def test_a_repr_tells_the_state_in_one_line() -> None:
    registry = Registry()
    registry.counter("requests", "", node=1).add(5)
    registry.counter("requests", "", node=2)
    registry.gauge("queue", "").set(2.5)
    registry.histogram("seconds", "").observe(1.0)

    assert repr(registry) == "<Registry: 3 names, 4 metrics>"
    assert repr(registry.counter("requests", "", node=1)) == "<Counter 5>"
    assert repr(registry.gauge("queue", "")) == "<Gauge 2.5>"
    assert repr(registry.histogram("seconds", "")) == "<Histogram of 1>"
