"""The small routes: probes, model lists, Ollama's management routes, and the text routes."""

from typing import Any

import pytest

from blazr.server.errors import ERROR_TABLE, describe_error
from tests.support.tiny import BOS, IM_START, TinyModel

pytestmark = pytest.mark.anyio


async def test_health_tells_ok_loading_and_draining(rig_of: Any) -> None:
    rig = rig_of()
    reply = await rig.get("/health")
    assert (reply.status_code, reply.json()["status"], reply.json()["loaded_models"]) == (200, "ok", ["tiny"])
    assert reply.json()["version"]
    rig.store.ready = False
    assert ((await rig.get("/health")).status_code, (await rig.get("/health")).json()["status"]) == (503, "loading")
    rig.store.ready = True
    rig.app.state.service.draining = True
    assert ((await rig.get("/health")).status_code, (await rig.get("/health")).json()["status"]) == (503, "draining")


async def test_work_is_refused_while_draining(rig_of: Any) -> None:
    rig = rig_of()
    rig.app.state.service.draining = True
    reply = await rig.post("/v1/completions", {"prompt": "q\n"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "server_shutting_down")
    assert "retry-after" in reply.headers


async def test_models_are_listed_and_shown(rig_of: Any) -> None:
    rig = rig_of(TinyModel(name="one"), TinyModel(name="two"))
    listed = (await rig.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [entry["id"] for entry in listed["data"]] == ["one", "two"]
    entry = (await rig.get("/v1/models/two")).json()
    assert {"id": "two", "object": "model", "created": 1_700_000_000, "owned_by": "local"}.items() <= entry.items()
    missing = await rig.get("/v1/models/three")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


async def test_the_request_chooses_the_model(rig_of: Any) -> None:
    rig = rig_of(TinyModel(lambda ids: 97, name="a"), TinyModel(lambda ids: 98, name="b"))
    body = {"prompt": "q\n", "max_tokens": 2}
    assert (await rig.post("/v1/completions", {**body, "model": "b"})).json()["choices"][0]["text"] == "bb"
    assert (await rig.post("/v1/completions", body)).json()["choices"][0]["text"] == "aa"


async def test_tokenize_and_back(rig_of: Any) -> None:
    rig = rig_of()
    tokens = (await rig.post("/tokenize", {"content": "hé<|im_start|>"})).json()["tokens"]
    assert tokens == [BOS, 104, 0xC3, 0xA9, IM_START]
    assert (await rig.post("/detokenize", {"tokens": tokens})).json() == {"content": "<|bos|>hé<|im_start|>"}
    plain = {"content": "<|im_start|>", "add_special": False, "parse_special": False}
    assert (await rig.post("/tokenize", plain)).json()["tokens"] == list(b"<|im_start|>")


@pytest.mark.parametrize("token", [-1, 10**6])
async def test_detokenize_bounds_its_ids(rig_of: Any, token: int) -> None:
    reply = await rig_of().post("/detokenize", {"tokens": [token]})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "tokens")


async def test_tags_have_ollamas_shape(rig_of: Any) -> None:
    model = (await rig_of().get("/api/tags")).json()["models"][0]
    assert model == {
        "name": "tiny",
        "model": "tiny",
        "modified_at": "2023-11-14T22:13:20+00:00",
        "size": 12345,
        "details": {"format": "gguf", "family": "tiny", "parameter_size": "1K", "quantization_level": "F32"},
    }


async def test_show_reports_the_template_in_use(rig_of: Any) -> None:
    rig = rig_of()
    shown = (await rig.post("/api/show", {"name": "tiny"})).json()
    assert shown["template"] == "gguf jinja"
    assert "<|im_start|>" in shown["template_text"]
    assert shown["model_info"]["vocab_size"] == 264
    assert (await rig.post("/api/show", {"name": "nope"})).status_code == 404
    assert (await rig.post("/api/show", {})).json()["error"]["param"] == "name"


async def test_ps_lists_what_runs(rig_of: Any) -> None:
    model = (await rig_of().get("/api/ps")).json()["models"][0]
    assert (model["name"], model["size"]) == ("tiny", 999)
    assert "T" in model["expires_at"]


async def test_metrics_count_requests_by_route_template(rig_of: Any) -> None:
    rig = rig_of()
    await rig.post("/v1/completions", {"prompt": "q\n"})
    await rig.get("/v1/models/tiny")
    await rig.get("/no/such/path")
    text = (await rig.get("/metrics")).text
    assert 'blazr_requests_total{method="POST",path="/v1/completions"} 1.0' in text
    assert 'path="/v1/models/{id:path}"' in text
    assert 'path="unmatched"' in text
    assert "/no/such/path" not in text
    assert 'blazr_tokens_generated_total{model="tiny"} 6.0' in text
    assert 'blazr_tokens_prompted_total{model="tiny"} 3.0' in text
    assert 'blazr_generations_total{model="tiny",outcome="completed"} 1.0' in text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/v1/completions", 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
        ("GET", "/health/", 404, "not_found"),
        ("POST", "/api/generate", 404, "not_found"),
    ],
)
async def test_framework_errors_have_the_same_shape(
    rig_of: Any, method: str, path: str, status: int, code: str
) -> None:
    async with rig_of().client() as client:
        reply = await client.request(method, path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert set(reply.json()["error"]) == {"message", "type", "param", "code"}


def test_every_error_of_the_packages_has_a_row() -> None:
    import blazr.errors
    import boostr.errors
    import numr.errors

    roots = {"BlazrError", "BoostrError", "PullError"}  # the bases, and one that only a command raises
    for module in (numr.errors, boostr.errors, blazr.errors):
        for name in set(module.__all__) - roots:
            cls = getattr(module, name)
            assert any(base in ERROR_TABLE for base in cls.__mro__), f"{module.__name__}.{name} has no status"


def test_subclasses_take_their_own_row_before_their_bases() -> None:
    from blazr.errors import OverloadedError, RateLimitError

    assert describe_error(OverloadedError("x"))[0] == 503
    assert describe_error(RateLimitError("x"))[0] == 429
