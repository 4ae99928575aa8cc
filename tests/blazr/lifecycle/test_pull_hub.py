"""Pulling from a hub: huggingface_hub itself against a small server in this process, no network."""

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = b"GGUF" + bytes(range(256)) * 512
PULL = """
import sys
from blazr.errors import PullError
from blazr.lifecycle.pull import pull
try:
    print(pull(sys.argv[1], sys.argv[2], file=sys.argv[3] if len(sys.argv) > 3 else None).fetched)
except PullError as error:
    sys.exit(str(error))
"""


class Hub:
    """Files of one repository `org/tiny`; counts requests, and can damage what it sends."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.damaged: dict[str, int] = {}  # name: how many times the content is wrong
        self.fetched: list[tuple[str, str | None]] = []  # name and Range of every GET
        self.url = ""

    def listing(self) -> bytes:
        siblings = []
        for name, content in self.files.items():
            entry = {"rfilename": name, "size": len(content)}
            entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            if name.endswith((".gguf", ".safetensors")):
                entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 1}
            siblings.append(entry)
        return json.dumps({"id": "org/tiny", "modelId": "org/tiny", "sha": COMMIT, "siblings": siblings}).encode()

    def content(self, name: str) -> bytes:
        content = self.files[name]
        if self.damaged.get(name, 0) > 0:
            self.damaged[name] -= 1
            return content[:-1] + bytes([content[-1] ^ 1])
        return content


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            if self.path.startswith("/api/models/org/tiny"):
                return self.answer(state.listing(), "application/json")
            name = self.path.removeprefix(f"/org/tiny/resolve/{COMMIT}/")
            if name not in state.files:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            if self.command == "GET":
                state.fetched.append((name, self.headers.get("Range")))
                return self.answer(state.content(name), "application/octet-stream", name)
            return self.answer(state.files[name], "application/octet-stream", name)

        def answer(self, body: bytes, kind: str, name: str | None = None) -> None:
            start = 0
            if self.command == "GET" and (wanted := self.headers.get("Range")):
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
            self.send_response(206 if start else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) - start))
            if name:
                self.send_header("ETag", f'"{hashlib.sha256(state.files[name]).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[start:])

        def log_message(self, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def run_pull(hub: Hub, tmp_path: Path, source: str = "org/tiny", *more: str) -> subprocess.CompletedProcess[str]:
    environ = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "NO_PROXY": "*",
    }
    command = [sys.executable, "-c", PULL, source, str(tmp_path / "models"), *more]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_one_quantization_is_chosen_and_nothing_else_comes_along(hub: Hub, tmp_path: Path) -> None:
    hub.files = {
        "tiny.Q8_0.gguf": WEIGHTS,
        "tiny.Q4_K_M.gguf": WEIGHTS + b"4",
        "pytorch_model.bin": b"pickle",
        "README.md": b"hi",
        "LICENSE": b"MIT",
        "tokenizer.json": b"{}",
    }
    done = run_pull(hub, tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert names(tmp_path / "models") == ["tiny"]
    assert names(tmp_path / "models" / "tiny") == ["LICENSE", "tiny.Q4_K_M.gguf", "tokenizer.json"]
    assert run_pull(hub, tmp_path).stdout == "False\n"


def test_only_the_shards_of_the_index_are_fetched(hub: Hub, tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    hub.files = {
        "config.json": b"{}",
        "model.safetensors.index.json": json.dumps(index).encode(),
        "model-00001-of-00002.safetensors": b"1" * 100,
        "model-00002-of-00002.safetensors": b"2" * 100,
        "consolidated.safetensors": b"3" * 100,
    }
    done = run_pull(hub, tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert "consolidated.safetensors" not in names(tmp_path / "models" / "tiny")
    assert "model-00002-of-00002.safetensors" in names(tmp_path / "models" / "tiny")


def test_a_damaged_file_is_fetched_once_more(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tiny.Q8_0.gguf": WEIGHTS}
    hub.damaged = {"tiny.Q8_0.gguf": 1}
    done = run_pull(hub, tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert (tmp_path / "models" / "tiny" / "tiny.Q8_0.gguf").read_bytes() == WEIGHTS


def test_a_file_that_stays_damaged_is_named_and_not_installed(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tiny.Q8_0.gguf": WEIGHTS}
    hub.damaged = {"tiny.Q8_0.gguf": 9}
    done = run_pull(hub, tmp_path)
    assert "tiny.Q8_0.gguf does not match its hash" in done.stderr
    assert not (tmp_path / "models" / "tiny").exists()


def test_files_that_arrived_before_a_break_are_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"tiny.Q8_0.gguf": WEIGHTS, "config.json": b"{}"}
    staging = tmp_path / "models" / ".pull-tiny"
    staging.mkdir(parents=True)
    (staging / "tiny.Q8_0.gguf").write_bytes(WEIGHTS)
    (staging / "other.gguf").write_bytes(b"of an earlier choice")
    done = run_pull(hub, tmp_path)
    assert done.stdout == "True\n", done.stderr
    assert [name for name, _ in hub.fetched] == ["config.json"]
    assert names(tmp_path / "models" / "tiny") == ["config.json", "tiny.Q8_0.gguf"]


def test_a_file_of_a_subfolder_lands_beside_the_others(hub: Hub, tmp_path: Path) -> None:
    hub.files = {"q8/tiny.Q8_0.gguf": WEIGHTS, "config.json": b"{}"}
    done = run_pull(hub, tmp_path, "org/tiny", "q8/tiny.Q8_0.gguf")
    assert done.stdout == "True\n", done.stderr
    assert names(tmp_path / "models" / "tiny") == ["config.json", "tiny.Q8_0.gguf"]


def test_an_unknown_repository_is_one_clear_line(hub: Hub, tmp_path: Path) -> None:
    done = run_pull(hub, tmp_path, "org/missing")
    assert done.returncode == 1
    assert "there is no repository org/missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hub_that_is_not_there_is_one_clear_line(hub: Hub, tmp_path: Path) -> None:
    hub.url = "http://127.0.0.1:9"
    done = run_pull(hub, tmp_path)
    assert done.stderr.startswith("cannot fetch org/tiny"), done.stderr
    assert "Traceback" not in done.stderr
