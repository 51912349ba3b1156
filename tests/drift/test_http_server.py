"""The server behind `monitor serve`: clients cannot hold it, and other sites cannot read it."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from shesha.drift import monitor_server
from shesha.drift.monitor_server import BoundedServer


def broken() -> monitor_server.Answer:
    raise RuntimeError("the file is damaged")


PAGES = {"/": lambda: (b"page", "text/plain"), "/broken": broken}


@contextmanager
def running(host: str = "127.0.0.1") -> Iterator[BoundedServer]:
    with BoundedServer(host, 0, PAGES) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


def ask(server: BoundedServer, path: str = "/", method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(str(server.server_address[0]), server.server_address[1], timeout=10)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def test_a_page_that_fails_is_answered_with_its_reason():
    with running() as server:
        answer = ask(server, "/broken")
        assert answer.status == 503 and b"the file is damaged" in answer.read()
        assert ask(server).status == 200


def test_query_strings_and_head():
    with running() as server:
        assert ask(server, "/?x=1").read() == b"page"
        head = ask(server, method="HEAD")
        assert (head.status, head.read(), head.headers["Content-Length"]) == (200, b"", "4")
        assert ask(server, "/none", "HEAD").status == 404


def test_an_ipv4_address_in_ipv6_form_is_loopback():
    assert monitor_server.is_loopback("::ffff:127.0.0.1")
    assert not monitor_server.is_loopback("::ffff:192.0.2.1")


def test_other_names_of_this_machine_are_refused_on_loopback_only():
    with running() as server:
        port = server.server_address[1]
        for host, status in (
            (f"localhost:{port}", 200),
            (f"[::1]:{port}", 200),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("[", 403),
        ):
            assert ask(server, Host=host).status == status, host
    with running("0.0.0.0") as server:
        assert ask(server, Host="monitor.example").status == 200


def test_half_open_connections_end_and_leave_no_thread(monkeypatch):
    monkeypatch.setattr(monitor_server, "SECONDS", 0.3)
    before = threading.active_count()
    with running() as server:
        clients = [socket.create_connection(server.server_address[:2]) for _ in range(100)]
        for one in clients[:40]:
            with suppress(OSError):
                one.sendall(b"GET / HT")
        time.sleep(0.1)
        assert threading.active_count() - before <= monitor_server.CONNECTIONS + 1
        deadline = time.monotonic() + 10
        while threading.active_count() - before > 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert threading.active_count() - before <= 1
        assert ask(server).status == 200
        for one in clients:
            one.close()


def test_a_client_that_sends_slowly_is_ended(monkeypatch):
    monkeypatch.setattr(monitor_server, "SECONDS", 0.3)
    with running() as server, socket.create_connection(server.server_address[:2]) as client:
        client.settimeout(10)
        start = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - start < 10:
                client.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - start < 5


def test_a_client_that_left_is_no_traceback(capfd):
    with running() as server:
        for _ in range(20):
            client = socket.create_connection(server.server_address[:2])
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            client.close()
        assert ask(server).status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_hosts():
    for host in ("", " "):
        with pytest.raises(ValueError, match=r"host must be an address or name, got .*0\.0\.0\.0"):
            BoundedServer(host, 0, PAGES)
    with pytest.raises(OSError, match=r"host must be an address of this machine, got 'no\.such\.invalid'"):
        BoundedServer("no.such.invalid", 0, PAGES)


def test_ipv6():
    try:
        with running("::1") as server:
            assert server.url == f"http://[::1]:{server.server_address[1]}/"
            assert ask(server).read() == b"page"
    except OSError:
        pytest.skip("this machine has no IPv6")


def test_two_hundred_clients_are_accepted_at_once(monkeypatch):
    monkeypatch.setattr(monitor_server, "SECONDS", 30.0)
    with running() as server:
        start = time.monotonic()
        clients = [socket.create_connection(server.server_address[:2], timeout=10) for _ in range(200)]
        # A full queue makes each client wait for whole seconds: half a minute for all.
        assert time.monotonic() - start < 15
        for client in clients:
            client.close()
