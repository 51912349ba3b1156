"""Serve a saved monitor read-only: gauges for Prometheus, and a status page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from shesha.drift.http_server import Answer, BoundedServer, Pages
from shesha.drift.monitor import DriftMonitor
from shesha.drift.monitor_files import HISTORY
from shesha.drift.status_page import STATES, number, page, readable_name
from shesha.support.optional import require

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

    def gauges() -> Answer:
        with _damage_named(place):
            return client.generate_latest(_registry(client, place)), client.CONTENT_TYPE_LATEST

    def html() -> Answer:
        with _damage_named(place):
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


def _registry(client: Any, place: Path) -> Any:
    registry = client.CollectorRegistry()
    core = require("prometheus_client.core", "monitor")
    registry.register(_Collector(core.GaugeMetricFamily, place))
    return registry


class _Collector:
    """Creates the gauges from the history whenever they are requested."""

    def __init__(self, family: Any, place: Path) -> None:
        self._family, self._place = family, place

    def describe(self) -> list[Any]:
        """Return no descriptions, because they would require reading the history."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the gauges of the last check and the last update."""
        monitor, name = DriftMonitor.load(self._place), readable_name(self._place)
        checks, updates = monitor.history("check", last=1), monitor.history("update", last=1)
        yield self._gauge("shesha_canary_rows", "Number of canary inputs.", name, monitor.n_rows)
        if checks:
            yield from self._check(name, checks[0])
        if updates:
            yield from self._update(name, updates[0])

    def _gauge(self, gauge: str, text: str, name: str, value: Any) -> Any:
        family = self._family(gauge, text, labels=["monitor"])
        family.add_metric([name], number(value))
        return family

    def _check(self, name: str, event: dict[str, Any]) -> Iterator[Any]:
        yield self._states(
            "shesha_check_state", "1 for the current state of the last check, 0 for other states.", name, event["state"]
        )
        yield self._gauge(
            "shesha_check_timestamp_seconds", "Unix time of the last check, in seconds.", name, _seconds(event["at"])
        )
        for gauge, description, field in (
            ("shesha_drift", "Drift of the last check; 0 means the same geometry.", "value"),
            ("shesha_drift_threshold", "Drift threshold, which unchanged encodings rarely exceed.", "threshold"),
            ("shesha_drift_p_value", "Share of unchanged encodings with at least as much drift.", "p_value"),
        ):
            family = self._family(gauge, description, labels=["monitor", "measure", "tier"])
            for score in event["scores"]:
                family.add_metric([name, score["name"], score["tier"]], number(score.get(field)))
            yield family
        if event["sequence"]:
            description = "Evidence of change from all checks (Shiryaev-Roberts statistic)."
            yield self._gauge("shesha_evidence", description, name, event["sequence"]["shiryaev_roberts"])
            limit = event["sequence"].get("threshold") or event["sequence"]["run_length"]
            yield self._gauge("shesha_evidence_alarm", "Evidence at which the alarm is raised.", name, limit)
            yield self._gauge("shesha_checks", "Number of checks so far.", name, event["sequence"]["number"])

    def _update(self, name: str, update: dict[str, Any]) -> Iterator[Any]:
        yield self._states(
            "shesha_stream_state", "1 for the current state of the stream, 0 for other states.", name, update["state"]
        )
        yield self._gauge("shesha_stream_rows", "Number of new rows so far.", name, update["n_seen"])
        text = "Decimal logarithm of the evidence of change in the stream."
        yield self._gauge("shesha_stream_log10_evidence", text, name, update["log10_martingale"])
        yield self._gauge(
            "shesha_stream_log10_alarm",
            "Decimal logarithm of the evidence at which the alarm is raised.",
            name,
            update["log10_threshold"],
        )

    def _states(self, gauge: str, text: str, name: str, state: str) -> Any:
        family = self._family(gauge, text, labels=["monitor", "state"])
        for label in STATES:
            family.add_metric([name, label], float(label == state))
        return family


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
