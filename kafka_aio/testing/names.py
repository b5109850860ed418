"""Which addresses a host name stands for, when there is no system to ask.

Addresses stand for themselves, `localhost` for 127.0.0.1, and other names for what the test says.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import TypeAlias

SocketAddress: TypeAlias = tuple[str, int] | tuple[str, int, int, int]
AddressInfo: TypeAlias = tuple[
    socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]
]

_LOCALHOST = {"localhost": ["127.0.0.1"]}
_WILDCARDS = ("0.0.0.0", "::")  # what a server without a host listens on
_LOOPBACK = ("127.0.0.1", "::1")


class Names:
    """Host names and their addresses."""

    def __init__(self, hosts: Mapping[str, Iterable[str]]) -> None:
        self._hosts = {
            name.lower(): list(addresses) for name, addresses in (_LOCALHOST | {**hosts}).items()
        }

    def addresses(self, host: str | None, *, passive: bool = False) -> list[str]:
        """All addresses of a host, in their order.

        Raises:
            socket.gaierror: The name is not known.
            UnicodeError: It can be no name.
        """
        if not host:
            return list(_WILDCARDS if passive else _LOOPBACK)
        if host.lower() in self._hosts:
            return list(self._hosts[host.lower()])
        if not is_address(host):
            host.encode("idna")
            raise unknown_name()
        return [str(ip_address(host))]

    def getaddrinfo(
        self, host: str | None, port: int | str | None, family: int, flags: int
    ) -> list[AddressInfo]:
        """As the system's, for TCP.

        Raises:
            socket.gaierror: The name is not known, or has no address of that family.
            UnicodeError: It can be no name.
        """
        if isinstance(port, str) and not port.isdecimal():
            raise socket.gaierror(socket.EAI_SERVICE, "Servname not supported for ai_socktype")
        found = self.addresses(host, passive=bool(flags & socket.AI_PASSIVE))
        infos = [
            (family_of(each), socket.SOCK_STREAM, socket.IPPROTO_TCP, "", sockaddr(each, port))
            for each in found
            if family in (socket.AF_UNSPEC, family_of(each))
        ]
        if not infos:
            raise unknown_name()
        return infos

    def name_of(self, address: str) -> str | None:
        """The first name that stands for an address."""
        names = (name for name, addresses in self._hosts.items() if address in addresses)
        return next(names, None)


def unknown_name() -> socket.gaierror:
    return socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def family_of(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def sockaddr(address: str, port: int | str | None) -> SocketAddress:
    """The address as sockets have it."""
    number = int(port or 0)
    return (address, number, 0, 0) if ":" in address else (address, number)


def wildcard(address: str) -> str:
    """What a server listens on that takes connections to any address of the family."""
    return _WILDCARDS[":" in address]
