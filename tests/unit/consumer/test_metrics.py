"""The names of numbers."""

from __future__ import annotations

from kafka_aio.consumer.metrics import by_name, lags
from kafka_aio.observability.registry import Registry
from tests.unit.consumer.owned import A0, A1, B0, fetching


def test_numbers_with_other_labels_have_other_names() -> None:
    registry = Registry()
    registry.counter("requests", "Sent.", node=1, api="Fetch").add(2)
    registry.counter("requests", "Sent.", node=2, api="Fetch").add(3)
    registry.gauge("connections", "Ready.").set(4)
    registry.histogram("latency", "Of requests.").observe(1)

    assert by_name(registry.snapshot()) == {
        "connections": 4.0,
        'requests{api="Fetch",node="1"}': 2.0,
        'requests{api="Fetch",node="2"}': 3.0,
    }


def test_a_label_may_hold_anything() -> None:
    registry = Registry()
    registry.counter("calls", "Made.", of='a"b\\c\nd')

    assert by_name(registry.snapshot()) == {r'calls{of="a\"b\\c\nd"}': 0.0}


def test_the_lag_is_that_of_partitions_of_which_it_is_known() -> None:
    subscription = fetching(B0, A1, A0, at=10)
    for name, end in ((A0, 15), (B0, 10)):
        subscription.partitions[name].saw(end, end - 2, 0)

    assert by_name([lags(subscription, read_committed=False)]) == {
        'partition_lag{partition="0",topic="a"}': 5.0,
        'partition_lag{partition="0",topic="b"}': 0.0,
    }
    assert by_name([lags(subscription, read_committed=True)]) == {
        'partition_lag{partition="0",topic="a"}': 3.0,
        'partition_lag{partition="0",topic="b"}': 0.0,
    }
