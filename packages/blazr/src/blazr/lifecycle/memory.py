"""How much memory a model will take, from what its description says. An estimate before the load; measures nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from blazr.lifecycle.protocol import ModelDescription

__all__ = ["adapter_bytes", "estimate_bytes", "machine_memory"]

CACHE_TOKENS = 4096  # one sequence of this length; longer or more ones grow the cache beyond the estimate
CACHE_ELEMENT_BYTES = 2  # float16
WORKING_BYTES = 64 << 20  # activations and scratch of one step
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def estimate_bytes(description: ModelDescription, context_length: int | None = None, *, paged: bool = False) -> int:
    """Weights as stored, the cache of one sequence, and working memory.

    `paged`: weights stay in their mapped files and are read on use, so that only one layer has to be there at a time.
    """
    weights = description.size
    if paged and description.working_set is not None:
        weights = min(weights, description.working_set)
    info = description.info
    per_token = 2 * CACHE_ELEMENT_BYTES
    for name in ("num_layers", "num_kv_heads", "head_dim"):
        per_token *= int(info.get(name) or 0)
    bounds = [bound for bound in (context_length, description.context_length, CACHE_TOKENS) if bound]
    return weights + per_token * min(bounds) + WORKING_BYTES


def adapter_bytes(path: Path) -> int:
    """Bytes of an adapter's weights file, before it is read; 0 where there is none, which reading it will say."""
    try:
        return (path / "adapter_model.safetensors").stat().st_size
    except OSError:
        return 0


def machine_memory() -> int | None:
    """Bytes of memory this process may use: the container's limit or the machine's, None where neither is known."""
    limits = []
    for path in _CGROUP_LIMITS:
        try:
            content = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if content.isdigit():
            limits.append(int(content))
    with contextlib.suppress(AttributeError, ValueError, OSError):  # not a POSIX system
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(limits, default=None)
