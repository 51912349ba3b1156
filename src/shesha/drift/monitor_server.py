"""Serve a saved monitor read-only: gauges for Prometheus, a status page, and limits on connections."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shesha.drift.history import HISTORY
from shesha.drift.monitor import DriftMonitor, as_number
from shesha.drift.status_page import STATES, page, readable_name
from shesha.support.optional import require

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
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content if with_content else b"")

    def _names_loopback(self) -> bool:
        host = self.headers.get("Host")
        if host is None:  # This occurs in HTTP/1.0 only; browsers always send the header.
            return True
        try:
            return is_loopback(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return False

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""


DASHBOARD = Path(__file__).with_name("grafana.json")
"""Path of a Grafana dashboard that shows the gauges."""


def server(folder: str | Path, host: str = "127.0.0.1", port: int = 9108) -> BoundedServer:
    """Return a server for a saved monitor, which is bound to its port but not yet running.

    Parameters
    ----------
    folder : path
        Directory of the monitor, which is read at each request.
    host : str
        Address to listen on. The default accepts connections from this machine only.
    port : int
        Port to listen on, or 0 for any free port.

    Raises
    ------
    OSError
        If the port is in use, or the host is not an address of this machine.
    ImportError
        If prometheus-client is not installed.

    Examples
    --------
    >>> server("no/such/folder")
    Traceback (most recent call last):
    FileNotFoundError: folder must be a directory made by save or `shesha monitor init`, got no/such/folder (...)
    """
    place = Path(folder)
    client = require("prometheus_client", "monitor", "serving gauges needs prometheus-client")
    DriftMonitor.load(place)
    drawing = threading.Lock()

    def gauges() -> Answer:
        registry = client.CollectorRegistry()
        with _damage_named(place):
            registry.register(_Collector(place))
            return client.generate_latest(registry), client.CONTENT_TYPE_LATEST

    def html() -> Answer:
        # Matplotlib draws in one thread only.
        with _damage_named(place), drawing:
            return page(place).encode("utf-8", "replace"), "text/html; charset=utf-8"

    pages: Pages = {"/": html, "/metrics": gauges}
    return BoundedServer(host, port, pages)


@contextmanager
def _damage_named(place: Path) -> Iterator[None]:
    """If events in the history lack required fields, raise an error that names the file."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{place / HISTORY} must contain complete events, got an event with a missing or invalid {error}"
        ) from error


class _Collector:
    """Creates the gauges from the history whenever they are requested."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def describe(self) -> list[Any]:
        """Return no descriptions, because they would require reading the history."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the gauges of the last check and the last update."""
        family, name = require("prometheus_client.core", "monitor").GaugeMetricFamily, readable_name(self._place)
        for gauge, text, labels, values in _gauges(DriftMonitor.load(self._place)):
            metric = family(gauge, text, labels=["monitor", *labels])
            for key, value in values.items():
                metric.add_metric([name, *key], as_number(value))
            yield metric


def _unix_time(at: object) -> float:
    """Return a stored time in seconds, NaN if it is invalid, as in a history that was edited by hand."""
    try:
        return datetime.fromisoformat(str(at)).timestamp()
    except (ValueError, OverflowError):
        return float("nan")


def _gauges(monitor: DriftMonitor) -> Iterator[tuple[str, str, tuple[str, ...], dict[Any, Any]]]:
    """Yield the name, text and labels of each gauge, with its values by label."""
    yield "shesha_canary_rows", "Number of canary inputs.", (), {(): monitor.n_rows}
    for last in monitor.history("check", last=1):
        text = "1 for the current state of the last check, 0 for other states."
        yield "shesha_check_state", text, ("state",), {(state,): state == last["state"] for state in STATES}
        time = _unix_time(last["at"])
        yield "shesha_check_timestamp_seconds", "Unix time of the last check, in seconds.", (), {(): time}
        for gauge, text, field in (
            ("shesha_drift", "Drift of the last check; 0 means the same geometry.", "value"),
            (
                "shesha_drift_threshold",
                "Drift threshold, which unchanged encodings exceed at the false alarm rate.",
                "threshold",
            ),
            ("shesha_drift_p_value", "Share of unchanged encodings with at least as much drift.", "p_value"),
        ):
            values = {(score["name"], score["tier"]): score.get(field) for score in last["scores"]}
            yield gauge, text, ("measure", "tier"), values
        if sequence := last["sequence"]:
            text = "Evidence of change from all checks (Shiryaev-Roberts statistic)."
            yield "shesha_evidence", text, (), {(): sequence["shiryaev_roberts"]}
            limit = sequence["threshold"]
            yield "shesha_evidence_alarm", "Evidence at which the alarm is raised.", (), {(): limit}
            yield "shesha_checks", "Number of checks so far.", (), {(): sequence["number"]}
    for last in monitor.history("update", last=1):
        text = "1 for the current state of the stream, 0 for other states."
        yield "shesha_stream_state", text, ("state",), {(state,): state == last["state"] for state in STATES}
        yield "shesha_stream_rows", "Number of new rows so far.", (), {(): last["n_seen"]}
        text = "Decimal logarithm of the evidence of change in the stream."
        yield "shesha_stream_log10_evidence", text, (), {(): last["log10_martingale"]}
        text = "Decimal logarithm of the evidence at which the alarm is raised."
        yield "shesha_stream_log10_alarm", text, (), {(): last["log10_threshold"]}
