"""Text to token ids and back: tokenizer.json, SentencePiece models, and the vocabularies inside GGUF files.

Knows nothing of models or chat. The parts are imported when first used, so that importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostr.tokenizers.base import Tokenizer
    from boostr.tokenizers.detokenizer import Detokenizer
    from boostr.tokenizers.loading import from_directory, from_gguf

__all__ = ["Detokenizer", "Tokenizer", "from_directory", "from_gguf"]

_MODULES = {"Detokenizer": "detokenizer", "Tokenizer": "base", "from_directory": "loading", "from_gguf": "loading"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
