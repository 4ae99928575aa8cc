"""Results of the release's own joint_schema_model.py, on a small tokenizer and tiny random weights."""

import json
from pathlib import Path
from typing import Any

from boostr.tokenizers import from_directory
from boostr.tokenizers.base import Tokenizer

DATA = Path(__file__).parents[3] / "data" / "decision" / "clef"


def golden(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def small_tokenizer() -> Tokenizer:
    return from_directory(DATA / "tokenizer_small")
