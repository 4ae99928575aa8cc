"""PEFT's rank_pattern and alpha_pattern: which value a module takes.

Their keys are regular expressions of whoever made the adapter, so only such as cannot run away are matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from boostr.errors import AdapterFormatError
from boostr.peft.shown import shown

__all__ = ["MOST_PATTERNS", "check_pattern", "check_patterns", "value_of"]

_LONGEST = 200
# Above what keys of real adapters hold: "layers\\.\\d+\\..*q_proj", "(q|k|v)_proj", "^model\\.layers\\.(0|1)\\..*".
_REPEATS = 3
_GROUPS = 2

MOST_PATTERNS = 4096  # keys; one for each linear map of a dense model of 80 layers is 560
# Steps of all matches together: a few seconds. One match takes what calling it costs, and the k repeats and the dot
# before the key may each stand anywhere in a path of n characters: n^(k+1) / (2 (k+1)!).
_STEPS = 1e9
_CALL = 200
_FACTORIALS = (1, 2, 6, 24)


def value_of(patterns: Mapping[str, float], module: str, otherwise: float) -> float:
    """The value of the first key that matches `module`, a path such as "model.layers.0.self_attn.q_proj".

    A key matches the whole path, or its end after a dot: PEFT's rule.
    """
    for key, value in patterns.items():
        if _compiled(key).match(module):
            return value
    return otherwise


@lru_cache(2 * MOST_PATTERNS)
def _compiled(key: str) -> re.Pattern[str]:
    return re.compile(rf"(.*\.)?({key})$")


def check_patterns(patterns: Mapping[str, float], modules: Iterable[str], where: str) -> None:
    """Raises AdapterFormatError where matching all keys with all modules would take very long."""
    lengths = [len(module) for module in modules]
    one_key = [
        sum(_CALL + n ** (repeats + 1) / (2 * factorial) for n in lengths)
        for repeats, factorial in enumerate(_FACTORIALS)
    ]
    if sum(shape.choices * one_key[shape.repeats] for shape in map(_shape, patterns)) > _STEPS:
        raise AdapterFormatError(
            f"{where}: to match its {len(patterns)} patterns with {len(lengths)} modules of up to {max(lengths)} "
            "characters would take very long; name modules in place of patterns, or fewer"
        )


def check_pattern(key: str, where: str) -> None:
    """Raises AdapterFormatError for a key that is no regular expression, or one that may take very long to match."""
    shape = _shape(key)
    backward = re.search(r"\\[1-9]|\(\?", key)
    if len(key) > _LONGEST or shape.repeats > _REPEATS or shape.groups > _GROUPS or shape.repeats_group or backward:
        raise AdapterFormatError(
            f"{where}: the pattern {shown(key)} is too involved: at most {_LONGEST} characters, {_REPEATS} repeats, "
            f"none of a group, and {_GROUPS} plain groups; name the modules instead"
        )
    try:
        _compiled(key)
    except re.error as error:
        raise AdapterFormatError(f"{where}: the pattern {shown(key)} is no regular expression: {error}") from error


class _Shape(NamedTuple):
    """What the time to match a key depends on. `choices`: ways through its alternatives, at most."""

    repeats: int
    groups: int
    repeats_group: bool
    choices: int


def _shape(key: str) -> _Shape:
    plain = re.sub(r"\\.", "x", key)  # escaped characters neither repeat nor group
    plain = re.sub(r"\[[^\]]*\]", "x", plain)
    groups = plain.count("(")
    repeats_group = re.search(r"\)[*+?{]", plain) is not None
    return _Shape(len(re.findall(r"[*+?{]", plain)), groups, repeats_group, (1 + plain.count("|")) ** max(groups, 1))
