"""A small HTTP server for read-only pages, with limits on the number and duration of connections."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 32
"""Maximum number of simultaneous connections; further connections are closed immediately."""
SECONDS = 10.0
"""Seconds after which a connection is closed, no matter how slowly the client sends or reads."""
Answer = tuple[bytes, str]
Pages = dict[str, Callable[[], Answer]]
"""For each path, a function that returns the content and its type."""
_LOOPBACK_NAMES = {"localhost"}


class BoundedServer(ThreadingHTTPServer):
    """A server that answers a limited number of connections, each for a limited time.

    Parameters
    ----------
    host, port
        Address to listen on. The host is an IPv4 address, an IPv6 address or a name.
    pages : dict of str to function
        For each path, a function that returns the content and its type.

    Raises
    ------
    OSError
        If the port is in use, or the host is not an address of this machine.
    ValueError
        If the host is empty or the port is out of range.
    """

    request_queue_size = 128
    """Maximum number of queued connections; with the default, 5, clients would wait one to seven seconds."""

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        if not host.strip():
            raise ValueError(f"host must be an address or name, got {host!r}; pass 0.0.0.0 to serve the whole network")
        if not 0 <= port <= 65535:
            raise ValueError(f"port must lie in 0..65535, got {port}")
        self.pages, self.asked_host = pages, host
        self._ends: dict[Any, float] = {}
        self._guard = threading.Lock()
        try:
            self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), _Handler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(errno.EADDRINUSE, f"port must be free, got {port}, which another program uses") from error
            raise OSError(error.errno, f"host must be an address of this machine, got {host!r}: {error}") from error

    @property
    def url(self) -> str:
        """The address of the server as a URL."""
        host = f"[{self.asked_host}]" if ":" in self.asked_host else self.asked_host
        return f"http://{host}:{self.server_address[1]}/"

    @property
    def loopback(self) -> bool:
        """Whether the server can be reached from this machine only."""
        return is_loopback(str(self.server_address[0]))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread, unless too many connections are open."""
        with self._guard:
            full = len(self._ends) >= CONNECTIONS
            if not full:
                self._ends[request] = time.monotonic() + SECONDS
        if full:
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """End connections that have lasted too long; the serving loop calls this twice a second."""
        now = time.monotonic()
        with self._guard:
            late = [request for request, end in self._ends.items() if end < now]
        for request in late:
            # This wakes the thread that waits for the socket, which then closes it.
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and stop counting it."""
        with self._guard:
            self._ends.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected; any other error was already answered with status 503."""


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost", "example.org")]
    [True, True, True, True, False]
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower().rstrip(".") in _LOOPBACK_NAMES
    # Before Python 3.13, `is_loopback` is False for loopback IPv4 addresses in IPv6 form.
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


class _Handler(BaseHTTPRequestHandler):
    server: BoundedServer
    server_version, sys_version = "shesha", ""
    timeout = SECONDS

    def do_GET(self) -> None:
        """Answer with a page."""
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        """Answer with the headers of a page."""
        self._answer(with_content=False)

    def _answer(self, *, with_content: bool) -> None:
        if self.server.loopback and not self._names_loopback():
            # A hostile web page could resolve its own domain to this machine and read the answer (DNS rebinding).
            self.send_error(403, explain="the Host header must name this machine: localhost, 127.0.0.1 or ::1")
            return
        make = self.server.pages.get(self.path.partition("?")[0])
        if make is None:
            self.send_error(404)
            return
        try:
            content, kind = make()
        except Exception as error:
            # The directory may be missing or damaged only for a moment, so the server continues to run.
            self.send_error(503, explain=f"{type(error).__name__}: {error}")
            return
        self._send(content if with_content else b"", kind, len(content))

    def _names_loopback(self) -> bool:
        host = self.headers.get("Host")
        if host is None:  # This occurs in HTTP/1.0 only; browsers always send the header.
            return True
        try:
            return is_loopback(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return False

    def _send(self, content: bytes, kind: str, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""
