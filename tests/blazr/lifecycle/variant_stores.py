"""What tests of variants in a store share: counted builds, a lane that does nothing, and waiting for a state."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from blazr.lifecycle.loading import build_variant
from blazr.lifecycle.store import ModelStore
from blazr.lifecycle.variants import Variant

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
