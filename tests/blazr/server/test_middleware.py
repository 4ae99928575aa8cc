"""Access and limits: CORS, keys, host names, rates, sizes, times, and what the log says."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from blazr.errors import RateLimitError, SettingsError
from blazr.server.middleware.api_keys import read_key_file
from blazr.server.middleware.origins import is_loopback
from blazr.server.middleware.rate_limit import RateLimit
from tests.support.tiny import TinyModel

pytestmark = pytest.mark.anyio
TEXT = "/v1/completions"
BODY = {"prompt": "q\n", "max_tokens": 1}
PAGE = {"Origin": "https://app.example"}
PREFLIGHT = {**PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


def bearer(key: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {key}"}


# CORS


async def test_preflights_need_no_key_and_allow_authorization(rig_of: Any) -> None:
    rig = rig_of(api_keys=("k",), cors_origins=("https://app.example",))
    async with rig.client() as client:
        reply = await client.options(TEXT, headers=PREFLIGHT)
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in reply.headers["access-control-allow-headers"].lower()
        assert (await client.options(TEXT)).status_code == 401  # an OPTIONS that is no preflight


async def test_errors_carry_cors_headers(rig_of: Any) -> None:
    model = TinyModel()
    model.tiny.fail_on = lambda histories: RuntimeError("x")
    rig = rig_of(model, api_keys=("k",), cors_origins=("*",))
    for headers, status in (({}, 401), (bearer("k"), 500)):
        reply = await rig.post(TEXT, BODY, headers={**PAGE, **headers})
        assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (status, "*")


async def test_cors_is_off_unless_configured(rig_of: Any) -> None:
    rig = rig_of(api_keys=("k",))
    reply = await rig.post(TEXT, BODY, headers={**PAGE, **bearer("k")})
    assert reply.status_code == 200
    assert "access-control-allow-origin" not in reply.headers


async def test_other_origins_get_no_cors_headers(rig_of: Any) -> None:
    rig = rig_of(cors_origins=("https://other.example",))
    reply = await rig.get("/v1/models", headers=PAGE)
    assert "access-control-allow-origin" not in reply.headers


# Keys


async def test_keys_are_checked_everywhere_but_on_probes(rig_of: Any) -> None:
    rig = rig_of(api_keys=("secret-1", "secret-2"))
    assert (await rig.get("/health")).status_code == 200
    assert (await rig.get("/metrics")).status_code == 200
    for key in ("secret-1", "secret-2"):
        assert (await rig.get("/v1/models", headers=bearer(key))).status_code == 200
    assert (await rig.get("/v1/models", headers=bearer("secret-1", "bEARER"))).status_code == 200


@pytest.mark.parametrize("headers", [{}, bearer("secret-x"), bearer(""), bearer("secret-1", "Basic"), bearer("sécret")])
async def test_missing_and_wrong_keys_are_401(rig_of: Any, headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    reply = await rig_of(api_keys=("secret-1",)).get("/v1/models", headers=raw)
    assert (reply.status_code, reply.json()["error"]["type"]) == (401, "invalid_api_key")
    assert reply.headers["www-authenticate"] == "Bearer"


async def test_missing_and_wrong_have_texts_of_their_own(rig_of: Any) -> None:
    rig = rig_of(api_keys=("k",))
    missing, wrong = await rig.get("/v1/models"), await rig.get("/v1/models", headers=bearer("x"))
    assert missing.json()["error"]["message"] != wrong.json()["error"]["message"]


async def test_keys_come_from_a_file(rig_of: Any, tmp_path: Any) -> None:
    file = tmp_path / "keys"
    file.write_text("# staff\n\n  one  \ntwo\n")
    rig = rig_of(api_key_file=str(file))
    assert (await rig.get("/v1/models", headers=bearer("one"))).status_code == 200
    assert (await rig.get("/v1/models", headers=bearer("# staff"))).status_code == 401


@pytest.mark.parametrize("content", [None, "", "# nothing\n"])
def test_a_key_file_without_keys_is_an_error(tmp_path: Any, content: str | None) -> None:
    file = tmp_path / "keys"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError, match="--api-key-file"):
        read_key_file(str(file))


async def test_no_key_reaches_the_log(rig_of: Any, caplog: Any) -> None:
    rig = rig_of(api_keys=("secret-1",))
    with caplog.at_level(logging.DEBUG):
        await rig.post(TEXT, BODY, headers=bearer("secret-1"))
        await rig.get("/v1/models?key=secret-1", headers=bearer("wrong-key"))
    logged = " ".join(record.getMessage() for record in caplog.records if record.name.startswith("blazr"))
    assert "POST /v1/completions 200" in logged
    assert "secret-1" not in logged
    assert "wrong-key" not in logged


# Host and origin


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
    ],
)
async def test_a_loopback_server_without_keys_checks_the_host(rig_of: Any, host: str, status: int) -> None:
    assert (await rig_of().get("/v1/models", headers={"Host": host})).status_code == status


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"api_keys": ("k",)}])
async def test_public_or_keyed_servers_take_any_host(rig_of: Any, options: dict[str, Any]) -> None:
    reply = await rig_of(**options).get("/v1/models", headers={"Host": "my.example", **bearer("k")})
    assert reply.status_code == 200


async def test_a_foreign_page_cannot_post_without_a_key(rig_of: Any) -> None:
    rig = rig_of()
    reply = await rig.post(TEXT, BODY, headers=PAGE)
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "access_denied")
    assert (await rig.post(TEXT, BODY, headers={"Origin": "http://localhost"})).status_code == 200
    assert (await rig_of(cors_origins=("https://app.example",)).post(TEXT, BODY, headers=PAGE)).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.8.8.8", "::1", "[::1]"])
def test_names_of_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["localhost.example", "0.0.0.0", "10.0.0.1", "", "2130706433", "::2"])
def test_other_names(host: str) -> None:
    assert not is_loopback(host)


# Limits


async def test_the_rate_limit_is_per_client_and_refills(rig_of: Any) -> None:
    now = [0.0]
    passed = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope.get("blazr.client"))

    limit = RateLimit(app, 60, clock=lambda: now[0])

    async def ask(client: str, path: str = "/v1/models") -> None:
        await limit({"type": "http", "path": path, "blazr.client": client}, None, None)  # type: ignore[arg-type]

    for _ in range(60):
        await ask("a")
    with pytest.raises(RateLimitError) as caught:
        await ask("a")
    assert caught.value.retry_after == pytest.approx(1.0)
    await ask("b")
    await ask("a", "/health")
    now[0] += 1.01
    await ask("a")
    assert len(passed) == 63


async def test_too_many_requests_are_a_429_with_retry_after(rig_of: Any) -> None:
    rig = rig_of(rate_limit=1.0)
    assert (await rig.get("/v1/models")).status_code == 200
    reply = await rig.get("/v1/models")
    assert (reply.status_code, reply.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 50 <= int(reply.headers["retry-after"]) <= 60


async def test_bodies_are_bounded_announced_or_chunked(rig_of: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    rig = rig_of(max_body_size=1000)
    async with rig.client() as client:
        for content in (b" " * 1001, chunks()):
            reply = await client.post(TEXT, content=content)
            assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")
        assert (await client.post(TEXT, json=BODY)).status_code == 200


async def test_the_time_limit_is_a_408_before_the_first_byte(rig_of: Any) -> None:
    rig = rig_of(TinyModel(), request_timeout_secs=0.05)
    rig.model.tiny.gate.clear()
    reply = await rig.post(TEXT, BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "request_timeout")


async def test_the_time_limit_covers_loads(rig_of: Any) -> None:
    rig = rig_of(TinyModel(), request_timeout_secs=0.05)
    rig.store.load_gate = asyncio.Event()
    reply = await rig.post(TEXT, BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "request_timeout")


async def test_open_requests_are_bounded(rig_of: Any) -> None:
    rig = rig_of(TinyModel(), max_concurrent_requests=1, max_queue=1)
    rig.model.tiny.gate.clear()
    waiting = [asyncio.create_task(rig.post(TEXT, BODY)) for _ in range(2)]
    async with asyncio.timeout(5):
        while rig.app.state.service.open_requests < 2:
            await asyncio.sleep(0.005)
    reply = await rig.post(TEXT, BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "server_overloaded")
    assert (await rig.get("/health")).status_code == 200
    rig.model.tiny.gate.set()
    assert [(await one).status_code for one in waiting] == [200, 200]


async def test_request_ids_are_taken_when_sane_and_always_returned(rig_of: Any) -> None:
    rig = rig_of()
    assert (await rig.get("/health", headers={"X-Request-ID": "abc-1"})).headers["x-request-id"] == "abc-1"
    assert len((await rig.get("/health", headers={"X-Request-ID": "a b\t"})).headers["x-request-id"]) == 32


async def test_log_lines_cannot_be_forged(rig_of: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "blazr.access"):
        await rig_of().get("/x%0aforged line")
    assert len([record for record in caplog.records if record.name == "blazr.access"]) == 1
    assert "\n" not in caplog.records[-1].getMessage()


async def test_the_access_log_can_be_off(rig_of: Any, caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "blazr.access"):
        await rig_of(request_logging=False).get("/health")
    assert not [record for record in caplog.records if record.name == "blazr.access"]
