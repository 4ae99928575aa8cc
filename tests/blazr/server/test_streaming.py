"""Streams: their text is the text without streaming, their shapes are OpenAI's, their errors are events."""

import json
from typing import Any

import pytest

from tests.support.tiny import TinyModel, says

pytestmark = pytest.mark.anyio
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HELLO = [{"role": "user", "content": "hi"}]


async def stream(rig: Any, path: str, body: dict[str, Any]) -> tuple[list[dict[str, Any]], bool, int]:
    """(chunks, did it end with [DONE], ping comments)."""
    chunks, done, pings = [], False, 0
    async with rig.client() as client, client.stream("POST", path, json={**body, "stream": True}) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        async for line in reply.aiter_lines():
            assert not done or not line
            if line == "data: [DONE]":
                done = True
            elif line.startswith("data: "):
                chunks.append(json.loads(line.removeprefix("data: ")))
            elif line.startswith(":"):
                pings += 1
    return chunks, done, pings


def text_of(chunks: list[dict[str, Any]], index: int = 0) -> str:
    found = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["index"] == index:
                found += choice["text"] if "text" in choice else choice["delta"].get("content", "")
    return found


@pytest.mark.parametrize("answer", ["hello", "a🫠é龁b", "line\nline", "x", ""])
@pytest.mark.parametrize("stop", [None, ["lo"], ["zzz", "e\nl"], ["🫠"]])
async def test_stream_text_equals_plain_text(rig_of: Any, answer: str, stop: list[str] | None) -> None:
    rig = rig_of(TinyModel(says(answer)))
    body = {"prompt": "q\n", "stop": stop}
    plain = (await rig.post(TEXT, body)).json()["choices"][0]
    chunks, done, _ = await stream(rig, TEXT, body)
    assert text_of(chunks) == plain["text"]
    assert chunks[-1]["choices"][0]["finish_reason"] == plain["finish_reason"]
    assert done


async def test_completion_chunks_have_openais_shape(rig_of: Any) -> None:
    chunks, _, _ = await stream(rig_of(), TEXT, {"prompt": "q\n"})
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all("usage" not in chunk for chunk in chunks)
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]] == [None] * 5 + ["stop"]


async def test_chat_chunks_begin_with_the_role_and_end_with_the_reason(rig_of: Any) -> None:
    chunks, _, _ = await stream(rig_of(), CHAT, {"messages": HELLO})
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert text_of(chunks) == "hello"


@pytest.mark.parametrize(("path", "body"), [(TEXT, {"prompt": "q\n"}), (CHAT, {"messages": HELLO})])
async def test_include_usage_adds_one_last_chunk(rig_of: Any, path: str, body: dict[str, Any]) -> None:
    chunks, done, _ = await stream(rig_of(), path, {**body, "stream_options": {"include_usage": True}})
    assert done
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 6


@pytest.mark.parametrize(("path", "body"), [(TEXT, {"prompt": "q\n"}), (CHAT, {"messages": HELLO})])
async def test_every_choice_of_n_has_its_own_index_and_end(rig_of: Any, path: str, body: dict[str, Any]) -> None:
    rig = rig_of(TinyModel())
    body = {**body, "n": 3, "seed": 1, "temperature": 2, "max_tokens": 6, "ignore_eos": True}
    chunks, _, _ = await stream(rig, path, body)
    plain = (await rig.post(path, body)).json()["choices"]
    expected = [one["text"] if "text" in one else one["message"]["content"] for one in plain]
    assert [text_of(chunks, index) for index in range(3)] == expected
    ends = [c["index"] for chunk in chunks for c in chunk["choices"] if c["finish_reason"]]
    assert sorted(ends) == [0, 1, 2]


async def test_several_prompts_stream_side_by_side(rig_of: Any) -> None:
    chunks, done, _ = await stream(rig_of(), TEXT, {"prompt": ["a\n", "b\n"], "echo": True, "suffix": "."})
    assert done
    assert [text_of(chunks, index) for index in range(2)] == ["a\nhello.", "b\nhello."]


@pytest.mark.parametrize(
    ("path", "body"), [(TEXT, {"prompt": "q\n", "logprobs": 1}), (CHAT, {"messages": HELLO, "logprobs": True})]
)
async def test_streamed_logprobs_equal_the_plain_ones(rig_of: Any, path: str, body: dict[str, Any]) -> None:
    rig = rig_of(TinyModel(says("aé🫠")))
    plain = (await rig.post(path, body)).json()["choices"][0]["logprobs"]
    chunks, _, _ = await stream(rig, path, body)
    parts = [c["logprobs"] for chunk in chunks for c in chunk["choices"] if c["logprobs"]]
    for name in ("content",) if path == CHAT else ("tokens", "token_logprobs", "text_offset", "top_logprobs"):
        assert [one for part in parts for one in part[name]] == plain[name]


async def test_thinking_and_calls_stream_as_deltas(rig_of: Any) -> None:
    said = '<think>hm</think>so<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    rig = rig_of(TinyModel(says(said), template="{{ tools | length }}<|im_start|>{{ '\n' }}"))
    tools = [{"type": "function", "function": {"name": "f"}}]
    chunks, _, _ = await stream(rig, CHAT, {"messages": HELLO, "think": True, "tools": tools})
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hm"
    assert text_of(chunks) == "so"
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [(call["index"], call["function"]["name"]) for call in calls] == [(0, "f")]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_an_error_in_a_stream_is_an_event_and_the_end(rig_of: Any) -> None:
    model = TinyModel()
    model.tiny.fail_on = lambda histories: RuntimeError("boom") if len(histories[0]) > 6 else None
    chunks, done, _ = await stream(rig_of(model), TEXT, {"prompt": "q\n"})
    assert not done
    assert set(chunks[-1]) == {"error"}
    assert chunks[-1]["error"]["type"] == "server_error"


async def test_an_error_before_the_first_token_is_a_status(rig_of: Any) -> None:
    model = TinyModel()
    model.tiny.fail_on = lambda histories: MemoryError()
    reply = await rig_of(model).post(TEXT, {"prompt": "q\n", "stream": True})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "out_of_memory")


async def test_a_long_silence_is_filled_with_pings(rig_of: Any) -> None:
    model = TinyModel(says("hi"))
    model.tiny.step_seconds = 0.12
    chunks, done, pings = await stream(rig_of(model, ping_seconds=0.03), TEXT, {"prompt": "q\n"})
    assert pings >= 2
    assert (text_of(chunks), done) == ("hi", True)


async def test_the_time_limit_ends_a_stream_with_an_error_event(rig_of: Any) -> None:
    model = TinyModel()
    model.tiny.step_seconds = 0.01
    chunks, done, _ = await stream(rig_of(model, request_timeout_secs=0.15), TEXT, {"prompt": "q\n", "max_tokens": -1})
    assert chunks[-1]["error"]["code"] == "request_timeout"
    assert not done
    assert len(chunks) > 2
