"""Splitting answers, with every cut of the text giving the same parts."""

from itertools import groupby

import pytest

from blazr.server.openai.reply_parts import ReplyParts

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def split(pieces: list[str], thinking: bool = True, opened: bool = False, tools: bool = True) -> list[tuple[str, str]]:
    parser = ReplyParts(thinking=thinking, opened=opened, tools=tools)
    parts = [part for piece in pieces for part in parser.feed(piece)] + parser.flush()
    found = []
    for kind, group in groupby(parts, key=lambda part: part.kind):
        members = list(group)
        if kind == "call":
            found += [(kind, part.call["function"]["name"] + part.call["function"]["arguments"]) for part in members]
        else:
            found.append((kind, "".join(part.text for part in members)))
    return found


CASES = [
    ("plain text", {}, [("content", "plain text")]),
    ("<think>a b</think>c", {}, [("reasoning", "a b"), ("content", "c")]),
    ("<think>\na\n</think>\n\nc d", {}, [("reasoning", "a"), ("content", "c d")]),
    ("a</think>c", {"opened": True}, [("reasoning", "a"), ("content", "c")]),
    ("never closed", {"opened": True}, [("reasoning", "never closed")]),
    ("a <thin b", {}, [("content", "a <thin b")]),
    (f"x {CALL}", {}, [("content", "x"), ("call", 'f{"a": 1}')]),
    (f"{CALL}\n{CALL}", {}, [("call", 'f{"a": 1}'), ("call", 'f{"a": 1}')]),
    ("<tool_call>{bad}</tool_call>", {}, [("content", "<tool_call>{bad}</tool_call>")]),
    ('x<tool_call>{"name"', {}, [("content", 'x<tool_call>{"name"')]),
    (CALL, {"tools": False}, [("content", CALL)]),
    ("<think>a</think>", {"thinking": False}, [("content", "<think>a</think>")]),
]


@pytest.mark.parametrize(("text", "options", "parts"), CASES)
def test_every_cut_gives_the_same_parts(text: str, options: dict[str, bool], parts: list[tuple[str, str]]) -> None:
    assert split([text], **options) == parts
    assert split(list(text), **options) == parts
    for first in range(len(text)):
        assert split([text[:first], text[first:]], **options) == parts


def test_string_arguments_are_kept_as_they_are() -> None:
    assert split(['<tool_call>{"name": "f", "arguments": "{x"}</tool_call>']) == [("call", "f{x")]
