"""The models of a server by name: loads on demand behind a gate, builds variants, makes room, hands out leases.

Everything runs on the event loop's thread; only file work, loads and lane shutdowns run in threads. Knows neither HTTP
nor how a lane works: it is given a function that makes one.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from blazr.errors import (
    BlazrError,
    ModelLoadError,
    ModelMemoryError,
    ModelNotFoundError,
    OverloadedError,
    RequestError,
    ShuttingDownError,
)
from blazr.lifecycle.adapter_paths import AdapterPaths
from blazr.lifecycle.facts import describe_variant
from blazr.lifecycle.loading import build_variant
from blazr.lifecycle.memory import adapter_bytes, estimate_bytes
from blazr.lifecycle.names import Names
from blazr.lifecycle.protocol import LaneT, ModelDescription, RunningModel
from blazr.lifecycle.residents import Built, Loaded, Resident, Residents
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel, modified_at
from blazr.lifecycle.threads import in_thread
from blazr.lifecycle.variants import Variant, read_variant
from blazr.progress import format_bytes
from boostr.errors import AdapterError, DeviceMemoryError

if TYPE_CHECKING:
    from blazr.metrics import Metrics
    from boostr.generate.language_model import LanguageModel

__all__ = ["ModelStore"]

logger = logging.getLogger("blazr.models")
ROOM_TIMEOUT_SECONDS = 30.0  # how long a load waits for a model in use to become idle
ROOM_POLL_SECONDS = 0.05


class ModelLease(Generic[LaneT]):
    """One request's hold on a loaded model, and on the variant of it that was asked for."""

    def __init__(
        self,
        residents: Residents[LaneT],
        base: Loaded[LaneT],
        built: Built | None,
        load_seconds: float,
        keep_alive: float | None,
    ) -> None:
        served: Resident = base if built is None else built
        self.name = served.description.id
        self.model = served.model
        self.lane = base.lane
        self.load_seconds = load_seconds
        self._residents = residents
        self._keep_alive = keep_alive
        self._held: tuple[Resident, ...] = (base,) if built is None else (built, base)

    def release(self) -> None:
        """Give the hold back; a second call does nothing."""
        held, self._held = self._held, ()
        for one in held:
            self._residents.release(one, self._keep_alive)


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
        start_variants: Sequence[Variant] = (),
        adapter_paths: AdapterPaths | None = None,
        max_models: int = 1,
        memory_budget: int | None = None,
        keep_alive: float = math.inf,
        context_length: int | None = None,
        paged: bool = False,
        metrics: Metrics | None = None,
    ) -> None:
        self._load_model = load
        self._make_lane = make_lane
        self._describe = describe
        self._start = start
        self._adapter_paths = adapter_paths or AdapterPaths()
        self._keep_alive = keep_alive
        self._context_length = context_length
        self._paged = paged
        self._names = Names(directory, start)
        self._variants = self._names.variants
        for variant in start_variants:
            self._variants.add(variant)
        self._loads: dict[Hashable, asyncio.Task[None]] = {}
        self._registering: dict[Variant, int] = {}  # new ones that were not built yet: who asked for them and waits
        self._wanted: dict[Hashable, int] = {}  # waiters: nothing is evicted between its load and their turn
        self._residents: Residents[LaneT] = Residents(
            max_models, memory_budget, keep_alive, self._wanted.__contains__, metrics
        )
        self._draining: list[Resident] = []  # still in memory and at work, though nobody new gets them
        self._descriptions: dict[Path, tuple[float, ModelDescription]] = {}
        self._one_load = asyncio.Lock()  # models load one after the other: a load may take all memory there is
        self._ready = start is None

    @property
    def ready(self) -> bool:
        return self._ready and not self._residents.closed

    @property
    def default_name(self) -> str | None:
        return self._start

    async def start(self) -> None:
        """Load the start model and its variants, after which the store is ready. Raises what `acquire` raises."""
        if self._start is not None:
            found, _ = await self._names.find(self._start)
            for variant in [None, *self._variants.of(found.name)]:
                (await self._lease(found, variant, None)).release()
        self._ready = True

    async def names(self) -> Sequence[str]:
        return await self._names.all()

    async def describe(self, name: str) -> ModelDescription:
        found, variant = await self._names.find(name)
        described = await in_thread(self._described, found)
        return described if variant is None else describe_variant(described, variant)

    async def acquire(
        self, name: str | None = None, *, adapter: str | None = None, keep_alive: float | None = None
    ) -> ModelLease[LaneT]:
        self._refuse_when_closed()
        found, variant = await self._names.find(name, adapter)
        return await self._lease(found, variant, keep_alive)

    def variants(self) -> Sequence[Variant]:
        return self._variants.all()

    async def register(self, path: str, *, model: str | None = None, name: str | None = None) -> Variant:
        self._refuse_when_closed()
        found, variant = await self._names.find(model)
        if variant is not None:
            raise RequestError(f"{variant.id} is itself a variant: name its base, {variant.base}", "model")
        admitted = await in_thread(self._adapter_paths.admit, path)
        self._make_room_now(str(admitted), await in_thread(adapter_bytes, admitted))
        try:
            variant = await in_thread(lambda: read_variant(found.name, admitted, name, confined=True))
        except ValueError as error:
            if isinstance(error, AdapterError):
                raise
            raise RequestError(str(error), "name") from error
        registering = self._registering
        if self._variants.add(variant):
            registering[variant] = registering.get(variant, 0)
        variant = self._variants.require(found.name, variant.name)  # as it was first registered
        if variant in registering:
            registering[variant] += 1
        try:
            (await self._lease(found, variant, None)).release()
        except BaseException as error:
            if variant in registering:
                registering[variant] -= 1
                if not registering[variant]:  # no other request asked for the same one
                    del registering[variant]
                    self._forget(variant)
            if isinstance(error, ModelLoadError) and isinstance(error.__cause__, AdapterError):
                raise error.__cause__ from None  # the adapter's own words: here it is the request that is wrong
            raise
        registering.pop(variant, None)
        return variant

    async def unregister(self, name: str, *, model: str | None = None) -> Variant:
        variant = await self._names.find_variant(name, model)
        self._forget(variant)
        return variant

    def running(self) -> Sequence[RunningModel]:
        recent = sorted(self._draining or self._residents, key=lambda one: -one.last_used)
        return [RunningModel(one.description, one.size, one.expires_at) for one in recent]

    async def close(self, drain_seconds: float = 0.0) -> None:
        residents = self._residents
        residents.closed = True
        if self._loads:
            await asyncio.wait(self._loads.values(), timeout=max(drain_seconds, 0.0))
        self._draining = list(residents)
        for loaded in list(residents.models.values()):
            residents.drop(loaded, drain_seconds)
        if residents.closings:
            await asyncio.wait(residents.closings)
        self._draining = []

    def _described(self, found: ResolvedModel) -> ModelDescription:
        """In a thread: described anew only when the files changed."""
        stamp = modified_at(found.path)
        cached = self._descriptions.get(found.path)
        if cached is None or cached[0] != stamp or cached[1].id != found.name:
            cached = (stamp, self._describe(found))
            self._descriptions[found.path] = cached
        return cached[1]

    def _forget(self, variant: Variant) -> None:
        self._variants.remove(variant)
        base = self._residents.models.get(variant.base)
        built = base.variants.get(variant.name) if base is not None else None
        if built is not None:
            self._residents.drop(built)

    def _refuse_when_closed(self) -> None:
        if self._residents.closed:
            raise ShuttingDownError("the server is shutting down")

    # Leases

    async def _lease(
        self, found: ResolvedModel, variant: Variant | None, keep_alive: float | None
    ) -> ModelLease[LaneT]:
        began = time.monotonic()
        base, waited = await self._hold_model(found)
        built: Built | None = None
        if variant is not None:
            try:
                built, built_now = await self._hold_variant(base, variant)
            except BaseException:
                self._residents.release(base, keep_alive)
                raise
            waited = waited or built_now
        return ModelLease(self._residents, base, built, time.monotonic() - began if waited else 0.0, keep_alive)

    async def _hold_model(self, found: ResolvedModel) -> tuple[Loaded[LaneT], bool]:
        waited = False
        while (loaded := self._residents.models.get(found.name)) is None:
            waited = True
            await self._wait_for(found.name, lambda: self._load(found))
        self._refuse_when_closed()
        self._residents.hold(loaded)
        return loaded, waited

    async def _hold_variant(self, base: Loaded[LaneT], variant: Variant) -> tuple[Built, bool]:
        waited = False
        while (built := base.variants.get(variant.name)) is None or built.variant != variant:
            waited = True
            await self._wait_for(variant, lambda: self._build(base, variant))
        self._refuse_when_closed()
        self._residents.hold(built)
        return built, waited

    async def _wait_for(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """One load for all who wait under the same key. A waiter that leaves does not end it."""
        self._refuse_when_closed()
        task = self._loads.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._loads[key] = task
            task.add_done_callback(lambda done: self._load_ended(key, done))
        self._wanted[key] = self._wanted.get(key, 0) + 1
        try:
            await asyncio.shield(task)
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key]

    def _load_ended(self, key: Hashable, task: asyncio.Task[None]) -> None:
        del self._loads[key]
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, ShuttingDownError | ModelNotFoundError):  # removed meanwhile: nothing is broken
            logger.error("loading %s failed: %s", key.id if isinstance(key, Variant) else key, error)

    # Loading

    async def _load(self, found: ResolvedModel) -> None:
        async with self._one_load:
            description = await in_thread(self._described, found)
            size = estimate_bytes(description, self._context_length, paged=self._paged)
            await self._make_room(found.name, size)
            began = time.monotonic()
            model, lane = await self._reserving(found.name, size, lambda: self._load_lane(found))
            loaded = Loaded(model, description, size, self._keep_alive, lane)
            if self._residents.closed:
                self._residents.drop(loaded)
                raise ShuttingDownError("the server is shutting down")
            self._residents.add(loaded)
        logger.info("loaded %s in %.1f s", found.name, time.monotonic() - began)
        self._residents.start_timer(loaded)

    async def _load_lane(self, found: ResolvedModel) -> tuple[LanguageModel, LaneT]:
        model = await in_thread(self._load_model, found)
        return model, self._make_lane(model)

    async def _build(self, base: Loaded[LaneT], variant: Variant) -> None:
        self._residents.hold(base)  # the waiters may leave, and the model with them
        try:
            self._variants.require(variant.base, variant.name)
            self._make_room_now(variant.id, variant.nbytes)
            model = await self._reserving(variant.id, variant.nbytes, lambda: self._built(base.model, variant))
            self._refuse_when_closed()
            if self._variants.find(variant.base, variant.name) != variant:
                raise ModelNotFoundError(f"{variant.id} was removed while it was being built")
            description = describe_variant(base.description, variant)
            built = Built(model, description, variant.nbytes, self._keep_alive, variant)
            self._residents.add_variant(base, built)
            self._residents.start_timer(built)
        finally:
            self._residents.release(base, base.keep_alive)

    async def _built(self, base: LanguageModel, variant: Variant) -> LanguageModel:
        if variant.confined:
            await in_thread(self._adapter_paths.admit, str(variant.path))
        return await in_thread(build_variant, base, variant)

    async def _reserving(self, name: str, size: int, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """The result of a load, whose bytes count while it runs; every error as the class that requests get."""
        self._residents.reserved += size
        try:
            return await work()
        except BlazrError:
            raise
        except (MemoryError, DeviceMemoryError) as error:
            raise ModelMemoryError(f"{name} does not fit into memory: {error}") from error
        except Exception as error:
            raise ModelLoadError(f"cannot load {name}: {error or type(error).__name__}") from error
        finally:
            self._residents.reserved -= size

    async def _make_room(self, name: str, size: int) -> None:
        """Unload idle models until `name` may load; waits for models in use, for a while."""
        residents = self._residents
        budget = residents.memory_budget
        if budget is not None and size > budget:
            raise ModelMemoryError(
                f"{name} needs about {format_bytes(size)} and the memory budget is {format_bytes(budget)}"
                f" (--memory-budget); a shorter --num-ctx needs less{'' if self._paged else ', and so does --offload'}"
            )
        deadline = time.monotonic() + ROOM_TIMEOUT_SECONDS
        while residents.full or not residents.fits(size):
            self._refuse_when_closed()
            if residents.evict(model=residents.full):
                continue
            if time.monotonic() >= deadline:
                raise OverloadedError(
                    f"no room for {name}: all loaded models are in use (--max-models, --memory-budget)", 10.0
                )
            await asyncio.sleep(ROOM_POLL_SECONDS)  # a lane winds down without telling anyone
        if residents.closings:
            await asyncio.wait(residents.closings)  # their memory is free only when their lanes have ended

    def _make_room_now(self, name: str, size: int) -> None:
        """The same for an adapter, whose base is in use: what is idle leaves, and nothing is waited for."""
        if self._residents.memory_budget is not None and size > self._residents.memory_budget:
            self._refuse_adapter(name, size)  # before anything left for it in vain
        while not self._residents.fits(size):
            if not self._residents.evict(model=False):
                self._refuse_adapter(name, size)

    def _refuse_adapter(self, name: str, size: int) -> NoReturn:
        budget = format_bytes(self._residents.memory_budget or 0)
        raise ModelMemoryError(
            f"the adapter {name} needs {format_bytes(size)}, which the memory budget of {budget} has not left"
            " beside the models in use (--memory-budget)"
        )
