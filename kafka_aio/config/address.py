"""`bootstrap_servers`: from what people write to (host, port). Pure: no name is looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kafka_aio.config.option import Kind
from kafka_aio.errors import ConfigError

_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([\w.-]+)):([0-9]{1,5})")


class Servers(Kind):
    """Addresses of brokers: one str with commas, or a sequence of str; kept as a tuple."""

    takes = "a str such as 'host:9092,other:9092', or a sequence of them"

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            value = value.split(",") if value.strip() else []
        fits = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
        return tuple(each.strip() for each in value) if fits else self.REFUSED

    def show(self, value: object) -> str:
        """Without an entry that has an @: there may be a password before it."""
        return "[hidden]" if isinstance(value, str) and "@" in value else super().show(value)


def checked(servers: tuple[str, ...], security_protocol: str) -> tuple[str, ...]:
    """The addresses, each once, without the listener's protocol that some tools put before them.

    Raises:
        ConfigError: There is none, or one is not host:port.
    """
    if not servers:
        raise ConfigError(
            "bootstrap_servers is missing: name one or more brokers, such as 'localhost:9092'"
        )
    # A password with a comma in it has become two entries.
    hidden = any("@" in server for server in servers)
    return tuple(dict.fromkeys(_checked(each, security_protocol, hidden) for each in servers))


def split(servers: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """The host, without brackets, and the port of each."""
    for server in servers:
        host, _, port = server.rpartition(":")
        yield host.strip("[]"), int(port)


def _checked(server: str, security_protocol: str, hidden: bool) -> str:
    scheme, separator, address = server.rpartition("://")
    problem = _problem(address)
    if separator and scheme.upper() != security_protocol:
        problem = (
            "begins like a URL; leave that out and say in security_protocol how to connect"
            f" (it is {security_protocol!r})"
        )
    if problem:
        shown = "an entry (not shown)" if hidden else Servers().show(server)
        raise ConfigError(f"bootstrap_servers: {shown} {problem}")
    return address


def _problem(address: str) -> str:
    if not address:
        return "is empty; is there a comma too many?"
    match = _ADDRESS.fullmatch(address)
    if match:
        port_fits = 1 <= int(match[3]) <= 65535
        return "" if port_fits else "has a port outside 1 to 65535"
    if address.count(":") > 1 and not address.startswith("["):
        return "looks like an IPv6 address; put it in brackets, such as '[::1]:9092'"
    if not re.search(r":[^\]]*$", address):
        return "has no port; write 'host:port' (brokers mostly listen on 9092)"
    return "is not of the form 'host:port'"
