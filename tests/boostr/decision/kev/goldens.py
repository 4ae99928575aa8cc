"""Kev 1.0's own results on a small tokenizer, synthetic heads and a tiny random model."""

import json
import shutil
from pathlib import Path
from typing import Any

from boostr.decision.kev.rows import Delimited
from boostr.tokenizers import from_directory

DATA = Path(__file__).parents[3] / "data" / "decision" / "kev"


def golden(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def small_rows() -> Delimited:
    return Delimited(from_directory(DATA / "tokenizer_small"))


def head_alone(name: str, directory: Path) -> Path:
    """`directory` with the head of that name, beside an adapter's configuration, as Kev's loader asks for."""
    shutil.copy(DATA / "head" / name / "head.pt", directory)
    shutil.copy(DATA / "e2e" / "kev-tiny" / "adapter_config.json", directory)
    return directory
