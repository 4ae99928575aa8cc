"""Loading a model for a command: resolve, show progress, say what was loaded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from blazr.cli.console import dim, note
from blazr.config import Settings
from blazr.errors import SettingsError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["load_for_command"]

QUIET_SECONDS = 1.0  # a load that is over sooner shows only its last line


def load_for_command(name: str, settings: Settings, lora: str | None = None) -> LanguageModel:
    """The model by path, name in the model directory, or cached hub id; `lora` is DIR or DIR=NAME.

    Raises ModelNotFoundError, SettingsError, BoostrError.
    """
    from blazr.lifecycle.facts import read_facts
    from blazr.lifecycle.loading import load_line, load_model, use_threads
    from blazr.lifecycle.resolve import resolve_local
    from blazr.progress import ByteProgress

    found = resolve_local(name, settings.inference.model_dir)
    use_threads(settings.inference)
    began = time.monotonic()
    with ByteProgress(f"loading {found.name}", after=QUIET_SECONDS) as progress:
        model = load_model(found, settings.inference, progress)
    note(dim(load_line(model, read_facts(found, settings.inference.chat_template), time.monotonic() - began)))
    return model if lora is None else _adapted(model, lora)


def _adapted(model: LanguageModel, lora: str) -> LanguageModel:
    from blazr.lifecycle.loading import adapt
    from blazr.lifecycle.variants import split_adapter

    try:
        path, name = split_adapter(lora)
    except ValueError as error:
        raise SettingsError(f"--lora {lora}: {error}") from None
    variant = adapt(model, path, f"{model.name}:{name}")
    if variant.adapter is not None:
        count, rank = variant.adapter.module_count, variant.adapter.rank
        note(dim(f"under the adapter {name} (rank {rank}, {count} modules)"))
    return variant
