"""Writes one generation to stdout as it comes, and its numbers to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blazr.cli.console import dim, note
from blazr.config import GenerationSettings
from blazr.errors import SettingsError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Answer", "report", "write_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was written, how long it took, and whether Ctrl-C ended it."""

    text: str
    tokens: int
    seconds: float
    interrupted: bool = False


def write_answer(
    model: LanguageModel,
    prompt_ids: Sequence[int],
    generation: GenerationSettings,
) -> Answer:
    """Generate from token ids. Raises ContextLengthError or ParameterError before anything is written."""
    from boostr.generate.decode import decode
    from boostr.generate.params import SamplingParams

    if sys.stdout is None:
        raise SettingsError("stdout is closed: there is nowhere to write the text")
    texts: list[str] = []
    tokens = 0
    interrupted = False
    began = time.monotonic()
    pieces = decode(model, prompt_ids, SamplingParams(**generation.sampling()))
    try:
        for _, piece in pieces:
            tokens += piece.token is not None
            if piece.text:
                texts.append(piece.text)
                _write(piece.text)
    except KeyboardInterrupt:
        interrupted = True
    if not texts or not texts[-1].endswith("\n"):
        _write("\n")
    return Answer("".join(texts), tokens, time.monotonic() - began, interrupted)


def report(answer: Answer) -> None:
    """`[N tokens, X tok/s, Ys]` on stderr."""
    rate = answer.tokens / answer.seconds if answer.seconds > 0 else 0.0
    note(dim(f"[{answer.tokens} tokens, {rate:.1f} tok/s, {answer.seconds:.1f}s]"))


def _write(text: str) -> None:
    # A terminal or pipe that cannot show a character gets a substitute: generation must not die of an emoji.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
