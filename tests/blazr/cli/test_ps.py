"""`ps` against something that answers like a server, or unlike one."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import Result

Blazr = Callable[..., Result]


class Answers(HTTPServer):
    status = 200
    body = b""
    authorization: str | None = None


@pytest.fixture
def server() -> Iterator[Answers]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.authorization = self.headers.get("Authorization")
            self.send_response(server.status if self.path == "/api/ps" else 404)
            self.send_header("Content-Length", str(len(server.body)))
            self.end_headers()
            self.wfile.write(server.body)

        def log_message(self, *arguments: object) -> None: ...

    server = Answers(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def address(server: Answers) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_running_models(blazr: Blazr, server: Answers) -> None:
    models = [
        {"name": "tiny", "size": 2 << 20, "expires_at": "2030-01-01T00:00:00Z"},
        {"name": "big", "size": 1},
        {"name": "ours", "size": 1, "expires_at": "9999-12-31T23:59:59+00:00"},
    ]
    server.body = json.dumps({"models": models}).encode()
    done = blazr("ps", "--server", address(server) + "/")
    assert done.stdout.splitlines() == [
        "tiny  2.0 MiB  until 2030-01-01T00:00:00Z",
        "big  1 B  stays loaded",
        "ours  1 B  stays loaded",
    ]


def test_the_key_is_sent(blazr: Blazr, server: Answers) -> None:
    server.body = b'{"models": []}'
    done = blazr("ps", "--server", address(server), "--api-key", "secret")
    assert server.authorization == "Bearer secret"
    assert "no model is loaded" in done.stderr


def test_a_refused_key_names_the_flag(blazr: Blazr, server: Answers) -> None:
    server.status = 401
    done = blazr("ps", "--server", address(server))
    assert (done.exit_code, "answered 401 (it wants a key: --api-key)" in done.stderr) == (1, True)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"models": 1}', b'{"models": [1]}', b"\xff"])
def test_something_else_at_the_address(blazr: Blazr, server: Answers, body: bytes) -> None:
    server.body = body
    done = blazr("ps", "--server", address(server))
    assert done.exit_code == 1
    assert "is not blazr" in done.stderr


def test_nobody_there(blazr: Blazr) -> None:
    done = blazr("ps", "--server", "http://127.0.0.1:9")
    assert done.exit_code == 1
    assert (
        done.stderr == "Error: no server answers at http://127.0.0.1:9: start one with blazr serve, or give --server\n"
    )


def test_only_web_addresses(blazr: Blazr) -> None:
    assert blazr("ps", "--server", "file:///etc/passwd").exit_code == 2
