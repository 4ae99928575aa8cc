"""What the HTTP layer needs from the model store, and what the store needs from a lane.

The store (store.py) and the server are written against these types alone. `lifecycle` may not import `engine`: the
store is given a lane factory and is generic over the lane's type; it only ever closes lanes and asks whether they work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from blazr.lifecycle.variants import Variant

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Lease", "ModelDescription", "Models", "RunningModel", "ServedLane"]


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """A model as it lies on disk, read without loading its weights. Unknown values are None or empty."""

    id: str  # the name requests use; "base:variant" for a LoRA variant
    path: str
    created: int  # Unix seconds: modification time of the weights
    size: int = 0  # bytes of the weight files
    format: str | None = None  # "gguf" or "safetensors"
    family: str | None = None  # architecture: "llama", "qwen2", ...
    parameter_size: str | None = None  # "135M"
    quantization: str | None = None  # "Q4_1", "F16", ...
    context_length: int | None = None
    chat_template: str | None = None  # where the template comes from: "gguf jinja", "builtin chatml", ...
    chat_template_text: str | None = None
    # model_type, vocab_size, hidden_size, num_layers, max_seq_len
    info: Mapping[str, Any] = field(default_factory=dict)
    # bytes of weights that a pass needs at one time when they are paged in on use: the largest layer, and what is none
    working_set: int | None = None
    # more keys for the /v1/models entry: decision, base, rank, ...
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A model or variant in memory. `expires_at` is Unix seconds, None when it never expires on its own."""

    description: ModelDescription
    size: int  # bytes in memory
    expires_at: float | None
    size_vram: int = 0


class ServedLane(Protocol):
    """What the store may ask of a lane (engine.lane.Lane is one)."""

    @property
    def active(self) -> int:
        """Requests queued or running now."""
        ...

    def close(self, drain_seconds: float = 0.0) -> None:
        """Refuse new work, let running work finish for at most `drain_seconds`, fail the rest. Blocks."""
        ...


LaneT = TypeVar("LaneT", bound=ServedLane, covariant=True)


class Lease(Protocol[LaneT]):
    """One request's hold on a loaded model: while any lease is out, the model is neither evicted nor expired.

    A variant's `model` carries the `span_adapter` that its requests need; its `lane` is its base's.
    """

    @property
    def name(self) -> str:
        """The resolved name, as responses report it."""
        ...

    @property
    def model(self) -> "LanguageModel": ...

    @property
    def lane(self) -> LaneT: ...

    @property
    def load_seconds(self) -> float:
        """How long this acquire waited for a load; 0 when the model was in memory."""
        ...

    def release(self) -> None:
        """Give the hold back. Calling it again does nothing. Safe on the event loop: never blocks."""
        ...


class Models(Protocol[LaneT]):
    """The models a server can answer for. Coroutines run on the event loop and do file and load work in threads."""

    @property
    def ready(self) -> bool:
        """False until the start model (if any) is loaded: /health answers 503 meanwhile."""
        ...

    @property
    def default_name(self) -> str | None:
        """The model of requests that name none."""
        ...

    async def start(self) -> None:
        """Load the start model, if there is one; afterwards `ready` is true. Raises what `acquire` raises."""
        ...

    async def names(self) -> Sequence[str]:
        """Every name that `acquire` would accept, sorted, start model first."""
        ...

    async def describe(self, name: str) -> ModelDescription:
        """Describe without loading. Raises ModelNotFoundError."""
        ...

    async def acquire(
        self, name: str | None = None, *, adapter: str | None = None, keep_alive: float | None = None
    ) -> Lease[LaneT]:
        """Load if needed and hold the model.

        `name` None means `default_name`; "base:name", or `adapter` beside the base's name, means a variant.
        `keep_alive` is in seconds from the release: 0 unloads as soon as nobody holds the model, a negative or infinite
        number keeps it for ever, None leaves the store's default; a variant's use is a use of its base.

        Raises ModelNotFoundError, RequestError, ModelLoadError, ModelMemoryError, OverloadedError, ShuttingDownError.
        Cancelling a waiter does not cancel the load.
        """
        ...

    def variants(self) -> Sequence[Variant]:
        """Every registered variant, built or not. Does no I/O."""
        ...

    async def register(self, path: str, *, model: str | None = None, name: str | None = None) -> Variant:
        """Make the adapter at `path` a variant of `model` (None: `default_name`) and build it.

        Raises what `acquire` raises, AdapterPathError, AdapterExistsError and boostr's AdapterError. A failure leaves
        nothing registered.
        """
        ...

    async def unregister(self, name: str, *, model: str | None = None) -> Variant:
        """Forget a variant; requests that run on it finish. Raises ModelNotFoundError."""
        ...

    def running(self) -> Sequence[RunningModel]:
        """Models in memory, most recently used first. Does no I/O."""
        ...

    async def close(self, drain_seconds: float = 0.0) -> None:
        """Refuse new leases, close every lane (draining at most `drain_seconds` in all), drop the models."""
        ...
