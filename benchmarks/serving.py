"""Requests per second of a running OpenAI-compatible server at several numbers of concurrent clients.

Starts the server named on the command line as a child process on a loopback port, waits until it answers, drives it and
stops it. Every request streams a fixed number of greedy tokens from a prompt of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time

import httpx

SERVERS = {
    "blazr": [sys.executable, "-m", "blazr", "serve", "--host", "127.0.0.1", "--port", "{port}", "--model", "{model}"],
    "llama.cpp": [
        *(sys.executable, "-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", "{port}", "--model", "{model}"),
        *("--n_ctx", "2048", "--n_threads", "2", "--n_threads_batch", "2", "--verbose", "False"),
    ],
}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def wait_ready(client: httpx.AsyncClient, seconds: float = 60) -> str:
    """The id of the served model, once the server answers."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            answer = await client.get("/v1/models")
            if answer.status_code == 200 and answer.json()["data"]:
                return str(answer.json()["data"][0]["id"])
        except httpx.TransportError:
            await asyncio.sleep(0.2)
    raise SystemExit("the server did not become ready")


async def drive(client: httpx.AsyncClient, model: str, clients: int, requests: int, tokens: int) -> float:
    """Finished requests per second with `clients` of them open at any time."""
    numbers = iter(range(requests))

    async def one_client() -> None:
        for number in numbers:
            prompt = f"Item {number}: the history of the city, told in order, begins with"
            body = {"model": model, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
            answer = await client.post("/v1/completions", json=body, timeout=300)
            answer.raise_for_status()

    started = time.perf_counter()
    await asyncio.gather(*(one_client() for _ in range(clients)))
    return requests / (time.perf_counter() - started)


async def run(port: int, concurrency: list[int], requests: int, tokens: int) -> dict[str, float]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        model = await wait_ready(client)
        await drive(client, model, 1, 1, 4)
        return {f"requests_per_s_{n}": await drive(client, model, n, max(requests, n), tokens) for n in concurrency}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", choices=SERVERS)
    parser.add_argument("model")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=32)
    options = parser.parse_args()
    port = free_port()
    command = [part.format(port=port, model=options.model) for part in SERVERS[options.server]]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        result = asyncio.run(run(port, options.concurrency, options.requests, options.tokens))
    finally:
        server.terminate()
        server.wait(30)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
