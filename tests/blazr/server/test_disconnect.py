"""Clients that leave, over a real connection: wherever their request is, it stops, and the next one is served."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from blazr.engine import LaneLimits
from tests.support.tiny import TinyModel

pytestmark = pytest.mark.anyio
TEXT = "/v1/completions"


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.005)


class Visitor:
    """A client that can leave in the middle."""

    def __init__(self, rig: Any, body: dict[str, Any]) -> None:
        self._rig, self._body = rig, json.dumps(body).encode()

    async def __aenter__(self) -> "Visitor":
        port = int(self._rig.url.rsplit(":", 1)[1])
        self.reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {TEXT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(self._body)}\r\n\r\n"
        self._writer.write(head.encode() + self._body)
        await self._writer.drain()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()


async def serves_on(rig: Any) -> None:
    """The server is idle, and answers."""
    await until(lambda: rig.store.leases == 0)
    await until(lambda: not rig.store.lanes["tiny"].active)
    assert (await rig.post(TEXT, {"prompt": "q\n", "max_tokens": 1})).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_leaving_during_decode(rig_of: Any, stream: bool) -> None:
    rig = rig_of(TinyModel(context_length=20_000))
    rig.model.tiny.step_seconds = 0.003
    await rig.listen()
    async with Visitor(rig, {"prompt": "q\n", "max_tokens": 15_000, "stream": stream}):
        await until(lambda: len(rig.model.tiny.batches) > 5)
    await serves_on(rig)
    assert len(rig.model.tiny.batches) < 1000
    assert rig.metric("blazr_generations_total", model="tiny", outcome="cancelled") == 1
    assert rig.metric(
        "blazr_request_duration_seconds_count", method="POST", path=TEXT, status="200" if stream else "499"
    )


async def test_leaving_during_the_prompt(rig_of: Any) -> None:
    rig = rig_of(TinyModel(context_length=20_000), limits=LaneLimits(step_seconds=0.001))
    rig.model.tiny.step_seconds = 0.003
    await rig.listen()
    async with Visitor(rig, {"prompt": "x" * 15_000, "max_tokens": 1}):
        await until(lambda: len(rig.model.tiny.batches) > 3)
    await serves_on(rig)
    assert sum(map(sum, rig.model.tiny.batches)) < 14_000


async def test_leaving_while_queued(rig_of: Any) -> None:
    rig = rig_of(TinyModel(), limits=LaneLimits(max_sequences=1))
    await rig.listen()
    rig.model.tiny.gate.clear()
    async with Visitor(rig, {"prompt": "a\n", "max_tokens": 2}) as first:
        lane = rig.store.lanes["tiny"]
        await until(lambda: (lane.active, lane.queued) == (1, 0))
        async with Visitor(rig, {"prompt": "b\n", "max_tokens": 100}):
            await until(lambda: lane.queued == 1)
        await until(lambda: rig.store.leases == 1)
        rig.model.tiny.gate.set()
        assert b"200" in await first.reader.readline()
    await serves_on(rig)
    assert rig.metric("blazr_generations_total", model="tiny", outcome="cancelled") == 1


async def test_leaving_while_the_model_loads(rig_of: Any) -> None:
    rig = rig_of(TinyModel())
    await rig.listen()
    rig.store.load_gate = asyncio.Event()
    async with Visitor(rig, {"prompt": "a\n"}):
        await until(lambda: rig.app.state.service.open_requests == 1)
    await until(lambda: rig.app.state.service.open_requests == 0)
    rig.store.load_gate.set()
    await serves_on(rig)
