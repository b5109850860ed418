"""Two queries over one topic, which go on until they are killed: to a journal, and to a topic."""

from __future__ import annotations

from tests.spark import clusters
from tests.spark.programs.told import Told
from tests.spark.queries import Journal, running, stream

IN_A_BATCH = 40


def main() -> None:
    told = Told.read()
    with clusters.session(told.file("session")) as spark:
        frame = stream(
            spark,
            told.kafka["kafka.bootstrap.servers"],
            told.source,
            maxOffsetsPerTrigger=IN_A_BATCH,
        )
        sink = {**told.kafka, "topic": told.target}
        with (
            running(frame, told.file("checkpoint-journal"), Journal(told.file("journal"))),
            running(frame.select("value"), told.file("checkpoint-topic"), sink),
        ):
            spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
