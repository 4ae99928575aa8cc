"""The model store: one load for many waiters, eviction, expiry, memory, shutdown. No weights: loads are functions."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from blazr.errors import ModelLoadError, ModelMemoryError, ModelNotFoundError, OverloadedError, ShuttingDownError
from blazr.lifecycle import store as store_module
from blazr.lifecycle.protocol import ModelDescription
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel
from blazr.lifecycle.store import ModelStore
from blazr.metrics import Metrics


class FakeModel:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True


class FakeLane:
    def __init__(self, model: FakeModel) -> None:
        self.model = model
        self.active = 0
        self.closed_with: float | None = None
        self.drained = threading.Event()  # set: nothing runs any more
        self.drained.set()

    def close(self, drain_seconds: float = 0.0) -> None:
        self.closed_with = drain_seconds
        self.drained.wait(10)


class Loads:
    """Counts loads; `gate` holds them back, `failure` makes them fail."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.threads: set[int] = set()

    def __call__(self, found: ResolvedModel) -> Any:
        self.names.append(found.name)
        self.threads.add(threading.get_ident())
        self.gate.wait(10)
        if self.failure is not None:
            raise self.failure
        return FakeModel(found.name)


@pytest.fixture
def loads() -> Loads:
    return Loads()


@pytest.fixture
def make_store(tmp_path: Path, loads: Loads) -> Callable[..., ModelStore[FakeLane]]:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.gguf").write_bytes(b"GGUF" + bytes(996))

    def make(**options: Any) -> ModelStore[FakeLane]:
        return ModelStore(
            ModelDirectory(tmp_path),
            load=loads,
            make_lane=FakeLane,  # type: ignore[arg-type]
            describe=lambda found: ModelDescription(found.name, str(found.path), 0, size=found.path.stat().st_size),
            **options,
        )

    return make


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline, "condition did not come true"
        await asyncio.sleep(0.005)


def test_waiters_of_one_model_share_one_load(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        store = make_store()
        loads.gate.clear()
        waiters = [asyncio.create_task(store.acquire("a")) for _ in range(5)]
        await until(lambda: bool(loads.names))
        loads.gate.set()
        leases = await asyncio.gather(*waiters)
        assert loads.names == ["a"]
        assert len({id(lease.lane) for lease in leases}) == 1
        assert all(lease.load_seconds > 0 for lease in leases)

    run(work())


def test_loads_run_off_the_event_loop(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        await make_store().acquire("a")
        assert threading.get_ident() not in loads.threads

    run(work())


def test_a_failed_load_wakes_every_waiter_with_the_same_error_and_the_next_request_tries_again(
    make_store: Any, loads: Loads
) -> None:
    async def work() -> None:
        store = make_store()
        loads.failure = RuntimeError("bad tensor blk.0")
        loads.gate.clear()
        waiters = [asyncio.create_task(store.acquire("a")) for _ in range(3)]
        await until(lambda: bool(loads.names))
        loads.gate.set()
        errors = await asyncio.gather(*waiters, return_exceptions=True)
        assert all(isinstance(error, ModelLoadError) for error in errors)
        assert len({id(error) for error in errors}) == 1
        assert "bad tensor blk.0" in str(errors[0])
        assert isinstance(errors[0].__cause__, RuntimeError)
        loads.failure = None
        await store.acquire("a")
        assert loads.names == ["a", "a"]

    run(work())


def test_a_waiter_that_leaves_does_not_cancel_the_load(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        store = make_store()
        loads.gate.clear()
        leaving, staying = (asyncio.create_task(store.acquire("a")) for _ in range(2))
        await until(lambda: bool(loads.names))
        leaving.cancel()
        await asyncio.sleep(0)
        loads.gate.set()
        assert (await staying).name == "a"
        assert loads.names == ["a"]

    run(work())


def test_the_least_recently_used_idle_model_makes_room(make_store: Any) -> None:
    async def work() -> None:
        store = make_store(max_models=2)
        first = await store.acquire("a")
        first.release()
        (await store.acquire("b")).release()
        (await store.acquire("a")).release()
        await store.acquire("c")
        assert [one.description.id for one in store.running()] == ["c", "a"]
        assert first.model.closed is False

    run(work())


def test_an_evicted_model_is_closed_after_its_lane(make_store: Any) -> None:
    async def work() -> None:
        store = make_store(max_models=1)
        lease = await store.acquire("a")
        lease.release()
        await store.acquire("b")
        assert lease.lane.closed_with == 0.0
        assert lease.model.closed

    run(work())


def test_a_model_in_use_is_never_evicted(make_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ROOM_TIMEOUT_SECONDS", 0.1)

    async def work() -> None:
        store = make_store(max_models=1)
        lease = await store.acquire("a")
        with pytest.raises(OverloadedError, match="--max-models"):
            await store.acquire("b")
        assert not lease.model.closed

    run(work())


def test_a_load_waits_for_a_model_in_use_to_become_idle(make_store: Any) -> None:
    async def work() -> None:
        store = make_store(max_models=1)
        lease = await store.acquire("a")
        waiting = asyncio.create_task(store.acquire("b"))
        await asyncio.sleep(0.05)
        lease.lane.active = 1
        lease.release()
        await asyncio.sleep(0.1)
        assert not waiting.done()
        lease.lane.active = 0
        assert (await waiting).name == "b"

    run(work())


def test_releasing_twice_gives_back_one_hold(make_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ROOM_TIMEOUT_SECONDS", 0.1)

    async def work() -> None:
        store = make_store(max_models=1)
        one, _other = await store.acquire("a"), await store.acquire("a")
        one.release()
        one.release()
        with pytest.raises(OverloadedError):
            await store.acquire("b")

    run(work())


def test_keep_alive_zero_unloads_when_nobody_holds_the_model(make_store: Any) -> None:
    async def work() -> None:
        store = make_store()
        lease = await store.acquire("a", keep_alive=0)
        assert [one.description.id for one in store.running()] == ["a"]
        lease.release()
        await until(lambda: not store.running())
        await until(lambda: lease.model.closed)

    run(work())


def test_keep_alive_of_the_last_request_counts(make_store: Any) -> None:
    async def work() -> None:
        store = make_store(keep_alive=0.05)
        (await store.acquire("a", keep_alive=-1)).release()
        await asyncio.sleep(0.15)
        assert store.running()[0].expires_at is None
        (await store.acquire("a")).release()
        assert store.running()[0].expires_at == pytest.approx(time.time() + 0.05, abs=0.05)
        await until(lambda: not store.running())

    run(work())


def test_a_model_beyond_the_budget_is_refused_before_it_loads(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        store = make_store(memory_budget=1 << 20)
        with pytest.raises(ModelMemoryError, match=r"about 64\.0 MiB .* budget is 1\.0 MiB"):
            await store.acquire("a")
        assert loads.names == []

    run(work())


def test_the_budget_evicts_before_it_refuses(make_store: Any) -> None:
    async def work() -> None:
        store = make_store(max_models=3, memory_budget=100 << 20)
        (await store.acquire("a")).release()
        await store.acquire("b")
        assert [one.description.id for one in store.running()] == ["b"]

    run(work())


def test_running_out_of_memory_while_loading_is_its_own_error(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        loads.failure = MemoryError("no 3 GiB")
        with pytest.raises(ModelMemoryError, match="no 3 GiB"):
            await make_store().acquire("a")

    run(work())


def test_an_unknown_name_lists_the_known_ones(make_store: Any) -> None:
    async def work() -> None:
        with pytest.raises(ModelNotFoundError, match=r"'zz'; known are a, b, c"):
            await make_store().acquire("zz")

    run(work())


def test_no_name_means_the_start_model_or_is_an_error_that_lists_the_models(make_store: Any) -> None:
    async def work() -> None:
        assert (await make_store(start="b").acquire()).name == "b"
        with pytest.raises(ModelNotFoundError, match=r"name one of a, b, c"):
            await make_store().acquire()

    run(work())


def test_the_only_model_needs_no_name(make_store: Any, tmp_path: Path) -> None:
    (tmp_path / "b.gguf").unlink()
    (tmp_path / "c.gguf").unlink()

    async def work() -> None:
        assert (await make_store().acquire()).name == "a"

    run(work())


def test_ready_only_after_the_start_model_is_loaded(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        store = make_store(start="b")
        loads.gate.clear()
        starting = asyncio.create_task(store.start())
        await until(lambda: bool(loads.names))
        assert not store.ready
        loads.gate.set()
        await starting
        assert store.ready
        assert await store.names() == ["b", "a", "c"]

    run(work())


def test_a_description_is_read_again_only_when_the_file_changed(make_store: Any, tmp_path: Path) -> None:
    async def work() -> None:
        store = make_store()
        first = await store.describe("a")
        assert await store.describe("a") is first
        (tmp_path / "a.gguf").write_bytes(b"GGUF")
        os.utime(tmp_path / "a.gguf", (1, 1))
        assert (await store.describe("a")).size == 4

    run(work())


def test_close_drains_lanes_and_refuses_new_work(make_store: Any) -> None:
    async def work() -> None:
        store = make_store()
        lease = await store.acquire("a")
        await store.close(drain_seconds=0.5)
        assert lease.lane.closed_with == 0.5
        assert lease.model.closed
        assert not store.ready
        with pytest.raises(ShuttingDownError):
            await store.acquire("a")
        lease.release()

    run(work())


def test_models_are_listed_until_they_have_drained(make_store: Any) -> None:
    async def work() -> None:
        store = make_store()
        lease = await store.acquire("a")
        lease.lane.drained.clear()
        closing = asyncio.create_task(store.close(drain_seconds=5.0))
        await until(lambda: lease.lane.closed_with is not None)
        assert [one.description.id for one in store.running()] == ["a"]
        lease.lane.drained.set()
        await closing
        assert not store.running()

    run(work())


def test_close_during_a_load_tells_the_waiter_and_closes_what_arrives(make_store: Any, loads: Loads) -> None:
    async def work() -> None:
        store = make_store()
        loads.gate.clear()
        waiter = asyncio.create_task(store.acquire("a"))
        await until(lambda: bool(loads.names))
        await store.close(drain_seconds=0.05)
        loads.gate.set()
        with pytest.raises(ShuttingDownError):
            await waiter
        assert not store.running()

    run(work())


def test_loads_and_evictions_are_counted(make_store: Any) -> None:
    async def work() -> None:
        metrics = Metrics()
        store = make_store(metrics=metrics)
        for name in ("a", "b", "a"):
            (await store.acquire(name)).release()
        values = {sample.name: sample.value for family in metrics.registry.collect() for sample in family.samples}
        assert values["blazr_scheduler_loads_total"] == 3
        assert values["blazr_scheduler_evictions_total"] == 2
        assert values["blazr_models_loaded"] == 1

    run(work())
