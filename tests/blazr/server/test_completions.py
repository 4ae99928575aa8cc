"""POST /v1/completions: fields, shapes, limits."""

import math
from typing import Any

import pytest

from tests.support.tiny import BOS, VOCAB, TinyModel, says

pytestmark = pytest.mark.anyio
PATH = "/v1/completions"
TOP = math.log(math.exp(4) + math.exp(2) + math.exp(1) + VOCAB - 3)  # log of the sum over a tiny row of logits


async def test_the_shape_is_openais(rig_of: Any) -> None:
    answer = (await rig_of().post(PATH, {"prompt": "q\n"})).json()
    assert answer["id"].startswith("cmpl-")
    assert answer["object"] == "text_completion"
    assert answer["model"] == "tiny"
    assert answer["choices"] == [{"text": "hello", "index": 0, "logprobs": None, "finish_reason": "stop"}]
    assert answer["done_reason"] == "stop"
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (3, 6, 9)
    assert "load_duration_ms" not in usage  # zero


async def test_max_tokens_ends_with_length(rig_of: Any) -> None:
    choice = (await rig_of().post(PATH, {"prompt": "q\n", "max_tokens": 3})).json()["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("hel", "length")


@pytest.mark.parametrize(("value", "count"), [(None, 256), (-1, 509), (100_000_000, 509)])
async def test_max_tokens_null_minus_one_and_huge(rig_of: Any, value: int | None, count: int) -> None:
    answer = (await rig_of(TinyModel()).post(PATH, {"prompt": "q\n", "max_tokens": value})).json()
    assert answer["usage"]["completion_tokens"] == count  # context 512, prompt 3
    assert answer["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("value", [0, -2])
async def test_max_tokens_below_one_is_refused(rig_of: Any, value: int) -> None:
    reply = await rig_of().post(PATH, {"prompt": "q\n", "max_tokens": value})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "max_tokens")


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ("a\n", ["hello"]),
        (["a\n", "bb\n"], ["hello", "hello"]),
        ([BOS, 97, 10], ["hello"]),
        ([[BOS, 97, 10], [BOS, 98, 10]], ["hello", "hello"]),
    ],
)
async def test_the_four_spellings_of_a_prompt(rig_of: Any, prompt: Any, texts: list[str]) -> None:
    answer = (await rig_of().post(PATH, {"prompt": prompt})).json()
    assert [choice["text"] for choice in answer["choices"]] == texts
    assert [choice["index"] for choice in answer["choices"]] == list(range(len(texts)))


@pytest.mark.parametrize(
    "prompt", [[-1], [VOCAB], [10**30], [], [[]], [[1], "a"], [True], 5, None, [[1, -1]], ["a", 1]]
)
async def test_impossible_prompts_are_refused(rig_of: Any, prompt: Any) -> None:
    reply = await rig_of().post(PATH, {"prompt": prompt})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "prompt")


async def test_a_prompt_that_fills_the_context_says_by_how_much(rig_of: Any) -> None:
    reply = await rig_of().post(PATH, {"prompt": "x" * 600})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["code"], error["n_prompt_tokens"], error["n_ctx"]) == ("context_length_exceeded", 601, 512)


@pytest.mark.parametrize(
    ("stop", "text", "reason"),
    [("l", "he", "stop"), (["zz", "lo"], "hel", "stop"), (None, "hello", "stop"), ([], "hello", "stop")],
)
async def test_stop_takes_a_text_a_list_or_null(rig_of: Any, stop: Any, text: str, reason: str) -> None:
    choice = (await rig_of().post(PATH, {"prompt": "q\n", "stop": stop})).json()["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (text, reason)


@pytest.mark.parametrize("stop", ["", ["a", ""]])
async def test_an_empty_stop_is_refused(rig_of: Any, stop: Any) -> None:
    reply = await rig_of().post(PATH, {"prompt": "q\n", "stop": stop})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "stop")


async def test_echo_and_suffix_surround_the_text(rig_of: Any) -> None:
    answer = (await rig_of().post(PATH, {"prompt": "q\n", "echo": True, "suffix": "!"})).json()
    assert answer["choices"][0]["text"] == "q\nhello!"


async def test_context_ids_stand_before_the_prompt(rig_of: Any) -> None:
    rig = rig_of()
    answer = (await rig.post(PATH, {"prompt": "q\n", "context": [BOS, 120]})).json()
    assert answer["usage"]["prompt_tokens"] == 4  # no second BOS
    assert (await rig.post(PATH, {"prompt": "q\n", "context": [-5]})).json()["error"]["param"] == "context"


async def test_logprobs_are_the_raw_distribution(rig_of: Any) -> None:
    body = {"prompt": "q\n", "logprobs": 2, "max_tokens": 2, "logit_bias": {"120": 100}, "temperature": 0}
    found = (await rig_of().post(PATH, body)).json()["choices"][0]["logprobs"]
    assert found["tokens"] == ["x", "x"]
    assert found["token_logprobs"] == pytest.approx([0 - TOP, 0 - TOP], abs=1e-4)
    assert found["text_offset"] == [0, 1]
    first = found["top_logprobs"][0]
    assert {name: round(value + TOP, 3) for name, value in first.items()} == {"h": 4, "i": 2, "x": 0}


async def test_logprobs_of_an_echoed_prompt(rig_of: Any) -> None:
    body = {"prompt": "aa\n", "logprobs": 1, "echo": True, "max_tokens": 1}
    found = (await rig_of(TinyModel()).post(PATH, body)).json()["choices"][0]["logprobs"]
    assert found["tokens"] == ["<|bos|>", "a", "a", "\n", "\n"]
    assert found["token_logprobs"][0] is None
    assert found["token_logprobs"][2] == pytest.approx(4 - TOP, abs=1e-4)
    assert found["text_offset"] == [0, 0, 1, 2, 3]


async def test_zero_logprobs_reports_the_sampled_tokens_alone(rig_of: Any) -> None:
    found = (await rig_of().post(PATH, {"prompt": "q\n", "logprobs": 0})).json()["choices"][0]["logprobs"]
    assert len(found["token_logprobs"]) == 5
    assert found["top_logprobs"] is None


async def test_tokens_that_are_no_characters_are_spelled_out(rig_of: Any) -> None:
    rig = rig_of(TinyModel(says("é")))
    choice = (await rig.post(PATH, {"prompt": "q\n", "logprobs": 1})).json()["choices"][0]
    assert choice["text"] == "é"
    assert choice["logprobs"]["tokens"] == ["bytes:\\xc3", "bytes:\\xa9"]


async def test_n_choices_have_their_own_index_and_seed(rig_of: Any) -> None:
    rig = rig_of(TinyModel())
    body = {"prompt": "q\n", "n": 3, "seed": 3, "temperature": 2, "max_tokens": 8, "ignore_eos": True}
    answer = (await rig.post(PATH, body)).json()
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (3, 24)
    single = (await rig.post(PATH, {**body, "n": 1, "seed": 5})).json()
    assert single["choices"][0]["text"] == answer["choices"][2]["text"]


@pytest.mark.parametrize("n", [0, 17, -1])
async def test_n_out_of_range_is_refused(rig_of: Any, n: int) -> None:
    assert (await rig_of().post(PATH, {"prompt": "q\n", "n": n})).json()["error"]["param"] == "n"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mirostat", 2),
        ("grammar", "root ::= x"),
        ("response_format", {"type": "json_schema"}),
        ("response_format", {"type": "json_object"}),
        ("dry_multiplier", 0.8),
        ("typical_p", 0.5),
        ("dynatemp_range", 1),
        ("best_of", 3),
        ("messages", []),
        ("think", True),
        ("no_such_field", 1),
        ("temprature", 1),
        ("temperature", 3),
        ("temperature", "hot"),
        ("top_p", 1.5),
        ("logprobs", 21),
        ("top_logprobs", 3),
        ("logit_bias", {"x": 1}),
        ("logit_bias", {"99999": 1}),
        ("max_tokens", 1.5),
        ("max_tokens", "5"),
        ("keep_alive", "soon"),
        ("stream_options", {"nope": 1}),
    ],
)
async def test_what_is_not_honoured_is_refused_by_name(rig_of: Any, field: str, value: Any) -> None:
    reply = await rig_of().post(PATH, {"prompt": "q\n", field: value})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert field in error["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mirostat", 0),
        ("mirostat_tau", 5.0),
        ("grammar", None),
        ("response_format", {"type": "text"}),
        ("dry_multiplier", 0),
        ("user", "me"),
        ("metadata", {"a": "b"}),
        ("service_tier", "auto"),
        ("best_of", 1),
        ("keep_alive", "5m"),
        ("stream_options", None),
        ("think", None),
    ],
)
async def test_values_that_mean_off_are_accepted(rig_of: Any, field: str, value: Any) -> None:
    assert (await rig_of().post(PATH, {"prompt": "q\n", field: value})).status_code == 200


@pytest.mark.parametrize(("value", "seconds"), [("5m", 300), (0, 0), ("0", 0), (None, None), (90, 90)])
async def test_keep_alive_reaches_the_store(rig_of: Any, value: Any, seconds: float | None) -> None:
    rig = rig_of()
    await rig.post(PATH, {"prompt": "q\n", "keep_alive": value})
    assert rig.store.keep_alives == [seconds]


async def test_keep_alive_minus_one_means_for_ever(rig_of: Any) -> None:
    rig = rig_of()
    await rig.post(PATH, {"prompt": "q\n", "keep_alive": -1})
    assert rig.store.keep_alives[0] == math.inf


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"prompt": "\\ud800"}', b"[" * 100_000, b'{"seed": NaN}'])
async def test_broken_json_is_a_json_error(rig_of: Any, body: bytes) -> None:
    async with rig_of().client() as client:
        reply = await client.post(PATH, content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")


async def test_an_unknown_model_is_not_found(rig_of: Any) -> None:
    reply = await rig_of().post(PATH, {"prompt": "q\n", "model": "gpt-9"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")
    assert "tiny" in reply.json()["error"]["message"]


async def test_an_unforeseen_fault_is_a_json_500_without_its_text(rig_of: Any) -> None:
    model = TinyModel()
    model.tiny.fail_on = lambda histories: RuntimeError("secret detail")
    reply = await rig_of(model).post(PATH, {"prompt": "q\n"})
    assert (reply.status_code, reply.json()["error"]["type"]) == (500, "server_error")
    assert "secret" not in reply.text
    assert reply.headers["x-request-id"] in reply.text


async def test_a_full_queue_is_a_503_with_retry_after(rig_of: Any) -> None:
    from blazr.engine import LaneLimits

    rig = rig_of(limits=LaneLimits(max_queue=1))
    reply = await rig.post(PATH, {"prompt": ["a\n", "b\n"]})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "server_overloaded")
    assert int(reply.headers["retry-after"]) >= 1
