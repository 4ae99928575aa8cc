"""What is in memory: loaded models and the variants built on them, who holds them, when they leave.

Everything runs on the event loop's thread; only the end of a lane runs in a thread. Knows not how anything is loaded.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from blazr.lifecycle.protocol import LaneT, ModelDescription
from blazr.lifecycle.threads import in_thread
from blazr.lifecycle.variants import Variant

if TYPE_CHECKING:
    from blazr.metrics import Metrics
    from boostr.generate.language_model import LanguageModel

__all__ = ["Built", "Loaded", "Resident", "Residents"]

logger = logging.getLogger("blazr.models")
EXPIRY_RETRY_SECONDS = 0.1


@dataclass(eq=False)
class Resident:
    """Something in memory that requests hold. `size` is in bytes."""

    model: LanguageModel
    description: ModelDescription
    size: int
    keep_alive: float
    leases: int = field(default=0, kw_only=True)
    last_used: float = field(default_factory=time.monotonic, kw_only=True)
    expires_at: float | None = field(default=None, kw_only=True)
    timer: asyncio.TimerHandle | None = field(default=None, kw_only=True)

    @property
    def key(self) -> Hashable:
        """What those who wait for it are counted under."""
        return self.description.id


@dataclass(eq=False)
class Built(Resident):
    """A variant. Whoever holds it holds its base too."""

    variant: Variant

    @property
    def key(self) -> Hashable:
        return self.variant


@dataclass(eq=False)
class Loaded(Resident, Generic[LaneT]):
    """A model with its lane and the variants that are built on it, by name."""

    lane: LaneT
    variants: dict[str, Built] = field(default_factory=dict)


class Residents(Generic[LaneT]):
    """Loaded models by name.

    A model leaves only when nobody holds it, waits for it, or runs on its lane; its variants leave before it. Variants
    count by their bytes; `max_models` is about models.
    """

    def __init__(
        self,
        max_models: int,
        memory_budget: int | None,
        keep_alive: float,
        wanted: Callable[[Hashable], bool],
        metrics: Metrics | None = None,
    ) -> None:
        self.models: dict[str, Loaded[LaneT]] = {}
        self.memory_budget = memory_budget
        self.reserved = 0  # bytes of what is being loaded
        self.closings: set[asyncio.Future[None]] = set()
        self.closed = False
        self._max_models = max_models
        self._keep_alive = keep_alive
        self._wanted = wanted
        self._metrics = metrics

    def __iter__(self) -> Iterator[Resident]:
        for loaded in self.models.values():
            yield loaded
            yield from loaded.variants.values()

    def add(self, loaded: Loaded[LaneT]) -> None:
        self.models[loaded.description.id] = loaded
        self._count(loads=1)

    def add_variant(self, base: Loaded[LaneT], built: Built) -> None:
        base.variants[built.variant.name] = built
        self._count(loads=1)

    # Holding

    def hold(self, one: Resident) -> None:
        one.leases += 1
        one.last_used = time.monotonic()
        self._stop_timer(one)

    def release(self, one: Resident, keep_alive: float | None) -> None:
        """`keep_alive` None means the usual one."""
        one.leases -= 1
        one.last_used = time.monotonic()
        one.keep_alive = self._keep_alive if keep_alive is None else keep_alive
        if not one.leases:
            self.start_timer(one)

    # Room

    def fits(self, size: int) -> bool:
        """Whether `size` more bytes are within the budget."""
        used = self.reserved + sum(one.size for one in self)
        return self.memory_budget is None or used + size <= self.memory_budget

    @property
    def full(self) -> bool:
        """Whether one more model would be too many."""
        return len(self.models) >= self._max_models

    def evict(self, *, model: bool) -> bool:
        """Unload the least recently used idle one; False when nothing is idle. `model`: a variant would not help."""
        idle = [one for one in self if self._idle(one)]
        if model:
            idle = [one for one in idle if isinstance(one, Loaded)]
        else:
            idle = [one for one in idle if not (isinstance(one, Loaded) and one.variants)]
        if not idle:
            return False
        self.drop(min(idle, key=lambda one: one.last_used))
        return True

    def drop(self, one: Resident, drain_seconds: float = 0.0) -> None:
        """Unload now, variants before their base. A variant's memory is free when the last request on it has ended."""
        self._stop_timer(one)
        if isinstance(one, Built):
            base = self.models.get(one.variant.base)
            if base is not None and base.variants.get(one.variant.name) is one:
                del base.variants[one.variant.name]
                self._count(evictions=1)
        elif isinstance(one, Loaded):
            for built in list(one.variants.values()):
                self.drop(built)
            self.models.pop(one.description.id, None)
            self._count(evictions=1)
            self._close(one, drain_seconds)

    def _idle(self, one: Resident) -> bool:
        running = isinstance(one, Loaded) and one.lane.active
        return not (one.leases or running or self._wanted(one.key))

    def _close(self, loaded: Loaded[LaneT], drain_seconds: float) -> None:
        def end() -> None:
            try:
                loaded.lane.close(drain_seconds)
                loaded.model.close()
            except Exception:
                logger.exception("unloading %s failed", loaded.description.id)

        task = asyncio.ensure_future(in_thread(end))
        self.closings.add(task)
        task.add_done_callback(self.closings.discard)

    # Expiry

    def start_timer(self, one: Resident) -> None:
        """Let it expire when its keep-alive has passed."""
        self._stop_timer(one)
        if not 0 <= one.keep_alive < math.inf:
            return
        one.expires_at = time.time() + one.keep_alive
        one.timer = asyncio.get_running_loop().call_later(one.keep_alive, self._expire, one)

    def _stop_timer(self, one: Resident) -> None:
        if one.timer is not None:
            one.timer.cancel()
        one.timer, one.expires_at = None, None

    def _expire(self, one: Resident) -> None:
        if all(one is not other for other in self):
            return
        if self._idle(one):
            logger.info("unloading %s: unused for %.0f s", one.description.id, one.keep_alive)
            self.drop(one)
        else:  # a waiter is about to take it, or its lane is still winding down a request
            one.timer = asyncio.get_running_loop().call_later(EXPIRY_RETRY_SECONDS, self._expire, one)

    def _count(self, loads: int = 0, evictions: int = 0) -> None:
        if self._metrics is not None:
            self._metrics.loads.inc(loads)
            self._metrics.evictions.inc(0 if self.closed else evictions)
            self._metrics.models_loaded.set(sum(1 for _ in self))
