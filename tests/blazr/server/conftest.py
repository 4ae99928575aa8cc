"""Servers over tiny models: in process through ASGI where that is enough, on a loopback port where it is not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from blazr.config import GenerationSettings, ServerSettings, Settings
from blazr.engine import LaneLimits
from blazr.server.app import create_app
from blazr.server.run import serve_app
from tests.support.tiny import TinyModel, says
from tests.support.tiny_models import TinyModels


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Rig:
    """An app, its models and a client."""

    def __init__(self, *models: TinyModel, ping_seconds: float = 15.0, limits: LaneLimits | None = None, **server: Any):
        settings = Settings(
            server=ServerSettings(**{"host": "127.0.0.1", "port": 0, **server}),
            generation=GenerationSettings(temperature=0.0),
        )
        self.store = TinyModels(models or (TinyModel(says("hello")),), limits=limits or LaneLimits())
        self.model = self.store.models[0]
        self.app = create_app(self.store, settings, self.store.metrics, ping_seconds=ping_seconds)
        self.url = "http://localhost"
        self.shutdown = asyncio.Event()
        self.serving: asyncio.Task[None] | None = None

    def client(self, **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app) if self.serving is None else None
        return httpx.AsyncClient(transport=transport, base_url=self.url, timeout=10, **options)

    async def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        async with self.client() as client:
            return await client.post(path, json=body, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        async with self.client() as client:
            return await client.get(path, **options)

    def metric(self, name: str, **labels: str) -> float:
        return self.store.metrics.registry.get_sample_value(name, labels) or 0.0

    async def listen(self, **options: Any) -> None:
        """Serve on a real port under Hypercorn."""
        listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.serving = asyncio.create_task(
            serve_app(self.app, shutdown=self.shutdown, on_listening=listening.set_result, **options)
        )
        self.url = await listening

    async def stop(self) -> None:
        for model in self.store.models:
            model.tiny.gate.set()
        await self.store.close()
        self.shutdown.set()
        if self.serving is not None:
            await self.serving


@pytest.fixture
async def rig_of() -> AsyncIterator[Callable[..., Rig]]:
    """Makes rigs, and stops them after the test."""
    made: list[Rig] = []

    def make(*models: TinyModel, **options: Any) -> Rig:
        made.append(Rig(*models, **options))
        return made[-1]

    yield make
    for rig in made:
        await rig.stop()
        assert rig.store.leases == 0, "a request kept its model"
