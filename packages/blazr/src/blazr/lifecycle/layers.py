"""How much of a checkpoint has to be in memory at one time when its mapped weights are paged in on use.

Knows no architecture: the layer count comes from the configuration, and where layers stand from the tensors' names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostr.formats import Checkpoint

__all__ = ["layer_bytes", "working_set"]

_NUMBERED = re.compile(r"((?:[^.]+\.)*?)(\d+)\.")  # up to the first number that is a part of its own


def working_set(checkpoint: Checkpoint, num_layers: int | None) -> int:
    """Bytes of the largest layer and of everything outside the layers (embeddings, output matrix, other towers)."""
    sizes = {name: checkpoint.info(name).nbytes for name in checkpoint.names()}
    layers = layer_bytes(sizes, num_layers)
    return sum(sizes.values()) - sum(layers.values()) + max(layers.values(), default=0)


def layer_bytes(sizes: Mapping[str, int], num_layers: int | None) -> dict[int, int]:
    """Bytes of each layer. Of several numbered lists of modules the one of `num_layers` is meant, or the largest.

    The names decide the prefix ("blk.", "model.layers.", "model.language_model.layers."), so any layout will do.
    """
    lists: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for name, size in sizes.items():
        found = _NUMBERED.match(name)
        if found is not None:
            lists[found[1]][int(found[2])] += size
    fitting = [dict(one) for one in lists.values() if num_layers is None or set(range(num_layers)) <= one.keys()]
    return max(fitting, key=lambda one: sum(one.values())) if fitting else {}
