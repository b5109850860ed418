"""Whoever may be at the other end of a port: servers in a thread, for commands that block."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Attend = Callable[[socket.socket], None]


@contextmanager
def serving(attend: Attend) -> Iterator[str]:
    """A server for the time of the block; its address. One connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener, attend))
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join()


def _accept(listener: socket.socket, attend: Attend) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            attend(connection)


def speaks_http(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    _wait_gone(connection)


def speaks_nonsense(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"\x00\x00\x00\x20" + 32 * b"?")
    _wait_gone(connection)


def says_nothing(connection: socket.socket) -> None:
    _wait_gone(connection)


def closes(connection: socket.socket) -> None:
    connection.recv(65_536)


def speaks_tls(context: ssl.SSLContext) -> Attend:
    def attend(connection: socket.socket) -> None:
        connection.settimeout(5)
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(65_536)

    return attend


def _wait_gone(connection: socket.socket) -> None:
    """Until the client has closed."""
    while connection.recv(65_536):
        pass
