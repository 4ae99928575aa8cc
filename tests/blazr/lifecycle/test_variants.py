"""Variants in the model store, over real adapters: one build for many, eviction before the base, registering."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from blazr.errors import (
    ModelLoadError,
    ModelMemoryError,
    ModelNotFoundError,
    RequestError,
)
from blazr.lifecycle import store as store_module
from blazr.lifecycle.facts import describe_model
from blazr.lifecycle.memory import estimate_bytes
from blazr.lifecycle.resolve import ResolvedModel
from blazr.lifecycle.variants import Variant, read_variant
from tests.blazr.lifecycle.variant_stores import Builds, in_memory, run, until, use


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
        await until(lambda: "base:one" not in in_memory(store))
        assert in_memory(store) == {"base"}
        base.release()

    run(work())
