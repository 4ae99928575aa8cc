"""The one way a model gets into memory, for the server and every command. Knows settings, not flags."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazr.config import InferenceSettings
from blazr.lifecycle.facts import ModelFacts
from blazr.lifecycle.resolve import ResolvedModel
from blazr.lifecycle.variants import Variant

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["adapt", "build_variant", "load_line", "load_model", "use_threads"]


def load_model(
    found: ResolvedModel, inference: InferenceSettings, progress: Callable[[int, int], None] | None = None
) -> LanguageModel:
    """Load as the settings say, under the name it was found by. Raises BoostrError."""
    from boostr.generate.load import load

    given: dict[str, Any] = {} if inference.activations is None else {"activations": inference.activations}
    model = load(
        found.path,
        precise=inference.precise,
        context_length=inference.max_context_len,
        chat_template=inference.chat_template,
        cache_dtype=inference.cache_dtype,
        progress=progress,
        **given,
    )
    model.name = found.name
    return model


def adapt(model: LanguageModel, path: Path, name: str) -> LanguageModel:
    """The variant of a loaded model under the adapter at `path`. Raises AdapterError."""
    from boostr.peft import PeftAdapter

    return model.derive_with_adapter(PeftAdapter.load(path), name)


def build_variant(model: LanguageModel, variant: Variant) -> LanguageModel:
    """The same for a registered variant, under the name that requests use."""
    return adapt(model, variant.path, variant.id)


def use_threads(inference: InferenceSettings) -> None:
    """Set the thread count of this process where the settings name one."""
    if inference.threads is not None:
        import numr

        numr.set_num_threads(inference.threads)


def load_line(model: LanguageModel, facts: ModelFacts, seconds: float) -> str:
    """What was loaded, for a person."""
    kind = f"{facts.format.upper() if facts.format == 'gguf' else 'SafeTensors'} {facts.quantization}"
    layers = f", {facts.num_layers} layers" if facts.num_layers else ""
    return (
        f"loaded {model.name} ({model.report.architecture}, {kind}{layers}, context {model.context_length})"
        f" in {seconds:.1f} s"
    )
