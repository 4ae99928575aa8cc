"""From request fields to SamplingParams: the server's defaults, OpenAI's spellings, and bounds on what costs work."""

from typing import Any

from blazr.config import GenerationSettings
from blazr.config.values import duration
from blazr.errors import RequestError
from blazr.server.openai.schemas import GenerationFields
from boostr.generate import SamplingParams

__all__ = ["MAX_CHOICES", "choices", "keep_alive_seconds", "sampling_params"]

MAX_CHOICES = 16
MAX_STOPS = 16
MAX_STOP_LENGTH = 1000
_DIRECT = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repeat_penalty",
    "repeat_last_n",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "ignore_eos",
)


def sampling_params(fields: GenerationFields, defaults: GenerationSettings, logprobs: int | None) -> SamplingParams:
    """Raises RequestError or ParameterError naming the field."""
    max_tokens = fields.max_tokens if fields.max_completion_tokens is None else fields.max_completion_tokens
    values: dict[str, Any] = defaults.sampling()
    values |= {name: getattr(fields, name) for name in _DIRECT if getattr(fields, name) is not None}
    if max_tokens is not None:
        # -1 means "as many as fit", which several clients send; OpenAI would refuse it.
        values["max_tokens"] = None if max_tokens == -1 else max_tokens
    if fields.stop is not None:
        values["stop"] = _stops(fields.stop)
    if fields.logit_bias is not None:
        values["logit_bias"] = _biases(fields.logit_bias)
    return SamplingParams(**values, logprobs=logprobs)


def choices(n: int | None) -> int:
    """The number of choices, bounded."""
    if n is None:
        return 1
    if not 1 <= n <= MAX_CHOICES:
        raise RequestError(f"n is {n}: it must be from 1 to {MAX_CHOICES}", "n")
    return n


def keep_alive_seconds(value: str | float | None) -> float | None:
    """Ollama's keep_alive: seconds, or a text as 5m; negative for ever; None where the request says nothing."""
    if value is None:
        return None
    try:
        return float(duration(value))
    except ValueError as error:
        raise RequestError(f"keep_alive {error}, not {str(value)[:40]!r}", "keep_alive") from None


def _stops(stop: str | list[str]) -> tuple[str, ...]:
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    if len(stops) > MAX_STOPS:
        raise RequestError(f"stop has {len(stops)} texts: at most {MAX_STOPS} are taken", "stop")
    for text in stops:
        if not text:
            raise RequestError("stop holds an empty text, which would stop everywhere; leave it out", "stop")
        if len(text) > MAX_STOP_LENGTH:
            raise RequestError(f"a stop text is longer than {MAX_STOP_LENGTH} characters", "stop")
    return stops


def _biases(biases: dict[str, float]) -> dict[int, float]:
    found = {}
    for key, bias in biases.items():
        if not (key.isascii() and key.isdigit()) or len(key) > 9:
            raise RequestError(f"logit_bias has the key {key[:40]!r}: keys are token ids", "logit_bias")
        found[int(key)] = bias
    return found
