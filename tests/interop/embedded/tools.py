"""Kafka's own programs, all in one JVM: to start one for each would take most of the time."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from tests.kafka import jvm

_SOURCE = str(Path(__file__).with_name("Tools.java"))
_NAMES = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "client-compatibility": "org.apache.kafka.tools.ClientCompatibilityTest",
}
"""As the scripts of Kafka are called, without the "kafka-"; and the classes that they run."""


class Printed(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


class Tools:
    """A JVM that runs one program after the other, each on the given cluster."""

    def __init__(self, bootstrap: str, scratch: Path) -> None:
        self.bootstrap = bootstrap
        self.scratch = scratch
        with (scratch / "tools.log").open("w") as log:
            self._process = subprocess.Popen(
                jvm.command(_SOURCE, scratch=scratch),
                env=jvm.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="ascii",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, name: str, *arguments: str, given: str = "") -> Printed:
        """Run the program of Kafka's script of that name to its end."""
        words = [_NAMES[name], "--bootstrap-server", self.bootstrap, *arguments, given]
        _pipe(self._process.stdin).write(" ".join(map(_encoded, words)) + "\n")
        _pipe(self._process.stdin).flush()
        line = _pipe(self._process.stdout).readline()
        assert line, (self.scratch / "tools.log").read_text()
        code, out, err = line.removesuffix("\n").split(" ")
        return Printed(int(code), _decoded(out), _decoded(err))

    def printed(self, name: str, *arguments: str, given: str = "") -> str:
        """What a program prints that ends well."""
        ended = self.run(name, *arguments, given=given)
        assert ended.code == 0, ended
        return ended.out

    def started(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        """A program in a JVM of its own, beside which others run."""
        words = (_NAMES[name], "--bootstrap-server", self.bootstrap, *arguments)
        return subprocess.Popen(
            jvm.command(*words, scratch=self.scratch),
            env=jvm.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )


def _pipe(pipe: IO[Any] | None) -> IO[Any]:
    assert pipe is not None
    return pipe


def _encoded(word: str) -> str:
    return base64.b64encode(word.encode()).decode()


def _decoded(word: str) -> str:
    return base64.b64decode(word).decode()
