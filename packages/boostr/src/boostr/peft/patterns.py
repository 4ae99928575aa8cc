"""PEFT's rank_pattern and alpha_pattern: which value a module takes.

Their keys are regular expressions of whoever made the adapter, so only such as cannot run away are matched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from boostr.errors import AdapterFormatError
from boostr.peft.shown import shown

__all__ = ["check_pattern", "value_of"]

_LONGEST = 200
# Above what keys of real adapters hold: "layers\\.\\d+\\..*q_proj", "(q|k|v)_proj", "^model\\.layers\\.(0|1)\\..*".
_REPEATS = 3
_GROUPS = 2


def value_of(patterns: Mapping[str, float], module: str, otherwise: float) -> float:
    """The value of the first key that matches `module`, a path such as "model.layers.0.self_attn.q_proj".

    A key matches the whole path, or its end after a dot: PEFT's rule.
    """
    for key, value in patterns.items():
        if re.match(rf"(.*\.)?({key})$", module):
            return value
    return otherwise


def check_pattern(key: str, where: str) -> None:
    """Raises AdapterFormatError for a key that is no regular expression, or one that may take very long to match."""
    plain = re.sub(r"\\.", "x", key)  # escaped characters neither repeat nor group
    plain = re.sub(r"\[[^\]]*\]", "x", plain)
    repeats, groups = len(re.findall(r"[*+?{]", plain)), plain.count("(")
    backward = re.search(r"\\[1-9]|\(\?", key)
    if len(key) > _LONGEST or repeats > _REPEATS or groups > _GROUPS or backward or re.search(r"\)[*+?{]", plain):
        raise AdapterFormatError(
            f"{where}: the pattern {shown(key)} is too involved: at most {_LONGEST} characters, {_REPEATS} repeats, "
            f"none of a group, and {_GROUPS} plain groups; name the modules instead"
        )
    try:
        re.compile(rf"(.*\.)?({key})$")
    except re.error as error:
        raise AdapterFormatError(f"{where}: the pattern {shown(key)} is no regular expression: {error}") from error
