"""Clients that stop in the middle, of a request or of an answer, cost the server little and other clients nothing."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from blazr.config import ServerSettings, Settings
from blazr.engine import GenerationRequest, Lane, LaneLimits, Output
from blazr.engine.generation import MOST_UNREAD
from blazr.server import run, waiting
from blazr.server.app import create_app
from blazr.server.middleware import concurrency
from blazr.server.run import serve_app
from boostr.generate import SamplingParams
from tests.support.tiny import TinyModel
from tests.support.tiny_models import TinyModels

pytestmark = pytest.mark.anyio
MANY = 10_000_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.01)


class Server:
    def __init__(self, store: TinyModels, port: int) -> None:
        self.store = store
        self.port = port

    async def open(self, body: bytes, announced: int | None = None) -> tuple[Any, Any]:
        """A connection that has sent `body` of `announced` bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 16)
        length = len(body) if announced is None else announced
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        return reader, writer

    async def answers(self) -> bytes:
        """The status line of a small request."""
        reader, writer = await self.open(b'{"prompt": "q", "max_tokens": 1}')
        line = await asyncio.wait_for(reader.readline(), 60)
        writer.close()
        return bytes(line)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """Two requests may be open: one running, one waiting."""
    limits = LaneLimits(max_sequences=1, max_queue=1)
    monkeypatch.setattr(run, "_IDLE_SECONDS", 0.5)
    store = TinyModels([TinyModel(context_length=MANY)], limits=limits)
    settings = Settings(
        server=ServerSettings(host="127.0.0.1", port=0, max_concurrent_requests=1, max_queue=1, request_logging=False)
    )
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    shutdown = asyncio.Event()
    app = create_app(store, settings, store.metrics)
    serving = asyncio.create_task(serve_app(app, shutdown=shutdown, on_listening=listening.set_result))
    yield Server(store, int((await listening).rsplit(":", 1)[1]))
    await store.close()
    shutdown.set()
    await serving
    assert store.leases == 0


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HTT",
        b"GET /health HTTP/1.1\r\nHost: x\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    ],
)
async def test_a_connection_that_asks_for_nothing_is_closed(server: Server, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    await asyncio.wait_for(reader.read(), 60)
    assert reader.at_eof()
    writer.close()


async def test_bodies_that_do_not_come_shut_nobody_out(server: Server) -> None:
    stuck = [await server.open(b"{", announced=1000) for _ in range(8)]
    assert b"200" in await server.answers()
    # As many may send as may run; for the later ones the oldest were cut.
    assert b"408" in await asyncio.wait_for(stuck[0][0].readline(), 60)
    for _, writer in stuck:
        writer.close()


async def test_a_body_that_stops_is_a_timeout(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "BODY_SECONDS", 0.2)
    reader, writer = await server.open(b"{", announced=1000)
    answer = await asyncio.wait_for(reader.read(), 60)
    assert b"408" in answer.splitlines()[0]
    assert b"did not arrive in time" in answer
    writer.close()


async def test_a_client_that_does_not_read_loses_its_place(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WRITE_SECONDS", 0.5)
    body = {"prompt": "q", "max_tokens": -1, "ignore_eos": True, "stream": True, "logprobs": 20}
    _, writer = await server.open(json.dumps(body).encode())
    await until(lambda: server.store.leases == 1)
    assert b"200" in await server.answers()  # waits for the only slot
    await until(lambda: server.store.leases == 0)
    writer.close()


async def test_a_request_that_is_not_read_rests_until_it_is() -> None:
    model = TinyModel(context_length=100_000)
    lane = Lane(model)
    try:
        wanted = 4 * MOST_UNREAD
        unread = lane.submit(GenerationRequest([65], SamplingParams(max_tokens=wanted, ignore_eos=True)))
        await until(lambda: unread.full)
        steps = len(model.tiny.batches)
        other = lane.submit(GenerationRequest([65], SamplingParams(max_tokens=5, ignore_eos=True)))
        assert len([event async for event in other if isinstance(event, Output)]) >= 5  # others go on
        assert len(model.tiny.batches) <= steps + 8
        pieces = [event.piece async for event in unread if isinstance(event, Output)]
        assert sum(piece.token is not None for piece in pieces) == wanted
    finally:
        lane.close()
