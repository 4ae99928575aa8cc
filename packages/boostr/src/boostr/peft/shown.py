"""Text of untrusted files as messages show it: quoted, escaped and of bounded length."""

from __future__ import annotations

from typing import Any

__all__ = ["shown"]

_MOST = 120


def shown(value: Any) -> str:
    """Like repr, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"
