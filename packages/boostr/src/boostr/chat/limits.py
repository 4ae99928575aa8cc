"""What one rendering may use: wall-clock time, memory, characters of a text, size of numbers.

Templates come with models and may be hostile. Python cannot interrupt one long call, so the operations that could be
long are refused by the size of their operands before they start; the rest is checked between steps.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jinja2.exceptions import SecurityError

__all__ = [
    "MAX_CHARACTERS",
    "MAX_MADE_BYTES",
    "MAX_SECONDS",
    "Budget",
    "check_format",
    "check_indent",
    "check_joined",
    "check_numbers",
    "check_operands",
    "check_size",
    "check_text_method",
    "check_words",
    "current_budget",
]

MAX_SECONDS = 10.0  # a long conversation renders in milliseconds
MAX_CHARACTERS = 16 << 20  # of any one text; prompts end near a megabyte
MAX_MADE_BYTES = 1 << 30  # of all texts and lists that it makes, those it drops again included
_MAX_WORDS_OF = 4 << 20  # characters of a text that is cut into words or lines
_ITEM_BYTES = 56  # of a short text, beside its place in a list
_MAX_ITEMS = 1 << 18  # elements of a list, and of everything inside a value that is written out
_MAX_BITS = 4096
_MAX_PADDING = 100_000
_MAX_INDENT = 64
_NESTED_FIELD = re.compile(r"\{[^{}]*\{")  # a width taken from an argument
_WIDE_FIELD = re.compile(r"\{[^{}]*\d{5}|%[-+ #0.\d]*\d{5}|%[-+ #0.\d]*\*")

current_budget: ContextVar[Budget] = ContextVar("current_budget")


class Budget:
    """Time and memory of one rendering."""

    __slots__ = ("deadline", "made", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.made = 0

    def step(self) -> None:
        """Called at every iteration, call and piece of output. Raises SecurityError when the time is over."""
        if time.monotonic() > self.deadline:
            raise SecurityError(f"it ran longer than {self.seconds:g} seconds")

    def made_one(self, value: Any) -> None:
        """Called with every text and collection that an operation made. Raises SecurityError when they are too many."""
        if isinstance(value, str | bytes | dict | set | frozenset):
            self.made += sys.getsizeof(value)
        elif isinstance(value, list | tuple):
            self.made += sys.getsizeof(value) + _ITEM_BYTES * len(value)
        if self.made > MAX_MADE_BYTES:
            raise SecurityError(f"it made more than {MAX_MADE_BYTES >> 20} MB of text and lists")

    def count(self, items: Iterable[Any]) -> Iterator[Any]:
        """The same items, each a step."""
        for item in items:
            self.step()
            yield item

    def join(self, pieces: Iterable[str]) -> str:
        """The pieces as one text of at most MAX_CHARACTERS."""
        kept: list[str] = []
        size = 0
        for piece in pieces:
            self.step()
            size += len(piece)
            if size > MAX_CHARACTERS:
                raise SecurityError(f"its text is longer than {MAX_CHARACTERS} characters")
            kept.append(piece)
        joined = "".join(kept)
        self.made_one(joined)
        self.step()
        return joined


def check_size(value: Any) -> int:
    """Characters of text in `value`; SecurityError where writing it out would be long: a large text, or lists that
    nest to many items."""
    budget = _MAX_ITEMS
    size = 0
    pending = [value]
    while pending:
        item = pending.pop()
        budget -= 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            pending += item
        if budget < 0 or size > MAX_CHARACTERS or len(pending) > 2 * _MAX_ITEMS:
            raise SecurityError("a value in it is too large to be written out")
    return size


def check_operands(operator: str, left: Any, right: Any) -> None:
    """SecurityError before an operation whose result would be huge."""
    if operator == "*":
        for repeated, times in ((left, right), (right, left)):
            if isinstance(repeated, str | list | tuple) and isinstance(times, int):
                limit = MAX_CHARACTERS if isinstance(repeated, str) else _MAX_ITEMS
                _require(len(repeated) * max(times, 0) <= limit)
    elif operator == "+" and isinstance(left, list | tuple | str) and isinstance(right, list | tuple | str):
        _require(len(left) + len(right) <= (MAX_CHARACTERS if isinstance(left, str) else _MAX_ITEMS))
    elif operator == "%" and isinstance(left, str):
        check_format(left, right if isinstance(right, tuple) else (right,))
    if isinstance(left, int) and isinstance(right, int) and operator in ("*", "**", "+", "-"):
        bits = left.bit_length() * max(right, 1) if operator == "**" else left.bit_length() + right.bit_length()
        _require(bits <= _MAX_BITS)


def check_format(text: str, arguments: Iterable[Any]) -> None:
    """SecurityError for a format that asks for wide padding, in its text or through a number."""
    _require(not _WIDE_FIELD.search(text) and not _NESTED_FIELD.search(text))
    fields = text.count("%") + text.count("{")
    _require(all(check_size(argument) * fields <= MAX_CHARACTERS for argument in arguments))


def check_text_method(name: str, text: str, arguments: tuple[Any, ...]) -> None:
    """SecurityError before a method of str that would write a huge text."""
    if name in ("format", "format_map"):
        check_format(text, arguments)
    elif name == "indent":
        _require(all(check_indent(value) * text.count("\n") <= MAX_CHARACTERS for value in arguments))
    elif name in ("ljust", "rjust", "center", "zfill", "expandtabs"):
        _require(all(abs(value) <= _MAX_PADDING for value in arguments if isinstance(value, int)))
        _require(name != "expandtabs" or text.count("\t") * max((*filter(_is_int, arguments), 8)) <= MAX_CHARACTERS)
    elif name in ("split", "rsplit", "splitlines", "title"):
        separator = arguments[0] if arguments and isinstance(arguments[0], str) else ""
        if name in ("split", "rsplit") and separator:
            _require(text.count(separator) <= _MAX_ITEMS)
        else:
            check_words(text)
    elif name == "translate":  # each character may become a long text
        _require(False)
    elif name == "replace" and len(arguments) > 1 and all(isinstance(value, str) for value in arguments[:2]):
        _require(len(text) + text.count(arguments[0]) * len(arguments[1]) <= MAX_CHARACTERS)


def check_words(text: Any) -> None:
    """SecurityError before a text is cut into more words than anybody writes."""
    _require(len(str(text)) <= _MAX_WORDS_OF)


def check_numbers(items: Iterable[Any]) -> list[Any]:
    """The items as a list, or SecurityError where they are not numbers: sums of lists and texts copy them anew."""
    listed = list(items)
    _require(all(isinstance(item, int | float) for item in listed))
    return listed


def check_joined(items: Iterable[Any], separator: Any) -> list[Any]:
    """The items as a list, or SecurityError where joining them makes a huge text."""
    listed = list(items)
    check_size(listed)
    _require(len(listed) * len(str(separator)) <= MAX_CHARACTERS)
    return listed


def check_indent(width: Any) -> int:
    """Columns of an indentation given as a number or a text."""
    columns = width if isinstance(width, int) else len(width) if isinstance(width, str) else 0
    _require(columns <= _MAX_INDENT)
    return columns


def _is_int(value: Any) -> bool:
    return isinstance(value, int)


def _require(allowed: bool) -> None:
    if not allowed:
        raise SecurityError("it asks for a text, list or number of unreasonable size")
