"""What a lane tells the consumer of one request. Plain data, made on the lane's thread and read on the event loop."""

from dataclasses import dataclass

from boostr.generate import Piece

__all__ = ["Completed", "Event", "Output", "PromptDone", "PromptToken", "Usage"]


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One prompt token with the model's log-probability for it; the first token of a prompt has none."""

    token: int
    logprob: float | None
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptDone:
    """The prompt has run. `tokens` is filled only when the request asked for prompt log-probabilities."""

    tokens: tuple[PromptToken, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A piece of one choice's text. The choice's last piece carries its finish_reason."""

    choice: int
    piece: Piece


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and times of a finished request. The prompt counts once, drawn tokens over all choices."""

    prompt_tokens: int
    completion_tokens: int
    queue_seconds: float
    prompt_seconds: float
    decode_seconds: float


@dataclass(frozen=True, slots=True)
class Completed:
    """Every choice has finished: the last event."""

    usage: Usage


Event = PromptDone | Output | Completed
