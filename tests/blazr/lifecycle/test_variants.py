"""Variants in the model store, over real adapters: one build for many, eviction before the base, registering."""

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from blazr.errors import (
    AdapterExistsError,
    AdapterPathError,
    ModelLoadError,
    ModelMemoryError,
    ModelNotFoundError,
    RequestError,
)
from blazr.lifecycle import store as store_module
from blazr.lifecycle.adapter_paths import AdapterPaths
from blazr.lifecycle.facts import describe_model
from blazr.lifecycle.loading import build_variant
from blazr.lifecycle.memory import estimate_bytes
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel
from blazr.lifecycle.store import ModelStore
from blazr.lifecycle.variants import Variant, read_variant
from boostr import load
from boostr.errors import AdapterMismatchError, AdapterNotFoundError
from tests.support.adapters import BASE, write_adapter

Store = ModelStore["IdleLane"]


class IdleLane:
    def __init__(self, model: Any) -> None:
        self.active = 0

    def close(self, drain_seconds: float = 0.0) -> None:
        pass


class Builds:
    """Counts builds; `gate` holds them back, `failure` makes them fail."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None

    def __call__(self, model: Any, variant: Variant) -> Any:
        self.ids.append(variant.id)
        assert self.gate.wait(30)
        if self.failure is not None:
            raise self.failure
        return build_variant(model, variant)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    counted = Builds()
    monkeypatch.setattr(store_module, "build_variant", counted)
    return counted


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    root = tmp_path / "adapters"
    for seed, name in enumerate(("one", "two", "three")):
        write_adapter(root / name, seed)
    return root


@pytest.fixture
def models(tmp_path: Path) -> Path:
    directory = tmp_path / "models"
    directory.mkdir()
    shutil.copy(BASE, directory / "base.gguf")
    shutil.copy(BASE, directory / "other.gguf")
    return directory


@pytest.fixture
def make(models: Path, adapters: Path) -> Callable[..., Store]:
    def make(*start: str, **options: Any) -> Store:
        return ModelStore(
            ModelDirectory(models),
            load=_load,
            make_lane=IdleLane,
            describe=describe_model,
            **{
                "start": "base",
                "start_variants": [read_variant("base", adapters / name) for name in start],
                "adapter_paths": AdapterPaths([adapters]),
                **options,
            },
        )

    return make


def _load(found: ResolvedModel) -> Any:
    model = load(found.path)
    model.name = found.name
    return model


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def in_memory(store: Store) -> set[str]:
    return {one.description.id for one in store.running()}


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "condition did not come true"
        await asyncio.sleep(0.005)


async def use(store: Store, name: str, **options: Any) -> None:
    (await store.acquire(name, **options)).release()


def test_start_builds_the_start_models_variants(make: Any, builds: Builds) -> None:
    async def work() -> None:
        store = make("one", "two")
        await store.start()
        assert in_memory(store) == {"base", "base:one", "base:two"}
        assert await store.names() == ["base", "base:one", "base:two", "other"]

    run(work())


def test_a_variant_shares_its_bases_lane_and_network(make: Any) -> None:
    async def work() -> None:
        store = make("one")
        base, variant = await store.acquire("base"), await store.acquire("base:one")
        assert variant.lane is base.lane
        assert variant.model.network is base.model.network
        assert (base.model.span_adapter, variant.name) == (None, "base:one")
        assert variant.model.span_adapter is not None
        assert (await store.acquire(adapter="one")).model is variant.model

    run(work())


@pytest.mark.parametrize(
    ("name", "adapter", "error", "message"),
    [
        ("base:nope", None, ModelNotFoundError, "model base has no adapter named 'nope'; known are one"),
        (None, "nope", ModelNotFoundError, "model base has no adapter named 'nope'; known are one"),
        ("other", "one", ModelNotFoundError, "model other has no adapter named 'one'; none is registered"),
        ("missing:one", None, ModelNotFoundError, "no model named 'missing:one'"),
        ("base:", None, ModelNotFoundError, "no model named 'base:'"),
        (":one", None, ModelNotFoundError, "no model named ':one'"),
        ("base:one", "two", RequestError, "model names the adapter one, and lora_adapter another"),
    ],
)
def test_an_unknown_adapter_is_never_the_base(
    make: Any, name: str | None, adapter: str | None, error: type[Exception], message: str
) -> None:
    async def work() -> None:
        store = make("one")
        with pytest.raises(error, match=message):
            await store.acquire(name, adapter=adapter)
        assert in_memory(store) == set()

    run(work())


def test_waiters_of_one_variant_share_one_build(make: Any, builds: Builds) -> None:
    async def work() -> None:
        store = make("one")
        builds.gate.clear()
        waiters = [asyncio.create_task(store.acquire("base:one")) for _ in range(5)]
        await until(lambda: bool(builds.ids))
        builds.gate.set()
        leases = await asyncio.gather(*waiters)
        assert builds.ids == ["base:one"]
        assert len({id(lease.model) for lease in leases}) == 1
        assert all(lease.load_seconds > 0 for lease in leases)

    run(work())


def test_a_failed_build_wakes_every_waiter_with_the_same_error_and_the_next_request_tries_again(
    make: Any, builds: Builds
) -> None:
    async def work() -> None:
        store = make("one")
        builds.failure = RuntimeError("bad tensor")
        builds.gate.clear()
        waiters = [asyncio.create_task(store.acquire("base:one")) for _ in range(3)]
        await until(lambda: bool(builds.ids))
        builds.gate.set()
        errors = await asyncio.gather(*waiters, return_exceptions=True)
        assert len({id(error) for error in errors}) == 1
        assert isinstance(errors[0], ModelLoadError)
        assert "base:one: bad tensor" in str(errors[0])
        builds.failure = None
        await use(store, "base:one", keep_alive=0)
        await until(lambda: not in_memory(store))  # nobody was left holding the base

    run(work())


def test_a_waiter_that_leaves_ends_neither_the_build_nor_its_base(make: Any, builds: Builds) -> None:
    async def work() -> None:
        store = make("one", keep_alive=0)
        builds.gate.clear()
        waiter = asyncio.create_task(store.acquire("base:one"))
        await until(lambda: bool(builds.ids))
        waiter.cancel()
        await asyncio.sleep(0.05)
        assert in_memory(store) == {"base"}
        staying = asyncio.create_task(store.acquire("base:one"))
        await until(lambda: any(isinstance(key, Variant) for key in store._wanted))
        builds.gate.set()
        assert (await staying).name == "base:one"
        assert builds.ids == ["base:one"]

    run(work())


def _budget_for(models: Path, adapters: Path, variants: float) -> int:
    base = estimate_bytes(describe_model(ResolvedModel("base", models / "base.gguf")))
    return base + int(variants * read_variant("base", adapters / "one").nbytes)


def test_the_least_recently_used_variant_leaves_before_its_base_and_builds_again(
    make: Any, builds: Builds, models: Path, adapters: Path
) -> None:
    async def work() -> None:
        store = make("one", "two", "three", memory_budget=_budget_for(models, adapters, 2.5))
        for name in ("base:one", "base:two", "base:one", "base:three"):
            await use(store, name)
        assert in_memory(store) == {"base", "base:one", "base:three"}
        await use(store, "base:two")
        assert in_memory(store) == {"base", "base:three", "base:two"}
        assert builds.ids == ["base:one", "base:two", "base:three", "base:two"]

    run(work())


def test_a_variant_in_use_is_never_evicted(make: Any, models: Path, adapters: Path) -> None:
    async def work() -> None:
        store = make("one", "two", memory_budget=_budget_for(models, adapters, 1.5))
        lease = await store.acquire("base:one")
        with pytest.raises(ModelMemoryError, match=r"base:two needs .*--memory-budget"):
            await store.acquire("base:two")
        assert in_memory(store) == {"base", "base:one"}
        lease.release()
        await use(store, "base:two")
        assert in_memory(store) == {"base", "base:two"}

    run(work())


def test_another_model_makes_a_base_leave_with_its_variants(make: Any, builds: Builds) -> None:
    async def work() -> None:
        store = make("one", max_models=1)
        await store.start()
        await use(store, "other")
        assert in_memory(store) == {"other"}
        await use(store, "base:one")
        assert in_memory(store) == {"base", "base:one"}
        assert builds.ids == ["base:one", "base:one"]

    run(work())


def test_a_base_is_not_evicted_under_a_variant_in_use(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ROOM_TIMEOUT_SECONDS", 0.1)

    async def work() -> None:
        store = make("one", max_models=1)
        await store.acquire("base:one")
        with pytest.raises(store_module.OverloadedError):
            await store.acquire("other")
        assert in_memory(store) == {"base", "base:one"}

    run(work())


def test_keep_alive_of_a_variant_is_its_bases_too(make: Any) -> None:
    async def work() -> None:
        store = make("one")
        await use(store, "base:one", keep_alive=0)
        await until(lambda: not in_memory(store))
        await use(store, "base:one", keep_alive=60)
        assert all(one.expires_at is not None for one in store.running())

    run(work())


def test_an_unused_variant_expires_while_its_base_stays(make: Any) -> None:
    async def work() -> None:
        store = make("one")
        base = await store.acquire("base")
        await use(store, "base:one", keep_alive=0)
        await until(lambda: in_memory(store) == {"base"})
        base.release()

    run(work())


def test_registering_builds_at_once_and_the_name_is_the_directorys(make: Any, adapters: Path) -> None:
    async def work() -> None:
        store = make()
        variant = await store.register("one")
        assert (variant.id, variant.path, variant.rank, variant.module_count) == ("base:one", adapters / "one", 4, 4)
        assert in_memory(store) == {"base", "base:one"}
        assert (await store.register(str(adapters / "two"), model="other", name="mine")).id == "other:mine"
        described = await store.describe("other:mine")
        assert described.context_length == 512
        assert dict(described.extra) == {
            "base": "other",
            "path": str(adapters / "two"),
            "rank": 4,
            "adapted_modules": 4,
        }
        assert [one.id for one in store.variants()] == ["base:one", "other:mine"]

    run(work())


def test_a_name_stands_for_one_adapter_until_it_is_removed(make: Any) -> None:
    async def work() -> None:
        store = make()
        first = await store.register("one", name="a")
        assert await store.register("one", name="a") == first
        with pytest.raises(AdapterExistsError, match="base:a is already another adapter"):
            await store.register("two", name="a")
        await store.unregister("a")
        assert (await store.register("two", name="a")).path.name == "two"
        assert (await store.acquire("base:a")).model.adapter.path.name == "two"

    run(work())


def test_an_adapter_of_another_base_is_not_registered(make: Any, adapters: Path) -> None:
    shutil.copytree(BASE.parents[2] / "lora" / "llama_plain", adapters / "foreign")

    async def work() -> None:
        store = make()
        with pytest.raises(AdapterMismatchError, match="foreign"):
            await store.register("foreign")
        assert store.variants() == []
        with pytest.raises(ModelNotFoundError):
            await store.acquire("base:foreign")

    run(work())


@pytest.mark.parametrize("name", ["a b", "a:b", "a/b", "-a", "x" * 65])
def test_names_that_requests_could_not_spell_are_refused(make: Any, name: str) -> None:
    async def work() -> None:
        with pytest.raises(RequestError, match="adapter name") as caught:
            await make().register("one", name=name)
        assert caught.value.param == "name"

    run(work())


def test_a_removed_variant_finishes_what_runs_on_it(make: Any) -> None:
    async def work() -> None:
        store = make("one")
        lease = await store.acquire("base:one")
        assert (await store.unregister("one")).id == "base:one"
        assert lease.model.span_adapter is not None
        with pytest.raises(ModelNotFoundError):
            await store.acquire("base:one")
        with pytest.raises(ModelNotFoundError):
            await store.unregister("one")
        lease.release()
        assert in_memory(store) == {"base"}

    run(work())


def test_a_variant_removed_while_it_is_built_is_gone(make: Any, builds: Builds) -> None:
    async def work() -> None:
        store = make("one")
        builds.gate.clear()
        waiter = asyncio.create_task(store.acquire("base:one"))
        await until(lambda: bool(builds.ids))
        await store.unregister("one")
        builds.gate.set()
        with pytest.raises(ModelNotFoundError, match="removed while it was being built"):
            await waiter
        assert in_memory(store) == {"base"}

    run(work())


def test_without_a_start_model_a_name_must_be_clear(make: Any) -> None:
    async def work() -> None:
        store = make(start=None, max_models=2)
        await store.register("one", model="base")
        await store.register("one", model="other")
        with pytest.raises(RequestError, match="say which model"):
            await store.unregister("one")
        await store.unregister("one", model="base")
        assert (await store.unregister("one")).id == "other:one"

    run(work())


def test_a_registered_adapter_that_vanished_is_a_failed_load(make: Any, adapters: Path) -> None:
    async def work() -> None:
        store = make("one")
        shutil.rmtree(adapters / "one")
        with pytest.raises(ModelLoadError, match="cannot load base:one"):
            await store.acquire("base:one")

    run(work())


def test_only_configured_directories_may_be_named(make: Any, adapters: Path, tmp_path: Path) -> None:
    outside = write_adapter(tmp_path / "outside", 7)
    (adapters / "link").symlink_to(outside)
    shutil.copytree(adapters / "one", adapters / "linked_file")
    (adapters / "linked_file" / "adapter_config.json").unlink()
    (adapters / "linked_file" / "adapter_config.json").symlink_to(outside / "adapter_config.json")

    async def work() -> None:
        store = make()
        for path in (
            str(outside),
            "../outside",
            "link",
            "linked_file",
            "/etc",
            str(tmp_path / "none"),
            "a\0b",
            "x" * 5000,
        ):
            with pytest.raises(AdapterPathError, match=r"must lie below a directory of server\.lora_roots"):
                await store.register(path)
        with pytest.raises(AdapterNotFoundError):
            await store.register("none")
        given = make(adapter_paths=AdapterPaths([], [outside]))
        assert (await given.register(str(outside))).name == "outside"
        with pytest.raises(AdapterPathError, match="given with --lora"):
            await given.register(str(adapters / "one"))

    run(work())


def test_a_path_is_checked_again_before_every_build(make: Any, adapters: Path, tmp_path: Path) -> None:
    async def work() -> None:
        store = make()
        await store.register("one")
        await use(store, "base:one", keep_alive=0)
        await until(lambda: not in_memory(store))
        (adapters / "one").rename(tmp_path / "moved")
        (adapters / "one").symlink_to(tmp_path / "moved")
        with pytest.raises(AdapterPathError):
            await store.acquire("base:one")

    run(work())
