"""The program end to end on SmolLM2-135M: run, chat at a terminal, info, and a server that answers and stops."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from tests.support.smollm2 import smollm2_gguf

pytestmark = pytest.mark.real_model
BLAZR = (sys.executable, "-m", "blazr")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory as `blazr pull` makes it."""
    root = tmp_path_factory.mktemp("models")
    (root / "smollm2").mkdir()
    os.link(smollm2_gguf(), root / "smollm2" / smollm2_gguf().name)
    return root


@pytest.fixture
def environ(models: Path, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "BLAZR_MODEL_DIR": str(models), "XDG_DATA_HOME": str(tmp_path)}


def run(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BLAZR, *arguments], capture_output=True, text=True, env=environ, timeout=120)


def test_greedy_text_is_the_same_by_name_by_path_and_in_a_pipe(environ: dict[str, str], models: Path) -> None:
    flags = ("--temperature", "0", "--max-tokens", "12")
    by_name = run(environ, "run", "--model", "smollm2", "--prompt", "The capital of France is", *flags)
    assert by_name.returncode == 0, by_name.stderr
    assert "Paris" in by_name.stdout
    assert re.search(r"loaded smollm2 \(llama, GGUF Q4_1, 30 layers, context 8192\) in \d+\.\d s", by_name.stderr)
    assert "[12 tokens, " in by_name.stderr
    piped = subprocess.run(
        [*BLAZR, "generate", str(models / "smollm2"), *flags],
        input=b"The capital of France is",
        capture_output=True,
        env=environ,
        timeout=120,
    )
    assert piped.stdout.decode() == by_name.stdout


def test_a_seed_repeats_the_text(environ: dict[str, str]) -> None:
    arguments = ("run", "smollm2", "-p", "Once upon a time", "--max-tokens", "8", "--seed", "7", "--temperature", "1")
    assert run(environ, *arguments).stdout == run(environ, *arguments).stdout


def test_info_is_quick_and_complete(environ: dict[str, str]) -> None:
    began = time.monotonic()
    done = run(environ, "info", "smollm2", "--json")
    assert time.monotonic() - began < 5  # half a second on a quiet machine
    facts = json.loads(done.stdout)
    assert (facts["num_layers"], facts["hidden_size"], facts["vocab_size"]) == (30, 576, 49152)
    assert (facts["num_heads"], facts["num_kv_heads"], facts["context_length"]) == (9, 3, 8192)
    assert (facts["quantization"], facts["chat_template"], facts["size"]) == ("Q4_1", "gguf jinja", 98_362_432)


def test_chat_at_a_terminal(environ: dict[str, str], tmp_path: Path) -> None:
    process, terminal = _at_a_terminal(environ, "chat", "smollm2", "--temperature", "0", "--max-tokens", "2000")
    try:
        _read_until(terminal, ">>> ")
        os.write(terminal, b"Write a long story about a dog.\n")
        _read_until(terminal, "\n")  # the line's own echo
        _read_until(terminal, " ")  # a word of the answer
        os.write(terminal, b"\x03")  # Ctrl-C stops the answer
        seen = _read_until(terminal, ">>> ")
        assert "tok/s" in seen
        os.write(terminal, b"/exit\n")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert "Write a long story" in (tmp_path / "blazr" / "chat_history.txt").read_text()


@pytest.fixture
def server(environ: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*BLAZR, "serve", "smollm2", "--host", "127.0.0.1", "--port", str(port), "--api-key", "secret"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ)
    yield f"http://127.0.0.1:{port}", process
    process.kill()
    process.communicate()


def test_serve_answers_and_stops(server: tuple[str, subprocess.Popen[str]], environ: dict[str, str]) -> None:
    address, process = server
    _wait_until_healthy(address, process)
    body = {"model": "smollm2", "prompt": "The capital of France is", "max_tokens": 6, "temperature": 0}
    request = Request(f"{address}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    request.add_header("Authorization", "Bearer secret")
    with urlopen(request, timeout=60) as response:
        assert "Paris" in json.loads(response.read())["choices"][0]["text"]
    running = run(environ, "ps", "--server", address, "--api-key", "secret")
    assert running.stdout.startswith("smollm2  "), running.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert process.stderr is not None
    banner = process.stderr.read()
    assert f"at {address}" in banner
    assert "POST /v1/completions 200" in banner  # the access log
    assert "/health" not in banner
    assert "secret" not in banner


def _wait_until_healthy(address: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[1]
        try:
            with urlopen(f"{address}/health", timeout=5) as response:
                if response.status == 200:
                    return
        except (URLError, ConnectionError):  # not listening yet, or 503 while it loads
            time.sleep(0.1)
    pytest.fail("the server did not become healthy")


def _at_a_terminal(environ: dict[str, str], *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*BLAZR, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environ, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(theirs)
    return process, ours


def _take_terminal() -> None:
    """In the child: the terminal's Ctrl-C must reach it, also where the tests themselves run with it ignored."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read_until(terminal: int, text: str, seconds: float = 60) -> str:
    seen = b""
    deadline = time.monotonic() + seconds
    while text.encode() not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"no {text!r} in {seen.decode(errors='replace')!r}"
        seen += os.read(terminal, 4096)
    return seen.decode(errors="replace")
