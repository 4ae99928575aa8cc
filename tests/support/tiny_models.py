"""A model store for server tests: tiny models in memory, each with a real lane, behind the protocol of ModelStore."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from blazr.engine import Lane, LaneLimits
from blazr.errors import AdapterPathError, ModelNotFoundError, ShuttingDownError
from blazr.lifecycle.protocol import ModelDescription, RunningModel
from blazr.lifecycle.variants import Variant
from blazr.metrics import Metrics
from tests.support.tiny import TinyModel


@dataclass
class TinyLease:
    name: str
    model: TinyModel
    lane: Lane
    store: TinyModels
    load_seconds: float = 0.0
    held: bool = True

    def release(self) -> None:
        if self.held:
            self.held = False
            self.store.leases -= 1


@dataclass
class TinyModels:
    """Serves `models`; the first is the default."""

    models: Sequence[TinyModel]
    metrics: Metrics = field(default_factory=Metrics)
    limits: LaneLimits = field(default_factory=LaneLimits)
    ready: bool = True
    leases: int = 0
    keep_alives: list[float | None] = field(default_factory=list)
    load_gate: asyncio.Event | None = None  # when set, acquire waits for it
    closed: bool = False

    def __post_init__(self) -> None:
        self.lanes = {model.name: Lane(model, self.limits, self.metrics) for model in self.models}

    @property
    def default_name(self) -> str | None:
        return self.models[0].name

    async def start(self) -> None:
        self.ready = True

    async def names(self) -> Sequence[str]:
        return [model.name for model in self.models]

    async def describe(self, name: str) -> ModelDescription:
        model = self._find(name)
        template = model.chat_template
        return ModelDescription(
            id=model.name,
            path=str(model.path),
            created=1_700_000_000,
            size=12345,
            format="gguf",
            family="tiny",
            parameter_size="1K",
            quantization="F32",
            context_length=model.context_length,
            chat_template=template.source if template else None,
            chat_template_text=template.text if template else None,
            info={"model_type": "tiny", "vocab_size": model.vocab_size},
        )

    def variants(self) -> Sequence[Variant]:
        return []

    async def register(self, path: str, *, model: str | None = None, name: str | None = None) -> Variant:
        raise AdapterPathError(f"path {path} is not allowed here")

    async def unregister(self, name: str, *, model: str | None = None) -> Variant:
        raise ModelNotFoundError(f"no adapter named {name!r}")

    async def acquire(
        self, name: str | None = None, *, adapter: str | None = None, keep_alive: float | None = None
    ) -> TinyLease:
        if self.closed:
            raise ShuttingDownError("shutting down")
        model = self._find(name or self.models[0].name)
        if adapter:
            raise ModelNotFoundError(f"model {model.name} has no adapter named {adapter!r}")
        if self.load_gate is not None:
            await self.load_gate.wait()
        self.leases += 1
        self.keep_alives.append(keep_alive)
        return TinyLease(model.name, model, self.lanes[model.name], self)

    def running(self) -> Sequence[RunningModel]:
        return [
            RunningModel(ModelDescription(model.name, str(model.path), 0), 999, time.time() + 60)
            for model in self.models
        ]

    async def close(self, drain_seconds: float = 0.0) -> None:
        self.closed = True
        await asyncio.gather(*(asyncio.to_thread(lane.close, drain_seconds) for lane in self.lanes.values()))

    def _find(self, name: str) -> TinyModel:
        for model in self.models:
            if model.name == name:
                return model
        raise ModelNotFoundError(f"no model named {name!r}; known are {', '.join(m.name for m in self.models)}")
