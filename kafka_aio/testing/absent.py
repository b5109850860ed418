"""What a virtual loop has not, and how it says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

L = TypeVar("L", bound=asyncio.AbstractEventLoop)

_TLS: Final = "TLS: OpenSSL takes its time and its random numbers from the system"
_ABSENT: Final = {
    "ssl": _TLS,
    "sock": "sockets",
    "start_tls": _TLS,
    "add_reader": "sockets",
    "remove_reader": "sockets",
    "add_writer": "sockets",
    "remove_writer": "sockets",
    "sock_recv": "sockets",
    "sock_recv_into": "sockets",
    "sock_recvfrom": "sockets",
    "sock_recvfrom_into": "sockets",
    "sock_sendall": "sockets",
    "sock_sendto": "sockets",
    "sock_connect": "sockets",
    "sock_accept": "sockets",
    "sock_sendfile": "sockets",
    "sendfile": "files",
    "connect_accepted_socket": "sockets",
    "create_datagram_endpoint": "datagrams",
    "create_unix_connection": "Unix sockets",
    "create_unix_server": "Unix sockets",
    "connect_read_pipe": "pipes",
    "connect_write_pipe": "pipes",
    "subprocess_exec": "processes",
    "subprocess_shell": "processes",
    "add_signal_handler": "signals",
    "remove_signal_handler": "signals",
}
"""What the loop does not have, by the call or argument that asks for it."""

_SSL_OPTIONS: Final = {"ssl_handshake_timeout", "ssl_shutdown_timeout"}
_IGNORED: Final = {
    "create_connection": _SSL_OPTIONS
    | {"proto", "server_hostname", "happy_eyeballs_delay", "interleave"},
    "create_server": _SSL_OPTIONS | {"backlog", "reuse_address", "reuse_port", "keep_alive"},
}
"""What means nothing without sockets, by the call that takes it."""


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **options: object) -> NoReturn:
        text = f"{name}: a VirtualLoop has no {_ABSENT[name]}; test this on a real loop"
        raise NotImplementedError(text)

    refuse.__name__ = name
    return refuse


def refuse_absent(loop: type[L]) -> type[L]:
    """Let the methods of a loop that we have not say so."""
    for name in _ABSENT:
        if hasattr(asyncio.AbstractEventLoop, name):
            setattr(loop, name, _refusing(name))
    return loop


def check_options(call: str, options: Mapping[str, object]) -> None:
    """Refuse what we have not; the rest of asyncio's options means nothing here.

    Raises:
        NotImplementedError: It is to use TLS, or a socket.
        TypeError, ValueError: As asyncio's.
    """
    for name in ("ssl", "sock"):
        if options.get(name):
            _refusing(name)()
    unknown = options.keys() - _IGNORED[call] - {"ssl", "sock"}
    if unknown:
        raise TypeError(f"{call}() got an unexpected keyword argument {min(unknown)!r}")
    if options.get("server_hostname") is not None:
        raise ValueError("server_hostname is only meaningful with ssl")
