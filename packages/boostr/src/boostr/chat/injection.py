"""Keeps text of a request from becoming control tokens.

Before rendering, every control text inside the request is replaced by one private-use character that occurs nowhere
else; the rendered prompt is then cut at those characters. What lies between came from the template and may hold control
tokens; what each character stands for is text.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["THINK_TAGS", "Disguise"]

# One character, so that trim, slices and JSON in a template cannot cut it in two. Planes 15 and 16 are private use.
_PRIVATE_USE = range(0xF0000, 0x10FFFE)
_BEGINNING = 3
# Templates split what the assistant said before at these, so they stay in its messages.
THINK_TAGS = ("<think>", "</think>")


class Disguise:
    """The replacements for one request. `control` are the texts that the tokenizer would make control tokens of."""

    def __init__(self, control: Collection[str], strings: Iterable[str], template: str) -> None:
        texts = list(strings)
        self._found = _present(control, texts)
        self._names: dict[str, str] = {}
        if self._found:
            taken = set(template).union(*texts)
            self._names = dict(zip(self._found, _unused_characters(len(self._found), taken), strict=True))

    def __bool__(self) -> bool:
        """Whether the request holds any control text at all."""
        return bool(self._found)

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The messages, disguised."""
        everywhere = self._replacer(())
        assistant = self._replacer(THINK_TAGS)
        return [
            _mapped(message, assistant if message.get("role") == "assistant" else everywhere) for message in messages
        ]

    def value(self, value: Any) -> Any:
        """Tools or a template variable, disguised."""
        return _mapped(value, self._replacer(()))

    def segments(self, prompt: str) -> list[tuple[str, bool]]:
        """The rendered prompt in parts (text, parse_special), with the original text back in place."""
        if not self._names:
            return [(prompt, True)] if prompt else []
        original: dict[str, str] = {}
        for text, name in self._names.items():
            original[name] = text
            # tojson(ensure_ascii=true) spells the character as an escape: its text is then spelled the same way.
            original[json.dumps(name)[1:-1]] = json.dumps(text)[1:-1]
        parts = re.split("(" + "|".join(map(re.escape, original)) + ")", prompt)
        return [(original.get(part, part), part not in original) for part in parts if part]

    def _replacer(self, kept: Collection[str]) -> Callable[[str], str]:
        names = {text: name for text, name in self._names.items() if text not in kept}
        if not names:
            return str
        pattern = re.compile("|".join(map(re.escape, names)))  # longest first
        return lambda text: pattern.sub(lambda match: names[match[0]], text)


def _present(control: Collection[str], texts: Iterable[str]) -> list[str]:
    # Longest first. Up to 6000 control tokens begin alike in one vocabulary: the beginnings are looked for first.
    whole = "\0".join(texts)
    beginnings = {beginning for beginning in {text[:_BEGINNING] for text in control if text} if beginning in whole}
    return sorted(
        (text for text in control if text[:_BEGINNING] in beginnings and text in whole), key=len, reverse=True
    )


def strings_of(value: Any) -> list[str]:
    """Every string in a JSON-like value, keys included."""
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, Mapping):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
    return found


def _mapped(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, Mapping):
        return {_mapped(key, replace): _mapped(item, replace) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, replace) for item in value]
    return value


def _unused_characters(count: int, taken: Collection[str]) -> list[str]:
    # Drawn anew for every request from 131,070 characters. A request cannot hold one of them: those are not drawn.
    free = [code for code in _PRIVATE_USE if chr(code) not in taken]
    return [chr(code) for code in random.SystemRandom().sample(free, count)]
