"""How many prompt tokens the next step may take. Pure arithmetic over measured times; knows no model."""

__all__ = ["StepBudget"]

_FIRST = 32
_MOST = 2048  # bounds a step's activations; products gain little beyond
_SHRINK = 0.1  # a budget may fall this far in one step, so that one slow step is enough to learn from
_GROW = 2.0
_DECODE_LIKE = 4  # a step with this few prompt tokens costs what its decodes cost
_PROMPT_SHARE = 0.25  # of the target that prompts get even when decodes alone use it up


class StepBudget:
    """A token budget that steers the time of a step towards `target` seconds.

    Everybody who decodes waits for the whole step, and a cancellation is seen between steps only, so a step must stay
    short whatever the machine, the model and the depth of the context. Those set the speed, so it is measured.
    """

    def __init__(self, target: float) -> None:
        self.target = target
        self.tokens = _FIRST
        self._decode_seconds = 0.0  # of a step without prompts, lately

    def observe(self, prompt_tokens: int, decodes: int, seconds: float) -> None:
        """Learn from a step of `prompt_tokens` prompt tokens and `decodes` decoding sequences."""
        if decodes and prompt_tokens <= _DECODE_LIKE:
            self._decode_seconds += 0.3 * (seconds - self._decode_seconds)
        if not prompt_tokens:
            return
        base = min(self._decode_seconds, 0.9 * seconds) if decodes else 0.0
        allowed = max(self.target - base, _PROMPT_SHARE * self.target)
        ratio = allowed / max(seconds - base, 1e-6)
        if ratio < 1.0:
            self.tokens = max(1, int(min(prompt_tokens, self.tokens) * max(ratio, _SHRINK)))
        elif prompt_tokens >= 0.75 * self.tokens:
            self.tokens = min(_MOST, max(self.tokens + 1, int(self.tokens * min(ratio, _GROW))))
