"""Log-probabilities of a prompt's own tokens, for `echo` with `logprobs`. Pure arithmetic on logits rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blazr.engine.events import PromptToken
from boostr.generate.chain import log_softmax

__all__ = ["append_prompt_tokens"]


def append_prompt_tokens(
    tokens: list[PromptToken], prompt_ids: Sequence[int], first: int, rows: NDArray[np.float32], count: int
) -> None:
    """Append the tokens that `rows` (R, vocab) predict: row i, of prompt token `first + i`, predicts the one after it.

    The first prompt token is predicted by nothing. `count` alternatives each, best first.
    """
    if first == 0:
        tokens.append(PromptToken(prompt_ids[0], None))
    for offset, row in enumerate(rows):
        at = first + offset + 1
        if at >= len(prompt_ids):
            return
        logprobs = log_softmax(row)
        best = np.argsort(-logprobs, kind="stable")[:count]
        top = tuple((int(token), float(logprobs[token])) for token in best)
        tokens.append(PromptToken(prompt_ids[at], float(logprobs[prompt_ids[at]]), top))
