"""boostr: language models and decision models on numr.

`boostr.load` gives a LanguageModel: logits, text and chat from one checkpoint. Names are imported on first use, so that
`import boostr` costs nothing. Knows no HTTP, processes or users: that is blazr.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostr.generate.language_model import Completion as Completion
    from boostr.generate.language_model import LanguageModel as LanguageModel
    from boostr.generate.load import load as load
    from boostr.generate.params import SamplingParams as SamplingParams

__version__ = "0.1.0"

_HOMES = {
    "Completion": "boostr.generate.language_model",
    "LanguageModel": "boostr.generate.language_model",
    "SamplingParams": "boostr.generate.params",
    "load": "boostr.generate.load",
}

__all__ = ["Completion", "LanguageModel", "SamplingParams", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'boostr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
