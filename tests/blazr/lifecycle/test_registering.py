"""Adapters added and removed at run time: which paths, under which names, and what a failure leaves."""

import asyncio
import os
import shutil
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
from blazr.lifecycle.adapter_paths import AdapterPaths
from blazr.lifecycle.facts import describe_model
from blazr.lifecycle.memory import estimate_bytes
from blazr.lifecycle.resolve import ResolvedModel
from blazr.lifecycle.variants import read_variant
from boostr.errors import AdapterMismatchError, AdapterNotFoundError
from tests.blazr.lifecycle.variant_stores import Builds, in_memory, run, until, use
from tests.support.adapters import BASE, write_adapter


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


def test_an_adapter_given_at_the_start_is_known_by_any_path(
    make: Any, adapters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (adapters / "link").symlink_to("one")
    monkeypatch.chdir(adapters)
    given = read_variant("base", Path("link"), "one")
    assert given.path == adapters / "one"

    async def work() -> None:
        store = make(start_variants=[given])
        await store.start()
        for path in ("one", "link", str(adapters / "one")):
            assert await store.register(path, name="one") == given
        assert list(store.variants()) == [given]

    run(work())


def test_the_file_of_an_adapter_stays_beside_its_configuration(adapters: Path) -> None:
    weights = adapters / "one" / "adapter_model.safetensors"
    weights.rename(adapters / "blob")
    weights.symlink_to(adapters / "blob")  # as caches of downloads have it
    assert read_variant("base", weights).path == weights


def test_files_that_changed_since_are_not_taken_for_the_registered_ones(make: Any, adapters: Path) -> None:
    async def work() -> None:
        store = make()
        first = await store.register("one")
        shutil.rmtree(adapters / "one")
        write_adapter(adapters / "one", 9)
        os.utime(adapters / "one", (first.created + 10, first.created + 10))
        with pytest.raises(AdapterExistsError, match=r"base:one was registered before the files .* changed; DELETE it"):
            await store.register("one")
        assert list(store.variants()) == [first]
        await store.unregister("one")
        assert (await store.register("one")).created == first.created + 10

    run(work())


def test_an_adapter_beyond_the_budget_makes_nothing_leave(make: Any, models: Path, adapters: Path) -> None:
    budget = 2 * estimate_bytes(describe_model(ResolvedModel("base", models / "base.gguf")))
    shutil.copytree(adapters / "one", adapters / "vast")
    os.truncate(adapters / "vast" / "adapter_model.safetensors", budget + 1)

    async def work() -> None:
        store = make(memory_budget=budget)
        await use(store, "base")
        with pytest.raises(ModelMemoryError, match=r"the adapter .*vast needs"):
            await store.register("vast")
        assert in_memory(store) == {"base"}

    run(work())


@pytest.mark.parametrize("leaving", [(0,), (1,), (0, 1)])
def test_a_client_that_leaves_takes_nothing_from_another_that_asks_for_the_same(
    leaving: tuple[int, ...], make: Any, builds: Builds
) -> None:
    async def work() -> None:
        store = make()
        await store.start()
        builds.gate.clear()
        asking = [asyncio.create_task(store.register("one")) for _ in range(2)]
        await until(lambda: list(store._registering.values()) == [2])
        for number in leaving:
            asking[number].cancel()
        await asyncio.wait([asking[number] for number in leaving])
        builds.gate.set()
        staying = [one for one in asking if not one.done()]
        assert list(store.variants()) == [await one for one in staying]
        if staying:
            await use(store, "base:one")
        else:
            with pytest.raises(ModelNotFoundError):
                await store.acquire("base:one")

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
    (adapters / "loop").symlink_to("loop")
    shutil.copytree(adapters / "one", adapters / "looping_file")
    (adapters / "looping_file" / "adapter_model.bin").symlink_to("adapter_model.bin")

    async def work() -> None:
        store = make()
        for path in (
            str(outside),
            "../outside",
            "link",
            "linked_file",
            "loop",
            "looping_file",
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
