"""What shapes tell, and what they leave to a guess, when a checkpoint comes without a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping

from boostr.errors import ConfigError
from boostr.formats import TensorInfo
from boostr.models.fields import LIMITS

__all__ = ["guess_head_dim", "layer_count", "shape_of"]

_LAYER = re.compile(r"layers\.(\d{1,6})\.")
# Published models narrower than this use heads of 64, wider ones 128; Qwen2 changes over earlier.
_WIDE, _WIDE_QWEN2 = 2560, 1536


def shape_of(found: Mapping[str, TensorInfo], path: str, ndim: int = 2) -> tuple[int, ...]:
    """The shape of a tensor that must be there with `ndim` axes. Raises ConfigError."""
    info = found.get(path)
    if info is None or len(info.shape) != ndim or min(info.shape) < 1:
        problem = "is missing" if info is None else f"has shape {info.shape}, not {ndim} axes"
        raise ConfigError(f"the model's sizes cannot be told: tensor '{path}' {problem}")
    return info.shape


def layer_count(found: Mapping[str, TensorInfo]) -> int:
    """Layers that the attribute paths speak of. Raises ConfigError for none, or more than anyone has."""
    numbers = [int(match[1]) for path in found if (match := _LAYER.match(path))]
    if not numbers or max(numbers) >= LIMITS["layers"]:
        raise ConfigError(
            f"the tensor names speak of {max(numbers, default=-1) + 1} layers; 1..{LIMITS['layers']} work"
        )
    return max(numbers) + 1


def guess_head_dim(hidden: int, q_rows: int, kv_rows: int, qwen2: bool = False) -> tuple[int, str]:
    """(head_dim, what was assumed) from the rows of q_proj and k_proj. Raises ConfigError where none fits.

    A size fits when q and k rows are whole heads and query heads share key-value heads evenly. Of 128 and 64, both of
    which often fit, width decides; other sizes count only where neither fits.
    """
    wide = hidden >= (_WIDE_QWEN2 if qwen2 else _WIDE)
    order = ((128, 64) if wide else (64, 128), (96, 80, 256, 112, 32, 16, 8))
    fitting = [[size for size in sizes if _fits(size, q_rows, kv_rows)] for sizes in order]
    choice = next((sizes for sizes in fitting if sizes), None)
    if choice is None:
        raise ConfigError(
            f"no head size fits {q_rows} query and {kv_rows} key rows; put the model's config.json next to its weights"
        )
    others = f" ({', '.join(map(str, choice[1:]))} would fit as well)" if choice[1:] else ""
    return choice[0], f"head_dim {choice[0]} is guessed from shapes{others}: no config.json"


def _fits(size: int, q_rows: int, kv_rows: int) -> bool:
    if q_rows % size or kv_rows % size or not kv_rows:
        return False
    return (q_rows // size) % (kv_rows // size) == 0
