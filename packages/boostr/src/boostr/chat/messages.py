"""A conversation as clients send it, in the one shape that templates read: role, text, tool calls.

Knows OpenAI's message fields; does not look at images or audio, which are the server's to take out first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from boostr.errors import ParameterError

__all__ = ["content_parts", "normalize_messages", "parse_tool_arguments"]

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def normalize_messages(messages: Any) -> list[dict[str, Any]]:
    """New messages, from a list of message objects, with text for content; other fields stay as they are.

    Text parts are joined without a separator, null is an empty text (so is no content beside tool calls). Raises
    ParameterError naming the message for an empty conversation, a missing role, or a part that is not text.
    """
    if not isinstance(messages, list | tuple):
        raise ParameterError("messages must be a list of messages", "messages")
    if not messages:
        raise ParameterError("messages is empty: send at least one message", "messages")
    return [_normalize(message, f"messages[{index}]") for index, message in enumerate(messages)]


def content_parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The content of a message as a list of parts; a text is one part. Parts that are not objects are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, Sequence) else []


def parse_tool_arguments(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the arguments of earlier tool calls as objects, which most templates expect.

    Text that is not a JSON object stays text: a model may have written it so, and the conversation must go on.
    """
    return [_with_parsed_calls(message) for message in messages]


def _normalize(message: Any, where: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise ParameterError(f"{where} must be an object with role and content", where)
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise ParameterError(f"{where}.role is missing: every message needs one, such as 'user'", f"{where}.role")
    return {**message, "content": _text(message, f"{where}.content")}


def _text(message: Mapping[str, Any], where: str) -> str:
    if "content" not in message and not message.get("tool_calls"):
        raise ParameterError(f"{where} is missing", where)
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ParameterError(f"{where} must be a text, a list of parts, or null", where)
    return "".join(_part_text(part, f"{where}[{index}]") for index, part in enumerate(content))


def _part_text(part: Any, where: str) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind not in _TEXT_PARTS:
        raise ParameterError(
            f"{where} has the type {str(kind)[:40]!r}; only text parts can be put into a prompt", where
        )
    text = part.get("text")
    if not isinstance(text, str):
        raise ParameterError(f"{where}.text must be a text", where)
    return text


def _with_parsed_calls(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    return {**message, "tool_calls": _parsed_calls(calls)} if calls else dict(message)


def _parsed_calls(calls: Any) -> Any:
    if not isinstance(calls, Sequence) or isinstance(calls, str | bytes):
        return calls
    return [_parsed_call(call) for call in calls]


def _parsed_call(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    function = call.get("function")
    if isinstance(function, Mapping) and isinstance(function.get("arguments"), str):
        return {**call, "function": {**function, "arguments": _object_or_text(function["arguments"])}}
    return call


def _object_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
