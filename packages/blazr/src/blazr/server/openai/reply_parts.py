"""Splits a model's chat answer into content, reasoning and tool calls. Feed/flush on text; no I/O.

Reads what the model wrote, never the request. Text that may begin a mark is held back; what turns out not to be a call
is delivered as content, unchanged.
"""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Part", "ReplyParts"]

Kind = Literal["content", "reasoning", "call"]

_THINK, _END_THINK = "<think>", "</think>"
_CALL, _END_CALL = "<tool_call>", "</tool_call>"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of one kind. A call is whole and has `call` in OpenAI's shape."""

    kind: Kind
    text: str
    call: dict[str, Any] = field(default_factory=dict)


class ReplyParts:
    """`thinking` splits think blocks, starting inside one when `opened`; `tools` takes tool calls out."""

    def __init__(self, *, thinking: bool, opened: bool, tools: bool) -> None:
        self._thinking = thinking
        self._tools = tools
        self._state: Kind = "reasoning" if thinking and opened else "content"
        self._buffer = ""
        self._fresh = True  # nothing of the current block has left yet: leading white space is dropped
        self.calls = 0

    def feed(self, text: str) -> list[Part]:
        """Parts that may leave after `text` was added."""
        if not (self._thinking or self._tools):
            return [Part("content", text)] if text else []
        self._buffer += text
        parts: list[Part] = []
        while self._advance(parts):
            pass
        return parts

    def flush(self) -> list[Part]:
        """What is left at the end. A call that was cut off is content: half a call must not be run."""
        rest, self._buffer = self._buffer, ""
        if self._state == "call":
            self._state = "content"
            rest = _CALL + rest
        return self._text(rest)

    def _advance(self, parts: list[Part]) -> bool:
        """Handle the buffer up to the next mark; False when no whole mark is in it."""
        marks = self._marks()
        found = [(at, mark) for mark in marks if (at := self._buffer.find(mark)) >= 0]
        if not found:
            if self._state != "call":
                keep = _held(self._buffer, marks)
                ready, self._buffer = self._buffer[: len(self._buffer) - keep], self._buffer[-keep:] if keep else ""
                parts += self._text(ready)
            return False
        at, mark = min(found)
        before, self._buffer = self._buffer[:at], self._buffer[at + len(mark) :]
        if self._state == "call":
            parts.append(self._call(before))
            self._enter("content")
        else:
            parts += self._text(before.rstrip())
            self._enter({_THINK: "reasoning", _CALL: "call"}.get(mark, "content"))  # type: ignore[arg-type]
        return True

    def _marks(self) -> tuple[str, ...]:
        if self._state == "reasoning":
            return (_END_THINK,)
        if self._state == "call":
            return (_END_CALL,)
        return ((_THINK,) if self._thinking else ()) + ((_CALL,) if self._tools else ())

    def _enter(self, state: Kind) -> None:
        self._state = state
        self._fresh = True

    def _text(self, text: str) -> list[Part]:
        if self._fresh:
            text = text.lstrip()
        if not text:
            return []
        self._fresh = False
        return [Part(self._state, text)]

    def _call(self, text: str) -> Part:
        call = _parse_call(text)
        if call is None:
            return Part("content", f"{_CALL}{text}{_END_CALL}")
        self.calls += 1
        return Part("call", text, call)


def _held(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end may still belong to a mark: its beginning, and white space before it."""
    longest = 0
    for mark in marks:
        for size in range(min(len(mark) - 1, len(text)), longest, -1):
            if mark.startswith(text[-size:]):
                longest = size
                break
    body = text[: len(text) - longest]
    return longest + len(body) - len(body.rstrip())


def _parse_call(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or "arguments" not in value:
        return None
    arguments = value["arguments"]
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": value["name"], "arguments": arguments},
    }
