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


def assert_same_answers(found: Any, expected: Any, step: float = 1.01e-4) -> None:
    """Equal but for one step of the last digit of a number, in the same order of keys."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_same_answers(found[key], expected[key], step)
    elif isinstance(expected, float):
        assert abs(found - expected) <= step
    else:
        assert (type(found), found) == (type(expected), expected)
