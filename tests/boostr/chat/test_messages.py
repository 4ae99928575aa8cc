"""Messages as clients send them."""

from __future__ import annotations

import pytest

from boostr.chat import content_parts, normalize_messages
from boostr.chat.messages import parse_tool_arguments
from boostr.errors import ParameterError

TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_text_parts_are_joined_without_a_separator_for_every_role(role):
    parts = [TEXT, {"type": "text", "text": "b "}, {"type": "input_text", "text": "c"}]
    assert normalize_messages([{"role": role, "content": parts}])[0]["content"] == "ab c"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        {"role": "assistant", "tool_calls": [{}]},
        {"role": "user", "content": None},
        {"role": "user", "content": []},
    ],
)
def test_nothing_said_is_an_empty_text(message):
    assert normalize_messages([message])[0]["content"] == ""


def test_other_fields_stay_and_the_original_is_not_touched():
    message = {"role": "tool", "content": [TEXT], "tool_call_id": "x", "name": "f"}
    assert normalize_messages([message]) == [{"role": "tool", "content": "a", "tool_call_id": "x", "name": "f"}]
    assert message["content"] == [TEXT]


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        ("hi", "messages"),
        (None, "messages"),
        (["hi"], "messages[0]"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": 3, "content": "x"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": 3}], "messages[0].content"),
        ([{"role": "user", "content": [TEXT, IMAGE]}], "messages[0].content[1]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [None]}], "messages[0].content[0]"),
    ],
)
def test_what_is_wrong_is_named(messages, param):
    with pytest.raises(ParameterError) as caught:
        normalize_messages(messages)
    assert caught.value.param == param


def test_content_parts():
    assert content_parts({"role": "user", "content": "hi"}) == [{"type": "text", "text": "hi"}]
    assert content_parts({"role": "user", "content": [TEXT, IMAGE, 3]}) == [TEXT, IMAGE]
    assert content_parts({"role": "user", "content": None}) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": ', '{"a": '),
        ("[1]", "[1]"),
        ("not json", "not json"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_arguments_of_earlier_calls_become_objects_where_they_are_json_objects(arguments, expected):
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    assert parse_tool_arguments([message])[0]["tool_calls"][0]["function"]["arguments"] == expected


@pytest.mark.parametrize("calls", ["x", 3, [3], [{"function": None}], [{}]])
def test_malformed_calls_pass_through(calls):
    assert parse_tool_arguments([{"role": "assistant", "content": "", "tool_calls": calls}])[0]["tool_calls"] == calls
