"""A Kerberos server (MIT's krb5kdc) on loopback, with files of its own and no system service."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from tests.kafka.node import HOST, free_ports
from tests.kafka.process import Process

REALM = "KAFKA-AIO.TEST"
START_SECONDS = 20
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"

# Names are taken as they are: no reverse look-up decides which broker that is.
_KRB5_CONF = """\
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1

[realms]
{realm} = {{
  kdc = {host}:{port}
}}
"""
_KDC_CONF = """\
[kdcdefaults]
kdc_listen = {host}:{port}
kdc_tcp_listen = {host}:{port}

[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 1h
}}

[logging]
kdc = FILE:{folder}/kdc.log
"""


def missing() -> str | None:
    """What is not here, in a line; None if all is."""
    if shutil.which("krb5kdc", path=_PATH) is None:
        return "Kerberos needs krb5kdc: install krb5-kdc, krb5-admin-server and krb5-user"
    if find_spec("gssapi") is None:
        return "Kerberos needs the gssapi package: pip install gssapi, with libkrb5-dev in place"
    return None


class Kdc:
    """One realm, its database and its server.

    Attributes:
        config: The krb5.conf by which clients and brokers find it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "krb5.conf"
        self._process: Process | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        return {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}

    def log(self) -> str:
        return (self.folder / "kdc.log").read_text()

    def start(self) -> None:
        """Make the realm, with nobody in it, and serve it."""
        (port,) = free_ports(1)
        facts = {"realm": REALM, "host": HOST, "port": port, "folder": self.folder}
        self.config.write_text(_KRB5_CONF.format(**facts))
        (self.folder / "kdc.conf").write_text(_KDC_CONF.format(**facts))
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._process = Process(
            [_path_of("krb5kdc"), "-n"],
            environment=os.environ | self.environment,
            log=self.folder / "krb5kdc.log",
        )
        deadline = time.monotonic() + START_SECONDS
        while not _listens(port):
            assert self._process.is_running, (self.folder / "krb5kdc.log").read_text()
            assert time.monotonic() < deadline, f"no answer in {START_SECONDS} s"
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def keytab(self, principal: str) -> Path:
        """A file with the key of a new principal."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        for query in (f"addprinc -randkey {principal}", f"ktadd -k {file} {principal}"):
            self.run("kadmin.local", "-r", REALM, "-q", query)
        return file

    def run(self, program: str, *arguments: str) -> None:
        """Run one of Kerberos' programs, to its good end."""
        done = subprocess.run(
            [_path_of(program), *arguments],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


def _path_of(program: str) -> str:
    found = shutil.which(program, path=_PATH)
    assert found is not None, f"{program} is not installed"
    return found


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
