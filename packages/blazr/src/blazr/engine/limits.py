"""How much a lane takes on. The numbers are policy; docs/http-api.md tells operators about them."""

from dataclasses import dataclass

__all__ = ["LaneLimits"]


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """Bounds of one lane."""

    max_sequences: int = 16  # sequences (choices) that run at one time; further requests wait
    max_queue: int = 128  # requests that may wait; beyond it OverloadedError
    max_inflight_tokens: int = 0  # prompt plus possible answer tokens admitted at one time; 0: no limit
    step_seconds: float = 0.2  # what a step with prompt tokens in it should take: the budget follows
