"""What a caller may ask of one generation. Validates itself; knows no tokenizer, model or wire format."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from boostr.errors import ParameterError

__all__ = ["SamplingParams"]

MAX_TOP_LOGPROBS = 20
_SEEDS = 2**64

_WHOLE = ("max_tokens", "top_k", "repeat_last_n", "seed", "logprobs")
_OPTIONAL = ("max_tokens", "seed", "logprobs")
_NUMBERS = ("temperature", "top_p", "min_p", "repeat_penalty", "frequency_penalty", "presence_penalty")


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Parameters of one generated sequence.

    Greedy means `temperature == 0`; a seed alone does not make it greedy. Penalties look at the last `repeat_last_n`
    tokens of prompt and output together (0: none, -1: all). Raises ParameterError naming the field.
    """

    max_tokens: int | None = 256  # None: until the context is full
    temperature: float = 1.0  # 0 is greedy
    top_p: float = 1.0  # 1 is off
    top_k: int = 0  # 0 is off
    min_p: float = 0.0  # fraction of the best token's probability; 0 is off
    repeat_penalty: float = 1.0  # divides positive logits, multiplies negative ones; 0.01 to 10, 1 is off
    repeat_last_n: int = 64
    frequency_penalty: float = 0.0  # subtracted once per occurrence
    presence_penalty: float = 0.0  # subtracted once per token that occurred
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int | None = None
    stop: Sequence[str] = ()  # one string, or several; kept as a tuple
    logprobs: int | None = None  # None: none; n: the sampled token's and the n best, 0..20
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        for name in _WHOLE:
            if name not in _OPTIONAL or getattr(self, name) is not None:
                object.__setattr__(self, name, _whole(name, getattr(self, name)))
        for name in _NUMBERS:
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        object.__setattr__(self, "stop", _texts(self.stop))
        self._check_ranges()
        self._check_biases()

    def for_choice(self, choice: int) -> SamplingParams:
        """The parameters of one of several continuations: the same but for the seed, which is `seed + choice`."""
        if self.seed is None or choice == 0:
            return self
        seed = self.seed + choice
        return replace(self, seed=seed if seed < _SEEDS else seed - _SEEDS)

    def _check_ranges(self) -> None:
        _within("max_tokens", self.max_tokens, 1, None)
        _within("temperature", self.temperature, 0.0, 2.0)
        _within("top_p", self.top_p, 0.0, 1.0)
        _within("top_k", self.top_k, 0, None)
        _within("min_p", self.min_p, 0.0, 1.0)
        _within("repeat_penalty", self.repeat_penalty, 0.01, 10.0)
        _within("repeat_last_n", self.repeat_last_n, -1, None)
        _within("frequency_penalty", self.frequency_penalty, -2.0, 2.0)
        _within("presence_penalty", self.presence_penalty, -2.0, 2.0)
        _within("logprobs", self.logprobs, 0, MAX_TOP_LOGPROBS)
        _within("seed", self.seed, -(2**63), _SEEDS - 1)

    def _check_biases(self) -> None:
        if not isinstance(self.logit_bias, Mapping):
            raise ParameterError("logit_bias must map token ids to numbers", "logit_bias")
        for token, bias in self.logit_bias.items():
            if not isinstance(token, int) or token < 0 or not _is_number(bias) or not -100 <= bias <= 100:
                raise ParameterError(
                    f"logit_bias[{token!r}] is {bias!r}: token ids map to numbers from -100 to 100", "logit_bias"
                )


def _whole(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # also NumPy's integers
    except TypeError:
        pass
    raise ParameterError(f"{name} is {value!r}: it must be a whole number", name)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(name: str, value: Any) -> float:
    if not _is_number(value) or not math.isfinite(value):
        raise ParameterError(f"{name} is {value!r}: it must be a finite number", name)
    return float(value)


def _texts(stop: Any) -> tuple[str, ...]:
    texts = (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, Iterable) else (stop,)
    if any(not isinstance(text, str) or not text for text in texts):
        raise ParameterError("stop holds an empty string or a value that is not a string", "stop")
    return texts


def _within(name: str, value: float | None, low: float, high: float | None) -> None:
    if value is None:
        return
    if value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ParameterError(f"{name} is {value}: it must be {bounds}", name)
