"""The numbers of a consumer, each under a name of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_aio.consumer.position import OwnedPartition
from kafka_aio.observability.registry import Family, Kind, Labels, Sample


def by_name(families: Iterable[Family]) -> dict[str, float]:
    """The numbers by name; labels follow it as in Prometheus: `lag{partition="0",topic="t"}`."""
    return {
        family.name + _written(sample.labels): float(sample.value)
        for family in families
        for sample in family.samples
        if isinstance(sample.value, int | float)
    }


def lags(assignment: Iterable[OwnedPartition], *, read_committed: bool) -> Family:
    """How far behind each partition is, where that is known."""
    found = {each.partition: each.lag(read_committed=read_committed) for each in assignment}
    samples = tuple(
        Sample((("partition", str(name.partition)), ("topic", name.topic)), lag)
        for name, lag in sorted(found.items())
        if lag is not None
    )
    return Family("partition_lag", Kind.GAUGE, "Records ahead in a partition.", samples)


def _written(labels: Labels) -> str:
    text = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
