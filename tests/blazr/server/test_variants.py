"""The public `openai` package against a real server with one base and its adapters: no answer of a wrong variant."""

import asyncio
import contextlib
import ctypes
import gc
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

import boostr
from blazr.cli.serve import make_store
from blazr.config import InferenceSettings, ServerSettings, Settings
from blazr.lifecycle.resolve import ResolvedModel
from blazr.lifecycle.variants import read_variant
from blazr.metrics import Metrics
from blazr.server.app import create_app
from blazr.server.run import serve_app
from boostr.peft import PeftAdapter
from tests.support.adapters import BASE, clear_greedy, write_adapter

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.anyio
TOKENS = 8
START = ("one", "two", "three")
Expected = dict[str, dict[str, str]]  # {model name: {prompt: text}}


class Files(NamedTuple):
    models: Path
    adapters: Path
    expected: Expected


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """Models, adapters, and what each says in boostr alone, for prompts that rounding cannot tip."""
    root = tmp_path_factory.mktemp("variants")
    (root / "models").mkdir()
    for name in ("base", "other"):
        shutil.copy(BASE, root / "models" / f"{name}.gguf")
    for seed, name in enumerate((*START, "late")):
        write_adapter(root / "adapters" / name, seed)
    base = boostr.load(BASE, precise=True)
    models = {"base": base}
    for name in (*START, "late"):
        models[f"base:{name}"] = base.derive_with_adapter(PeftAdapter.load(root / "adapters" / name))
    expected: Expected = {name: {} for name in models}
    prompts = (f"{word} {n}" for n in range(50) for word in ("hello", "the world", "a longer text about numbers"))
    for prompt in prompts:
        texts = {name: clear_greedy(model, base.encode(prompt), TOKENS) for name, model in models.items()}
        if None not in texts.values() and len(set(texts.values())) == len(texts):
            for name, text in texts.items():
                expected[name][prompt] = str(text)
        if len(expected["base"]) == 4:
            break
    assert len(expected["base"]) == 4, "too few prompts tell the variants apart"
    yield Files(root / "models", root / "adapters", expected)
    base.close()


@pytest.fixture
async def url(files: Files) -> AsyncIterator[str]:
    settings = Settings(
        server=ServerSettings(host="127.0.0.1", port=0, lora_roots=(str(files.adapters),), request_logging=False),
        inference=InferenceSettings(model_dir=str(files.models), precise=True, chat_template="chatml"),
    )
    start = ResolvedModel("base", files.models / "base.gguf")
    variants = [read_variant("base", files.adapters / name) for name in START]
    store = make_store(settings, start, Metrics(), variants)
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    shutdown = asyncio.Event()
    app = create_app(store, settings)
    serving = asyncio.create_task(
        serve_app(app, start=store.start, shutdown=shutdown, on_listening=listening.set_result)
    )
    url = await listening
    while not store.ready:
        assert not serving.done(), serving.result()
        await asyncio.sleep(0.01)
    yield url
    shutdown.set()
    await serving


@pytest.fixture
async def sdk(url: str) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        yield client


async def ask(sdk: Any, model: str, prompt: str, **more: Any) -> str:
    reply = await sdk.completions.create(
        model=model, prompt=prompt, max_tokens=TOKENS, temperature=0, extra_body={"ignore_eos": True, **more}
    )
    assert reply.model == (f"{model}:{more['lora_adapter']}" if "lora_adapter" in more else model)
    return str(reply.choices[0].text)


async def loaded(http: httpx.AsyncClient) -> set[str]:
    return set((await http.get("/health")).json()["loaded_models"])


async def test_one_base_with_three_adapters_at_once(sdk: Any, files: Files) -> None:
    asked = [(name, prompt) for name in ("base", *(f"base:{one}" for one in START)) for prompt in files.expected[name]]
    texts = await asyncio.gather(*(ask(sdk, name, prompt) for name, prompt in asked))
    assert texts == [files.expected[name][prompt] for name, prompt in asked]


async def test_the_field_means_the_same_as_the_name(sdk: Any, files: Files) -> None:
    for prompt, text in files.expected["base:two"].items():
        assert await ask(sdk, "base", prompt, lora_adapter="two") == text


async def test_chat_and_streams_run_on_variants(sdk: Any) -> None:
    messages = [{"role": "user", "content": "hello"}]
    texts = {}
    for model in ("base", "base:one", "base:two"):
        whole = await sdk.chat.completions.create(model=model, messages=messages, max_tokens=6, temperature=0)
        stream = await sdk.chat.completions.create(
            model=model, messages=messages, max_tokens=6, temperature=0, stream=True
        )
        streamed = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        texts[model] = whole.choices[0].message.content
        assert (streamed, whole.model) == (texts[model], model)
    assert len(set(texts.values())) == 3


@pytest.mark.parametrize("body", [{"model": "base:nope"}, {"model": "base", "extra_body": {"lora_adapter": "nope"}}])
async def test_an_unknown_adapter_is_404(sdk: Any, body: dict[str, Any]) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await sdk.completions.create(prompt="hello", max_tokens=1, **body)
    assert caught.value.body["code"] == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        await sdk.chat.completions.create(messages=[{"role": "user", "content": "x"}], max_tokens=1, **body)


async def test_models_list_variants_with_their_facts(sdk: Any, files: Files) -> None:
    listed = {model.id: model for model in [one async for one in sdk.models.list()]}
    assert list(listed) == ["base", "base:one", "base:three", "base:two", "other"]
    one = listed["base:one"]
    assert (one.base, one.path, one.rank, one.adapted_modules) == ("base", str(files.adapters / "one"), 4, 4)
    assert (await sdk.models.retrieve("base:one")).base == "base"


async def test_one_is_added_evicted_rebuilt_and_removed_while_others_answer(
    sdk: Any, http: httpx.AsyncClient, files: Files
) -> None:
    (prompt, *_) = files.expected["base"]
    others = [asyncio.create_task(ask(sdk, f"base:{name}", prompt)) for name in START for _ in range(3)]
    reply = await http.post("/v1/lora", json={"path": "late"})
    assert reply.status_code == 200
    entry = reply.json()
    assert (entry["status"], entry["model"], entry["adapter"]) == ("ok", "base", "late")
    assert await ask(sdk, "base:late", prompt) == files.expected["base:late"][prompt]
    expected = [files.expected[f"base:{name}"][prompt] for name in START for _ in range(3)]
    assert await asyncio.gather(*others) == expected
    await ask(sdk, "other", prompt)  # --max-models is 1: base and variants leave
    assert await loaded(http) == {"other"}
    assert {one["id"]: one["loaded"] for one in (await http.get("/v1/lora")).json()["data"]}["base:late"] is False
    assert await ask(sdk, "base:late", prompt) == files.expected["base:late"][prompt]
    assert await loaded(http) == {"base", "base:late"}
    removed = await http.delete("/v1/lora/late", params={"model": "base"})
    assert removed.json()["adapter"] == "late"
    with pytest.raises(openai.NotFoundError):
        await ask(sdk, "base:late", prompt)
    assert (await http.delete("/v1/lora/late")).status_code == 404


async def test_what_cannot_be_added_says_why(http: httpx.AsyncClient, files: Files, tmp_path: Path) -> None:
    broken = files.adapters / "broken"
    if not broken.exists():
        shutil.copytree(files.adapters / "one", broken)
        (broken / "adapter_model.safetensors").write_bytes(b"nonsense")
    outside = write_adapter(tmp_path / "outside", 9)
    cases: list[tuple[dict[str, Any], int, str, str]] = [
        ({"path": "broken"}, 400, "lora_load_error", "adapter_model.safetensors"),
        ({"path": "none"}, 400, "lora_load_error", "does not exist"),
        ({"path": str(outside)}, 403, "access_denied", "--lora-root"),
        ({"path": "one", "model": "nope"}, 404, "model_not_found", "no model named"),
        ({"path": "two", "name": "one"}, 409, "adapter_exists", "already another adapter"),
    ]
    for body, status, code, message in cases:
        reply = await http.post("/v1/lora", json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code), body
        assert message in reply.json()["error"]["message"]
    for wrong in ({}, {"path": ""}, {"path": 1}, {"path": "one", "scale": 2}, {"path": "one", "name": "a b"}):
        assert (await http.post("/v1/lora", json=wrong)).status_code == 400, wrong


def resident_bytes() -> int:
    gc.collect()
    with contextlib.suppress(AttributeError):  # of glibc: what its allocator keeps to give out again is no growth
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")
async def test_two_hundred_requests_without_a_wrong_variant_or_growing_memory(
    sdk: Any, http: httpx.AsyncClient, files: Files
) -> None:
    names = ["base", *(f"base:{name}" for name in START)]
    prompts = list(files.expected["base"])
    slots = asyncio.Semaphore(16)

    async def one(number: int) -> None:
        name, prompt = names[number % len(names)], prompts[number // len(names) % 4]
        async with slots:
            assert await ask(sdk, name, prompt) == files.expected[name][prompt], (number, name)

    async def evict() -> None:
        await ask(sdk, "other", prompts[0])
        assert await loaded(http) == {"other"}

    await evict()  # what happens once happens before memory is measured
    await asyncio.gather(*map(one, range(50)))
    before = resident_bytes()
    added, *_ = await asyncio.gather(http.post("/v1/lora", json={"path": "late"}), *map(one, range(50, 100)))
    assert added.status_code == 200
    names.append("base:late")
    for first in (100, 150):
        await evict()
        await asyncio.gather(*map(one, range(first, first + 50)))
        assert await loaded(http) == set(names)  # rebuilt by many at once
    assert resident_bytes() < 1.05 * before
