"""The vendor's own results, made by decider-ai 1.10.0 on a small tokenizer and a tiny random model."""

import json
from pathlib import Path
from typing import Any

from boostr.chat import resolve_template
from boostr.decision.decider.config import DeciderConfig
from boostr.decision.decider.rows import Prompt
from boostr.decision.family import Row
from boostr.tokenizers import from_directory

DATA = Path(__file__).parents[3] / "data" / "decision" / "decider"
TINY = DATA / "tiny_model"


def golden(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def prompt_of(config: DeciderConfig) -> Prompt:
    tokenizer = from_directory(TINY)
    template = resolve_template(None, metadata={}, directory=TINY, model_type="qwen3_5_text", tokenizer=tokenizer)
    return Prompt(tokenizer, template if config.layout == "chat" else None)


def joined(context: list[int], end: Row) -> Row:
    """A whole row of its context and what is behind it."""
    return Row([*context, *end.ids], [len(context) + read for read in end.reads])
