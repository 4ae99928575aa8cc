"""The loaded models of a server: loads on demand behind a gate, evicts the least recently used, expires the unused.

Everything runs on the event loop's thread; only file work, loads and lane shutdowns run in threads. Knows neither HTTP
nor how a lane works: it is given a function that makes one.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from blazr.errors import (
    BlazrError,
    ModelLoadError,
    ModelMemoryError,
    OverloadedError,
    ShuttingDownError,
)
from blazr.lifecycle.memory import estimate_bytes
from blazr.lifecycle.protocol import LaneT, ModelDescription, RunningModel
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel, modified_at, no_model_named
from blazr.lifecycle.threads import in_thread
from blazr.progress import format_bytes
from boostr.errors import DeviceMemoryError

if TYPE_CHECKING:
    from blazr.metrics import Metrics
    from boostr.generate.language_model import LanguageModel

__all__ = ["ModelStore"]

logger = logging.getLogger("blazr.models")
ROOM_TIMEOUT_SECONDS = 30.0  # how long a load waits for a model in use to become idle
ROOM_POLL_SECONDS = 0.05
EXPIRY_RETRY_SECONDS = 0.1


@dataclass(eq=False)
class _Loaded(Generic[LaneT]):
    model: LanguageModel
    lane: LaneT
    description: ModelDescription
    size: int
    keep_alive: float
    leases: int = 0
    last_used: float = field(default_factory=time.monotonic)
    expires_at: float | None = None
    timer: asyncio.TimerHandle | None = None


class ModelLease(Generic[LaneT]):
    """One request's hold on a loaded model."""

    def __init__(
        self, store: ModelStore[LaneT], loaded: _Loaded[LaneT], load_seconds: float, keep_alive: float | None
    ) -> None:
        self.name = loaded.description.id
        self.model = loaded.model
        self.lane = loaded.lane
        self.load_seconds = load_seconds
        self._held: tuple[ModelStore[LaneT], _Loaded[LaneT], float | None] | None = (store, loaded, keep_alive)

    def release(self) -> None:
        """Give the hold back; a second call does nothing."""
        if self._held is not None:
            (store, loaded, keep_alive), self._held = self._held, None
            store._release(loaded, keep_alive)


class ModelStore(Generic[LaneT]):
    """Models by name. See `protocol.Models` for what each method promises."""

    def __init__(
        self,
        directory: ModelDirectory,
        *,
        load: Callable[[ResolvedModel], LanguageModel],
        make_lane: Callable[[LanguageModel], LaneT],
        describe: Callable[[ResolvedModel], ModelDescription],
        start: str | None = None,
        max_models: int = 1,
        memory_budget: int | None = None,
        keep_alive: float = math.inf,
        context_length: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._directory = directory
        self._load_model = load
        self._make_lane = make_lane
        self._describe = describe
        self._start = start
        self._max_models = max_models
        self._memory_budget = memory_budget
        self._keep_alive = keep_alive
        self._context_length = context_length
        self._metrics = metrics
        self._loaded: dict[str, _Loaded[LaneT]] = {}
        self._loads: dict[str, asyncio.Task[_Loaded[LaneT]]] = {}
        self._wanted: dict[str, int] = {}  # waiters by name: a model is not evicted between its load and their turn
        self._descriptions: dict[Path, tuple[float, ModelDescription]] = {}
        self._one_load = asyncio.Lock()  # memory is counted and freed by one load at a time
        self._closings: set[asyncio.Future[None]] = set()
        self._closed = False
        self._ready = start is None

    @property
    def ready(self) -> bool:
        return self._ready and not self._closed

    @property
    def default_name(self) -> str | None:
        return self._start

    async def start(self) -> None:
        """Load the start model, after which the store is ready. Raises what `acquire` raises."""
        if self._start is not None:
            (await self.acquire(self._start)).release()
        self._ready = True

    async def names(self) -> Sequence[str]:
        entries = await in_thread(self._directory.entries)
        return list(dict.fromkeys([*([self._start] if self._start else []), *(model.name for model in entries)]))

    async def describe(self, name: str) -> ModelDescription:
        return await in_thread(self._described, await in_thread(self._directory.find, name))

    async def acquire(self, name: str | None = None, *, keep_alive: float | None = None) -> ModelLease[LaneT]:
        self._refuse_when_closed()
        found = await self._find(name or self._start)
        began = time.monotonic()
        waited = False
        while (loaded := self._loaded.get(found.name)) is None:
            waited = True
            await self._wait_for_load(found)
        self._refuse_when_closed()
        loaded.leases += 1
        loaded.last_used = time.monotonic()
        self._stop_timer(loaded)
        return ModelLease(self, loaded, time.monotonic() - began if waited else 0.0, keep_alive)

    def running(self) -> Sequence[RunningModel]:
        recent = sorted(self._loaded.values(), key=lambda loaded: -loaded.last_used)
        return [RunningModel(loaded.description, loaded.size, loaded.expires_at) for loaded in recent]

    async def close(self, drain_seconds: float = 0.0) -> None:
        self._closed = True
        if self._loads:
            await asyncio.wait(self._loads.values(), timeout=max(drain_seconds, 0.0))
        for loaded in list(self._loaded.values()):
            self._drop(loaded, drain_seconds)
        if self._closings:
            await asyncio.wait(self._closings)

    # Loading

    async def _find(self, name: str | None) -> ResolvedModel:
        if name is None:
            entries = await in_thread(self._directory.entries)
            if len(entries) != 1:
                raise no_model_named([model.name for model in entries])
            return entries[0]
        if name in self._directory.aliases:
            return self._directory.aliases[name]
        return await in_thread(self._directory.find, name)

    def _described(self, found: ResolvedModel) -> ModelDescription:
        """In a thread: described anew only when the files changed."""
        stamp = modified_at(found.path)
        cached = self._descriptions.get(found.path)
        if cached is None or cached[0] != stamp or cached[1].id != found.name:
            cached = (stamp, self._describe(found))
            self._descriptions[found.path] = cached
        return cached[1]

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise ShuttingDownError("the server is shutting down")

    async def _wait_for_load(self, found: ResolvedModel) -> None:
        self._refuse_when_closed()
        task = self._loads.get(found.name)
        if task is None:
            task = asyncio.create_task(self._load(found))
            self._loads[found.name] = task
            task.add_done_callback(lambda done: self._load_ended(found.name, done))
        self._wanted[found.name] = self._wanted.get(found.name, 0) + 1
        try:
            await asyncio.shield(task)
        finally:
            self._wanted[found.name] -= 1
            if not self._wanted[found.name]:
                del self._wanted[found.name]

    def _load_ended(self, name: str, task: asyncio.Task[_Loaded[LaneT]]) -> None:
        del self._loads[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("loading %s failed: %s", name, error)

    async def _load(self, found: ResolvedModel) -> _Loaded[LaneT]:
        async with self._one_load:
            description = await in_thread(self._described, found)
            size = estimate_bytes(description, self._context_length)
            await self._make_room(found.name, size)
            began = time.monotonic()
            loaded = await self._load_in_thread(found, description, size)
            if self._closed:
                self._drop(loaded, 0.0)
                raise ShuttingDownError("the server is shutting down")
            self._loaded[found.name] = loaded
            self._count(loads=1)
        logger.info("loaded %s in %.1f s", found.name, time.monotonic() - began)
        self._start_timer(loaded)
        return loaded

    async def _load_in_thread(self, found: ResolvedModel, description: ModelDescription, size: int) -> _Loaded[LaneT]:
        try:
            model = await in_thread(self._load_model, found)
            lane = self._make_lane(model)
        except BlazrError:
            raise
        except (MemoryError, DeviceMemoryError) as error:
            raise ModelMemoryError(f"{found.name} does not fit into memory: {error}") from error
        except Exception as error:
            raise ModelLoadError(f"cannot load {found.name}: {error or type(error).__name__}") from error
        return _Loaded(model, lane, description, size, self._keep_alive)

    async def _make_room(self, name: str, size: int) -> None:
        """Unload idle models until `name` may load; waits for models in use, for a while."""
        budget = self._memory_budget
        if budget is not None and size > budget:
            raise ModelMemoryError(
                f"{name} needs about {format_bytes(size)} and the memory budget is {format_bytes(budget)}"
                " (--memory-budget); a shorter --num-ctx needs less"
            )
        deadline = time.monotonic() + ROOM_TIMEOUT_SECONDS
        while not self._fits(size):
            self._refuse_when_closed()
            idle = [one for one in self._loaded.values() if self._evictable(one)]
            if idle:
                self._drop(min(idle, key=lambda one: one.last_used), 0.0)
            elif time.monotonic() < deadline:
                await asyncio.sleep(ROOM_POLL_SECONDS)  # a lane winds down without telling anyone
            else:
                raise OverloadedError(
                    f"no room for {name}: all loaded models are in use (--max-models, --memory-budget)", 10.0
                )
        if self._closings:
            await asyncio.wait(self._closings)  # their memory is free only when their lanes have ended

    def _fits(self, size: int) -> bool:
        used = sum(loaded.size for loaded in self._loaded.values())
        return len(self._loaded) < self._max_models and (
            self._memory_budget is None or used + size <= self._memory_budget
        )

    # Unloading

    def _evictable(self, loaded: _Loaded[LaneT]) -> bool:
        return not loaded.leases and not loaded.lane.active and loaded.description.id not in self._wanted

    def _release(self, loaded: _Loaded[LaneT], keep_alive: float | None) -> None:
        loaded.leases -= 1
        loaded.last_used = time.monotonic()
        loaded.keep_alive = self._keep_alive if keep_alive is None else keep_alive
        if not loaded.leases:
            self._start_timer(loaded)

    def _start_timer(self, loaded: _Loaded[LaneT]) -> None:
        self._stop_timer(loaded)
        if not 0 <= loaded.keep_alive < math.inf:
            return
        loaded.expires_at = time.time() + loaded.keep_alive
        loaded.timer = asyncio.get_running_loop().call_later(loaded.keep_alive, self._expire, loaded)

    def _stop_timer(self, loaded: _Loaded[LaneT]) -> None:
        if loaded.timer is not None:
            loaded.timer.cancel()
        loaded.timer, loaded.expires_at = None, None

    def _expire(self, loaded: _Loaded[LaneT]) -> None:
        if self._loaded.get(loaded.description.id) is not loaded:
            return
        if self._evictable(loaded):
            logger.info("unloading %s: unused for %.0f s", loaded.description.id, loaded.keep_alive)
            self._drop(loaded, 0.0)
        else:  # a waiter is about to take it, or its lane is still winding down a request
            loaded.timer = asyncio.get_running_loop().call_later(EXPIRY_RETRY_SECONDS, self._expire, loaded)

    def _drop(self, loaded: _Loaded[LaneT], drain_seconds: float) -> None:
        self._stop_timer(loaded)
        self._loaded.pop(loaded.description.id, None)
        self._count(evictions=0 if self._closed else 1)

        def end() -> None:
            try:
                loaded.lane.close(drain_seconds)
                loaded.model.close()
            except Exception:
                logger.exception("unloading %s failed", loaded.description.id)

        task = asyncio.ensure_future(in_thread(end))
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)

    def _count(self, loads: int = 0, evictions: int = 0) -> None:
        if self._metrics is not None:
            self._metrics.loads.inc(loads)
            self._metrics.evictions.inc(evictions)
            self._metrics.models_loaded.set(len(self._loaded))
