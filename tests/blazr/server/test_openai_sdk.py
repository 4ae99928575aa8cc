"""The public `openai` package against a real server."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.tiny import TinyModel, says

openai = pytest.importorskip("openai")
pytestmark = pytest.mark.anyio
HELLO = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def rig(rig_of: Any) -> Any:
    rig = rig_of(TinyModel(says("hello wörld 🫠")), api_keys=("sk-test",), request_logging=False)
    await rig.listen()
    return rig


@pytest.fixture
async def sdk(rig: Any) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{rig.url}/v1", api_key="sk-test", max_retries=0, timeout=10) as client:
        yield client


async def test_completions_and_chat(sdk: Any) -> None:
    text = await sdk.completions.create(model="tiny", prompt="q\n")
    assert text.choices[0].text == "hello wörld 🫠"
    chat = await sdk.chat.completions.create(model="tiny", messages=HELLO, stop=["wö"])
    assert (chat.choices[0].message.content, chat.choices[0].finish_reason) == ("hello ", "stop")
    assert chat.usage.total_tokens == chat.usage.prompt_tokens + chat.usage.completion_tokens


async def test_streams_with_usage_and_two_choices(sdk: Any) -> None:
    stream = await sdk.chat.completions.create(
        model="tiny", messages=HELLO, n=2, stream=True, stream_options={"include_usage": True}
    )
    texts, usage = ["", ""], None
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == ["hello wörld 🫠"] * 2
    assert usage.completion_tokens == 2 * (len("hello wörld 🫠".encode()) + 1)


async def test_streamed_completions(sdk: Any) -> None:
    stream = await sdk.completions.create(model="tiny", prompt=["a\n", "b\n"], stream=True)
    texts = ["", ""]
    async for chunk in stream:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == ["hello wörld 🫠"] * 2


async def test_logprobs_of_both_routes(sdk: Any) -> None:
    chat = await sdk.chat.completions.create(
        model="tiny", messages=HELLO, logprobs=True, top_logprobs=3, max_completion_tokens=2
    )
    content = chat.choices[0].logprobs.content
    assert [entry.token for entry in content] == ["h", "e"]
    assert len(content[0].top_logprobs) == 3
    text = await sdk.completions.create(model="tiny", prompt="q\n", logprobs=2, max_tokens=2)
    assert text.choices[0].logprobs.tokens == ["h", "e"]
    assert len(text.choices[0].logprobs.top_logprobs[0]) == 2


async def test_models(sdk: Any) -> None:
    assert [model.id async for model in await sdk.models.list()] == ["tiny"]
    assert (await sdk.models.retrieve("tiny")).owned_by == "local"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"model": "nope", "messages": HELLO}, "NotFoundError"),
        ({"model": "tiny", "messages": []}, "BadRequestError"),
        ({"model": "tiny", "messages": HELLO, "max_tokens": 0}, "BadRequestError"),
        ({"model": "tiny", "messages": [{"role": "user", "content": "x" * 600}]}, "BadRequestError"),
    ],
)
async def test_errors_become_the_sdks_own(sdk: Any, call: dict[str, Any], error: str) -> None:
    with pytest.raises(getattr(openai, error)) as caught:
        await sdk.chat.completions.create(**call)
    assert caught.value.body["message"]


async def test_a_wrong_key_is_an_authentication_error(rig: Any) -> None:
    async with openai.AsyncOpenAI(base_url=f"{rig.url}/v1", api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.models.list()


async def test_an_error_in_a_stream_is_raised(rig: Any, sdk: Any) -> None:
    rig.model.tiny.fail_on = lambda histories: RuntimeError("boom") if len(histories[0]) > 30 else None
    stream = await sdk.chat.completions.create(model="tiny", messages=HELLO, stream=True)
    with pytest.raises(openai.APIError, match="internal error"):
        async for _ in stream:
            pass


async def test_sixteen_streams_while_one_client_leaves(rig: Any, sdk: Any) -> None:
    rig.model.tiny.step_seconds = 0.003

    async def read(leave_after: int | None) -> str:
        stream = await sdk.chat.completions.create(model="tiny", messages=HELLO, stream=True)
        text, chunks = "", 0
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
            chunks += 1
            if chunks == leave_after:
                await stream.close()
                break
        return text

    texts = await asyncio.gather(read(3), *(read(None) for _ in range(15)))
    assert texts[1:] == ["hello wörld 🫠"] * 15
    assert len(texts[0]) < 5
    end = time.monotonic() + 3
    while rig.store.leases:
        assert time.monotonic() < end, "the request that was left still holds its model"
        await asyncio.sleep(0.005)
    assert max(map(len, rig.model.tiny.batches)) > 8  # they were batched
    assert rig.metric("blazr_generations_total", model="tiny", outcome="cancelled") == 1
