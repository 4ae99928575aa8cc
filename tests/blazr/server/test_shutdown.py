"""Stopping: drain, error events to what is left, and an end that nobody can hold up."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
from typing import Any

import httpx
import pytest

from blazr.config import ServerSettings
from blazr.errors import ModelLoadError, SettingsError, ShuttingDownError
from blazr.server.run import bind_socket, check_certificate
from tests.support.tiny import TinyModel, says

pytestmark = pytest.mark.anyio
TEXT = "/v1/completions"


async def read_stream(rig: Any, body: dict[str, Any], begun: asyncio.Event) -> list[str]:
    lines = []
    async with rig.client() as client, client.stream("POST", TEXT, json={**body, "stream": True}) as reply:
        async for line in reply.aiter_lines():
            begun.set()
            lines += [line] if line else []
    return lines


async def test_a_draining_server_finishes_streams_and_refuses_new_work(rig_of: Any) -> None:
    rig = rig_of(TinyModel())
    rig.model.tiny.step_seconds = 0.005
    await rig.listen()
    begun = asyncio.Event()
    reading = asyncio.create_task(read_stream(rig, {"prompt": "q\n", "max_tokens": 60}, begun))
    await begun.wait()
    rig.shutdown.set()
    async with rig.client() as client:
        async with asyncio.timeout(2):
            while (health := await client.get("/health")).status_code == 200:
                await asyncio.sleep(0.005)
        refused = await client.post(TEXT, json={"prompt": "q\n"})
    assert health.json()["status"] == "draining"
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_shutting_down")
    lines = await reading
    assert lines[-1] == "data: [DONE]"
    async with asyncio.timeout(5):
        await rig.serving
    with pytest.raises(httpx.TransportError):
        await rig.get("/health")


async def test_what_outlasts_the_drain_gets_an_error_event(rig_of: Any) -> None:
    rig = rig_of(TinyModel(context_length=100_000), shutdown_timeout_secs=0.1)
    rig.model.tiny.step_seconds = 0.005
    await rig.listen()
    begun = asyncio.Event()
    reading = asyncio.create_task(read_stream(rig, {"prompt": "q\n", "max_tokens": -1}, begun))
    await begun.wait()
    rig.shutdown.set()
    async with asyncio.timeout(5):
        lines = await reading
        await rig.serving
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "server_shutting_down"


async def test_the_first_signal_drains_and_the_second_exits(rig_of: Any) -> None:
    rig = rig_of(TinyModel(context_length=100_000), shutdown_timeout_secs=20)
    rig.model.tiny.step_seconds = 0.005
    exits: list[int] = []
    await rig.listen(exit_now=exits.append)
    begun = asyncio.Event()
    reading = asyncio.create_task(read_stream(rig, {"prompt": "q\n", "max_tokens": -1}, begun))
    await begun.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(2):
        while not rig.app.state.service.draining:
            await asyncio.sleep(0.005)
    assert not exits
    os.kill(os.getpid(), signal.SIGINT)
    async with asyncio.timeout(2):
        while not exits:
            await asyncio.sleep(0.005)
    assert exits == [128 + signal.SIGINT]
    await asyncio.to_thread(rig.store.lanes["tiny"].close)  # as the exit would have
    await reading


async def test_health_is_503_while_the_start_model_loads(rig_of: Any) -> None:
    rig = rig_of()
    rig.store.ready = False
    loading = asyncio.Event()

    async def start() -> None:
        await loading.wait()
        rig.store.ready = True

    await rig.listen(start=start)
    assert (await rig.get("/health")).status_code == 503
    loading.set()
    async with asyncio.timeout(2):
        while (await rig.get("/health")).status_code != 200:
            await asyncio.sleep(0.005)


async def test_stopping_while_the_start_model_loads_is_no_error(rig_of: Any) -> None:
    rig = rig_of(TinyModel())

    async def start() -> None:
        await rig.shutdown.wait()
        raise ShuttingDownError("the server is shutting down")

    await rig.listen(start=start)
    rig.shutdown.set()
    async with asyncio.timeout(30):
        await rig.serving


async def test_a_start_model_that_fails_ends_the_server_with_its_error(rig_of: Any) -> None:
    rig = rig_of()
    failing = asyncio.Event()

    async def start() -> None:
        await failing.wait()
        raise ModelLoadError("broken file")

    await rig.listen(start=start)
    serving, rig.serving = rig.serving, None
    failing.set()
    async with asyncio.timeout(5):
        with pytest.raises(ModelLoadError, match="broken file"):
            await serving


def test_an_address_in_use_names_the_flags() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SettingsError, match="--port"):
            bind_socket("127.0.0.1", taken.getsockname()[1])


def test_an_address_that_does_not_exist_names_the_flag() -> None:
    with pytest.raises(SettingsError, match="--host"):
        bind_socket("no.such.host.invalid", 0)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_unusable_certificate_names_the_flags(tmp_path: Any, content: str | None) -> None:
    file = tmp_path / "cert.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError, match="--tls-cert"):
        check_certificate(ServerSettings(tls_cert=str(file), tls_key=str(file)))


async def test_ipv6_and_ipv4_loopback_can_be_served(rig_of: Any) -> None:
    rig = rig_of(TinyModel(says("six")), host="::1")
    try:
        await rig.listen()
    except SettingsError:
        pytest.skip("no IPv6 here")
    assert "[::1]" in rig.url
    assert (await rig.post(TEXT, {"prompt": "q\n"})).json()["choices"][0]["text"] == "six"


async def test_a_client_that_does_not_read_cannot_hold_up_the_end(rig_of: Any) -> None:
    rig = rig_of(TinyModel(), shutdown_timeout_secs=0.05)
    await rig.listen()
    body = {"prompt": "q\n", "max_tokens": 1, "n": 16, "stream": True, "suffix": "x" * 600_000}  # 9 MB of answer
    content = json.dumps(body).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", int(rig.url.rsplit(":", 1)[1])))
        client.setblocking(False)
        head = f"POST {TEXT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(client, head + content)
        async with asyncio.timeout(5):
            while not rig.metric("blazr_generations_total", model="tiny", outcome="completed"):
                await asyncio.sleep(0.01)
        assert rig.app.state.service.open_requests == 1
        rig.shutdown.set()
        async with asyncio.timeout(9):
            await rig.serving


async def test_tls_is_served(rig_of: Any, tmp_path: Any) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", cert], check=True, capture_output=True)
    rig = rig_of(TinyModel(says("safe")), tls_cert=cert, tls_key=key)
    await rig.listen()
    assert rig.url.startswith("https://")
    async with httpx.AsyncClient(verify=ssl.create_default_context(cafile=cert)) as client:
        reply = await client.post(rig.url + TEXT, json={"prompt": "q\n"})
    assert reply.json()["choices"][0]["text"] == "safe"
