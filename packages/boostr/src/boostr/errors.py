"""Every error boostr raises on purpose: one class per thing a caller can do differently.

BoostrError
├── ModelNotFoundError      no such file, directory or cached hub id: check the name, or pull it
├── FormatError             the bytes on disk are not what the format says: fetch the file again
├── ConfigError             config.json or GGUF metadata is missing a value or contradicts itself
├── UnsupportedModelError   the architecture, tokenizer or feature is not implemented
├── WeightsError            checkpoint tensors are missing, left over or of the wrong shape
├── AdapterError            a PEFT adapter cannot be applied
│   ├── AdapterNotFoundError  no adapter at that path: check it
│   ├── AdapterFormatError    its files are damaged, incomplete or use what is not implemented: export it again
│   └── AdapterMismatchError  it does not fit this base: choose the base it was trained on
├── TokenizerError          a vocabulary is unusable, or ids are out of range
├── TemplateError           a chat template does not compile, or failed while rendering
│   └── TemplateRefusal     the template itself refused the conversation (raise_exception)
├── ParameterError          a sampling or generation parameter is out of its range
├── ContextLengthError      the prompt does not fit the model's context
├── DecisionError           a decision request cannot be answered
│   ├── QuestionError         it is malformed: `detail` says where, in the family's words
│   └── DecisionLimitError    it is over a size limit: ask less, or raise the limit
├── NumericalError          the model produced NaN or infinite logits
└── DeviceMemoryError       the model or its cache does not fit the device
"""

from typing import Any, Self

__all__ = [
    "AdapterError",
    "AdapterFormatError",
    "AdapterMismatchError",
    "AdapterNotFoundError",
    "BoostrError",
    "ConfigError",
    "ContextLengthError",
    "DecisionError",
    "DecisionLimitError",
    "DeviceMemoryError",
    "FormatError",
    "ModelNotFoundError",
    "NumericalError",
    "ParameterError",
    "QuestionError",
    "TemplateError",
    "TemplateRefusal",
    "TokenizerError",
    "UnsupportedModelError",
    "WeightsError",
]


class BoostrError(Exception):
    """Base of every error that boostr raises on purpose."""


class ModelNotFoundError(BoostrError, FileNotFoundError):
    """Nothing on disk, or in the hub cache, answers to this name."""


class FormatError(BoostrError, ValueError):
    """The bytes on disk are not what the format says; names the file and the field or tensor."""


class ConfigError(BoostrError, ValueError):
    """A model's configuration lacks a value or contradicts itself; names the key."""


class UnsupportedModelError(BoostrError):
    """The architecture, tokenizer or feature is not implemented; lists what is."""


class WeightsError(BoostrError, ValueError):
    """Checkpoint tensors are missing, left over, or have the wrong shape; lists their names."""


class AdapterError(BoostrError, ValueError):
    """A PEFT adapter cannot be applied; names the file and the key."""


class AdapterNotFoundError(AdapterError, FileNotFoundError):
    """There is no adapter at this path."""


class AdapterFormatError(AdapterError):
    """An adapter's files are damaged or incomplete, or ask for what is not implemented; names file, key and remedy."""


class AdapterMismatchError(AdapterError):
    """An adapter does not fit the base model; names modules of both."""


class TokenizerError(BoostrError, ValueError):
    """A vocabulary is unusable, or token ids are out of range."""


class TemplateError(BoostrError, ValueError):
    """A chat template does not compile, or failed while rendering."""


class TemplateRefusal(TemplateError):
    """The template called raise_exception: the conversation is not one it accepts."""


class ParameterError(BoostrError, ValueError):
    """A sampling or generation parameter is out of range. `param` is its name."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ContextLengthError(BoostrError, ValueError):
    """The prompt does not fit the context. Carries both numbers."""

    def __init__(self, n_prompt: int, n_ctx: int) -> None:
        super().__init__(f"the prompt has {n_prompt} tokens and the context holds {n_ctx}; shorten the prompt")
        self.n_prompt = n_prompt
        self.n_ctx = n_ctx

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        return type(self), (self.n_prompt, self.n_ctx)  # made of numbers, where Exception would pass on its message


class DecisionError(BoostrError, ValueError):
    """A decision request cannot be answered. `detail` is what the family's vendor would say: a text or a JSON list."""

    def __init__(self, detail: str | list[dict[str, Any]]) -> None:
        super().__init__(detail if isinstance(detail, str) else _first_message(detail))
        self.detail = detail


class QuestionError(DecisionError):
    """The request is malformed."""


class DecisionLimitError(DecisionError):
    """The request is over a size limit."""


def _first_message(detail: list[dict[str, Any]]) -> str:
    first = detail[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


class NumericalError(BoostrError, ArithmeticError):
    """The model produced NaN or infinite logits: its weights or its input are broken."""


class DeviceMemoryError(BoostrError, MemoryError):
    """The model or its cache does not fit the device; gives the estimate and the limit."""
