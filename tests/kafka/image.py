"""The image of the containers: a Kafka that is put together from what is on this machine.

Nothing is pulled: a small Java runtime, the libraries that it needs, busybox and Kafka's jars.
It is told its settings as apache/kafka is, by Kafka's own class for that: `KAFKA_NODE_ID=1`.

`python -m tests.kafka.image` builds it ahead of a test run, unless it is there.
"""

from __future__ import annotations

import gc
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kafka import jars, jvm

if TYPE_CHECKING:
    from testcontainers.core.docker_client import DockerClient

NAME = "kafka-aio/kafka"
NOBODY = 65534
SOCKET = "unix:///var/run/docker.sock"

# java.desktop is there for its beans. What it draws with is left out below.
_MODULES = """
java.base java.logging java.management java.naming java.security.jgss java.security.sasl java.sql
java.xml java.net.http java.desktop jdk.crypto.ec jdk.management jdk.unsupported jdk.zipfs
"""
_DRAWING = "awt* fontmanager freetype javajpeg jawt jsound lcms mlib_image splashscreen"

_START = """\
#!/bin/sh
set -e
cd /opt/kafka
{setup} --default-configs-dir config --mounted-configs-dir config --final-configs-dir config
exec {serve} config/server.properties
"""
_CHANGES = [
    'CMD ["/opt/kafka/start.sh"]',
    "USER nobody",
    "ENV PATH=/opt/jre/bin:/bin",
    "ENV CLASSPATH=/opt/kafka/libs/*",
]


class DockerMissing(Exception):
    """No container can be had here; the message is a line that says what to install or set."""


class PartsMissing(Exception):
    """The image cannot be put together; the message is a line that says what to install."""


@contextmanager
def engine() -> Iterator[DockerClient]:
    """The Docker engine that answers, as testcontainers finds it.

    Raises:
        DockerMissing: There is none, or no testcontainers.
    """
    with warnings.catch_warnings():
        # Of a connection that failed, docker leaves the socket to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        found = _connect()
        if isinstance(found, str):
            gc.collect()
            raise DockerMissing(found)
    with closing(found.client):
        yield found


def _connect() -> DockerClient | str:
    """The engine, or what to do about it; no exception, which would hold on to the socket."""
    try:  # neither is there in the environments of the other Pythons
        from docker.errors import DockerException  # type: ignore[import-untyped]  # has no types
        from testcontainers.core.docker_client import DockerClient, get_docker_host
    except ImportError:
        return "install Docker and, from requirements/test.txt, testcontainers"
    try:
        return DockerClient()
    except DockerException as error:
        reason: BaseException = error
        while reason.__context__:
            reason = reason.__context__
        why = f"none answers at {get_docker_host() or SOCKET} ({reason})"
        return f"start a Docker engine or set DOCKER_HOST: {why}"


def build(version: str = jars.VERSION) -> str:
    """The name of the image with that Kafka, built on first use.

    Raises:
        DockerMissing: No engine answers.
        JarsMissing: The jars are not in the cache and cannot be fetched.
        PartsMissing: Another part of it is not on this machine.
    """
    name = f"{NAME}:{version}"
    with engine() as docker:
        if docker.client.images.list(name):
            return name
        with tempfile.TemporaryDirectory() as scratch:
            root, archive = Path(scratch) / "root", Path(scratch) / "root.tar"
            _assemble(root, jars.libs(version))
            with tarfile.open(archive, "w") as tar:
                tar.add(root, "/", filter=_for_nobody)
            answer: str = docker.client.api.import_image_from_file(
                str(archive), repository=NAME, tag=version, changes=_CHANGES
            )
    assert "errorDetail" not in answer, answer
    return name


def _assemble(root: Path, libs: Path) -> None:
    """Fill a folder with the file system of a container."""
    jre, kafka, shell = root / "opt" / "jre", root / "opt" / "kafka", root / "bin" / "sh"
    modules = ",".join(_MODULES.split())
    _run("jlink", "--no-header-files", "--no-man-pages", "--add-modules", modules, "--output", jre)
    for pattern in _DRAWING.split():
        for library in (jre / "lib").glob(f"lib{pattern}.so"):
            library.unlink()
    _run(jre / "bin" / "java", "-Xshare:dump")  # without it, a JVM starts more slowly

    for folder in ("bin", "etc", "tmp", "opt/kafka/config"):
        (root / folder).mkdir(parents=True)
    shutil.copy(_tool("busybox"), shell)
    (root / "etc" / "passwd").write_text(f"nobody:x:{NOBODY}:{NOBODY}::/tmp:/bin/sh\n")
    shutil.copytree(libs, kafka / "libs")
    setup = jvm.command("kafka.docker.KafkaDockerWrapper", "setup", scratch=kafka)
    serve = jvm.command("kafka.Kafka", scratch=kafka, options=["$KAFKA_HEAP_OPTS"])
    start = _START.format(setup=" ".join(setup), serve=" ".join(serve))
    (kafka / "start.sh").write_text(start.replace(str(root), ""))
    (kafka / "start.sh").chmod(0o755)

    with tempfile.TemporaryDirectory() as scratch:
        binaries = [jre / "bin" / "java", *jre.rglob("*.so"), shell, *_packed(libs, Path(scratch))]
        for library in _libraries(binaries, jre):
            copy = root / library.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copy)


def _packed(libs: Path, folder: Path) -> Iterator[Path]:
    """The native libraries for this machine that jars bring, of compression, unpacked."""
    machine = {"x86_64": {"x86_64", "amd64"}}.get(platform.machine(), {platform.machine()})
    for jar in libs.glob("*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                *_, system, architecture, file = ["", "", *name.lower().split("/")]
                if file.endswith(".so") and system == "linux" and architecture in machine:
                    yield Path(archive.extract(name, folder))


def _libraries(binaries: Iterable[Path], jre: Path) -> set[Path]:
    """The libraries of this machine that the binaries are linked with.

    Raises:
        PartsMissing: One is not there.
    """
    environment = {**os.environ, "LD_LIBRARY_PATH": str(jre / "lib" / "server"), "LC_ALL": "C"}
    done = subprocess.run(
        [_tool("ldd"), *binaries], env=environment, capture_output=True, text=True, check=False
    )  # which fails when one of them, like a static busybox, is linked with none
    found = set()
    for line in done.stdout.splitlines():
        if "not found" in line:
            raise PartsMissing(f"the Java runtime needs a library: {line.strip()}")
        path = line.partition("=>")[2] or line
        if path.strip().startswith("/") and "(0x" in path:
            found.add(Path(path.split()[0]))
    return {library for library in found if not library.is_relative_to(jre)}


def _for_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """All files are his who runs Kafka there, whoever has them here."""
    entry.uid = entry.gid = NOBODY
    return entry


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PartsMissing(f"`{name}` is not there: install a JDK 17, busybox and glibc's ldd")
    return found


def _run(program: str | Path, *arguments: str | Path) -> None:
    command = [_tool(str(program)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise PartsMissing(f"{program} failed: {' '.join((done.stdout + done.stderr).split())}")


def main() -> None:
    print(f"{NAME}:{jars.VERSION}: building it unless it is there ...", flush=True)
    start = time.monotonic()
    try:
        name = build()
    except (DockerMissing, PartsMissing, jars.JarsMissing) as missing:
        sys.exit(str(missing))
    print(f"{name}: ready after {time.monotonic() - start:.1f} s (`docker rmi` to build it anew)")


if __name__ == "__main__":
    main()
