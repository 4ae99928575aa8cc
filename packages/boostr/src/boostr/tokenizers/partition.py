"""Cuts a text at the special tokens in it.

The longest special text goes first over the whole text, then the next, as llama.cpp does; ids must agree with it even
where two special texts overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Special", "SpecialSplitter"]

_SPACE = " \t\n\v\f\r"  # what C's isspace accepts; strip() alone would take Unicode spaces as well
_PREFIX = 3  # characters shared by a group of special texts; 6000 unused tokens are one lookup


@dataclass(frozen=True, slots=True)
class Special:
    """A token found in raw text. `control` ones only where special tokens are parsed; `strips_right` swallows the white
    space behind it."""

    text: str
    token: int
    control: bool
    strips_right: bool = False


class SpecialSplitter:
    """The special tokens of one vocabulary, ready to search for."""

    def __init__(self, specials: Iterable[Special]) -> None:
        ordered = sorted(specials, key=lambda special: -len(special.text.encode()))
        self._groups: dict[str, list[tuple[int, Special]]] = defaultdict(list)
        for rank, special in enumerate(ordered):
            self._groups[special.text[:_PREFIX]].append((rank, special))

    def split(self, text: str, parse_special: bool) -> list[str | int]:
        """Non-empty texts and token ids, in order."""
        parts: list[str | int] = [text] if text else []
        for special in self._present(text, parse_special):
            parts = _cut(parts, special)
        return parts

    def split_segments(self, segments: Sequence[tuple[str, bool]]) -> list[str | int]:
        """As `split` over parts (text, parse_special) of one text; texts that touch come out joined."""
        parts: list[str | int] = []
        open_text: list[str] = []
        for text, parse_special in segments:
            for part in self.split(text, parse_special):
                if isinstance(part, str):
                    open_text.append(part)
                    continue
                if open_text:
                    parts.append("".join(open_text))
                    open_text = []
                parts.append(part)
        return [*parts, "".join(open_text)] if open_text else parts

    def _present(self, text: str, parse_special: bool) -> list[Special]:
        found = [
            (rank, special)
            for prefix, group in self._groups.items()
            if prefix in text
            for rank, special in group
            if (parse_special or not special.control) and special.text in text
        ]
        return [special for _, special in sorted(found, key=lambda item: item[0])]


def _cut(parts: list[str | int], special: Special) -> list[str | int]:
    cut: list[str | int] = []
    for part in parts:
        if not isinstance(part, str) or special.text not in part:
            cut.append(part)
            continue
        first, *rest = part.split(special.text)
        if first:
            cut.append(first)
        for piece in rest:
            cut.append(special.token)
            kept = piece.lstrip(_SPACE) if special.strips_right else piece
            if kept:
                cut.append(kept)
    return cut
