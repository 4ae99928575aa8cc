"""Loading a model for a command: resolve, show progress, say what was loaded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from blazr.cli.console import dim, note
from blazr.config import Settings

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["load_for_command"]

QUIET_SECONDS = 1.0  # a load that is over sooner shows only its last line


def load_for_command(name: str, settings: Settings) -> LanguageModel:
    """The model by path, name in the model directory, or cached hub id. Raises ModelNotFoundError, BoostrError."""
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
    return model
