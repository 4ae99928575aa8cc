"""Loads as clients see them, over real files: one failure for all who wait, and a model too large for the budget."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from blazr.cli.serve import make_store
from blazr.config import InferenceSettings, ServerSettings, Settings
from blazr.engine import Lane
from blazr.lifecycle.store import ModelStore
from blazr.metrics import Metrics
from blazr.server.app import create_app
from tests.support.adapters import BASE, write_adapter

pytestmark = pytest.mark.anyio
ASKED = {"prompt": "hello", "max_tokens": 2}


class Served:
    def __init__(self, root: Path, server: dict[str, Any], inference: dict[str, Any]) -> None:
        settings = Settings(
            server=ServerSettings(lora_roots=(str(root / "adapters"),), **server),
            inference=InferenceSettings(model_dir=str(root / "models"), **inference),
        )
        self.store: ModelStore[Lane] = make_store(settings, None, Metrics())
        app = create_app(self.store, settings)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60)

    async def ask(self, model: str) -> httpx.Response:
        return await self.http.post("/v1/completions", json=ASKED | {"model": model})

    async def loaded(self) -> list[str]:
        return list((await self.http.get("/health")).json()["loaded_models"])


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., Served]]:
    (tmp_path / "models").mkdir()
    for name in ("base", "other"):
        shutil.copy(BASE, tmp_path / "models" / f"{name}.gguf")
    (tmp_path / "models" / "broken.gguf").write_bytes(BASE.read_bytes()[:5000])
    write_adapter(tmp_path / "adapters" / "one", 1)
    made: list[Served] = []

    def make(inference: dict[str, Any] | None = None, **server: Any) -> Served:
        made.append(Served(tmp_path, server, inference or {}))
        return made[-1]

    yield make
    for served in made:
        await served.http.aclose()
        await served.store.close()


async def test_a_failed_load_is_the_same_500_for_all_who_waited(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve()
    replies = await asyncio.gather(*(served.ask("broken") for _ in range(8)))
    (error,) = {
        (reply.status_code, reply.json()["error"]["code"], reply.json()["error"]["message"]) for reply in replies
    }
    assert error[:2] == (500, "model_load_failed")
    assert "broken.gguf" in error[2]
    shutil.copy(BASE, tmp_path / "models" / "broken.gguf")
    assert (await served.ask("broken")).status_code == 200  # tried again, not remembered


async def test_a_model_beyond_the_budget_is_503_before_it_loads(serve: Callable[..., Served]) -> None:
    served = serve(memory_budget=1 << 20)
    reply = await served.ask("base")
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "model_load_out_of_memory")
    assert int(reply.headers["Retry-After"]) > 0
    assert "--memory-budget" in reply.json()["error"]["message"]
    assert "--offload" in reply.json()["error"]["message"]
    assert await served.loaded() == []
    offloaded = serve({"offload": True}, memory_budget=1 << 20)
    assert "--offload" not in (await offloaded.ask("base")).json()["error"]["message"]  # it is on already


async def test_keep_alive_of_a_request_unloads_its_model_and_variant(serve: Callable[..., Served]) -> None:
    served = serve(max_models=2)
    assert (await served.http.post("/v1/lora", json={"path": "one", "model": "base"})).status_code == 200
    await served.ask("other")
    assert set(await served.loaded()) == {"base", "base:one", "other"}
    body = ASKED | {"model": "base", "lora_adapter": "one", "keep_alive": 0}
    assert (await served.http.post("/v1/completions", json=body)).json()["model"] == "base:one"
    for _ in range(1000):
        if await served.loaded() == ["other"]:
            break
        await asyncio.sleep(0.01)
    assert await served.loaded() == ["other"]
    reply = await served.ask("base:one")  # registered still: it builds again
    assert (reply.status_code, reply.json()["model"]) == (200, "base:one")


@pytest.mark.parametrize("name", ["base:nope", "nope", "base:", ":one", "base:one:one", "other:one"])
async def test_what_is_not_registered_is_404_and_never_the_base(name: str, serve: Callable[..., Served]) -> None:
    served = serve()
    await served.http.post("/v1/lora", json={"path": "one", "model": "base"})
    reply = await served.ask(name)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asked", [{"model": "base:nope"}, {"model": "base", "lora_adapter": "nope"}])
async def test_every_route_says_so_before_it_streams(
    asked: dict[str, str], stream: bool, serve: Callable[..., Served]
) -> None:
    served = serve({"chat_template": "chatml"})
    for path, content in (
        ("/v1/completions", {"prompt": "hello"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}]}),
    ):
        reply = await served.http.post(path, json={**asked, **content, "stream": stream})
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")
    assert await served.loaded() == []
