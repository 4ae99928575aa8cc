"""Every configuration key: its section, type, default and meaning. How values are found stands in load.py.

docs/configuration.md is generated from these classes. A key stands here only when something honours it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blazr.config.values import (
    boolean,
    choice,
    duration,
    integer,
    key,
    number,
    optional,
    secrets,
    size,
    text,
    texts,
    token_biases,
)


@dataclass(frozen=True)
class ServerSettings:
    """What `blazr serve` listens on, whom it admits, and how much it takes."""

    host: str = key("0.0.0.0", text, "Address to bind to.")
    port: int = key(8080, integer(0, 65535), "Port to listen on; 0 takes a free one.")
    model: str | None = key(None, optional(text), "Model to load before the server reports ready.", "none: on demand")
    api_keys: tuple[str, ...] = key((), secrets, "Keys a client must send one of; none means no authentication.")
    api_key_file: str | None = key(None, optional(text), "File with one key a line; # starts a comment.")
    tls_cert: str | None = key(None, optional(text), "Certificate chain (PEM); needs server.tls_key.")
    tls_key: str | None = key(None, optional(text), "Private key (PEM); needs server.tls_cert.")
    cors_enabled: bool = key(True, boolean, "Whether server.cors_origins counts at all.")
    cors_origins: tuple[str, ...] = key((), texts, "Origins whose pages may call the server; * admits any.")
    max_concurrent_requests: int = key(16, integer(1, 4096), "Answers a model writes at one time; others wait.")
    max_queue: int = key(128, integer(1, 1_000_000), "Requests that may wait for a model; beyond it 503.")
    max_inflight_tokens: int = key(0, integer(0), "Prompt plus answer tokens in flight; beyond it 503. 0: no limit.")
    rate_limit: float = key(0.0, number(0), "Requests a minute for each API key, or each address without keys. 0: off.")
    request_timeout_secs: float = key(300.0, number(0), "Longest time for a whole request. 0: no limit.")
    shutdown_timeout_secs: float = key(30.0, number(0), "How long a stopping server lets running requests finish.")
    max_body_size: int = key(10 << 20, size, "Largest request body in bytes, or as 10M.", "10M")
    request_logging: bool = key(True, boolean, "Log one line for each request.")
    max_models: int = key(1, integer(1, 1024), "Models kept in memory; the least recently used idle one makes room.")
    lora_roots: tuple[str, ...] = key(
        (), texts, "Directories below which POST /v1/lora may name adapters.", "those given with --lora alone"
    )
    memory_budget: int | None = key(
        None, optional(size), "Memory for all loaded models, as 8G.", "the machine's or container's memory"
    )
    keep_alive: float = key(math.inf, duration, "How long an unused model stays loaded; -1 for ever.", "-1")


@dataclass(frozen=True)
class InferenceSettings:
    """Where models are and how they are run; for every command."""

    model_dir: str = key("models", text, "Directory of local models.")
    device: str = key("cpu", choice("cpu"), "Device to run on.")
    max_context_len: int | None = key(
        None, optional(integer(1)), "Longest context in tokens; shorter saves memory.", "the model's own"
    )
    threads: int | None = key(None, optional(integer(1, 256)), "Threads for computing.", "one for each core")
    precise: bool = key(False, boolean, "Keep activations in float32: slower, no rounding to integers.")
    activations: str | None = key(
        None,
        optional(choice("int8", "int16", "float32")),
        "What activations are rounded to where they meet quantized weights.",
        "what is usual for the weights' type",
    )
    offload: bool = key(
        False, boolean, "Count one layer's weights against the memory budget: files stay mapped, pages come in on use."
    )
    lora: tuple[str, ...] = key(
        (), texts, "Adapter directories, as DIR or DIR=NAME, to serve as variants of the start model.", "none"
    )
    cache_dtype: str | None = key(
        None,
        optional(choice("float16", "float32")),
        "Type of cached keys and values.",
        "float16, with inference.precise float32",
    )
    chat_template: str | None = key(
        None, optional(text), "Built-in template name, or a Jinja file, in place of the model's own.", "the model's own"
    )


@dataclass(frozen=True)
class GenerationSettings:
    """Defaults of sampling, where a request or a flag does not say otherwise."""

    max_tokens: int = key(256, integer(1), "Longest answer in tokens.")
    temperature: float = key(1.0, number(0, 2), "Randomness; 0 takes the likeliest token each time.")
    top_p: float = key(1.0, number(0, 1), "Sample from the likeliest tokens that add up to this probability.")
    top_k: int = key(0, integer(0), "Sample from this many of the likeliest tokens. 0: off.")
    min_p: float = key(0.0, number(0, 1), "Drop tokens less likely than this share of the likeliest.")
    repeat_penalty: float = key(1.0, number(0.01, 10), "Divide the scores of recent tokens by this. 1: off.")
    repeat_last_n: int = key(64, integer(-1), "How many recent tokens the penalties look at. -1: all.")
    frequency_penalty: float = key(0.0, number(-2, 2), "Subtracted for each time a token occurred.")
    presence_penalty: float = key(0.0, number(-2, 2), "Subtracted once when a token occurred.")
    stop_sequences: tuple[str, ...] = key((), texts, "Texts that end the answer.")
    logit_bias: Mapping[int, float] = key(dict, token_biases, "Added to the scores of these token ids.")
    seed: int | None = key(None, optional(integer(-(2**63), 2**63 - 1)), "Makes sampling repeatable.", "random")

    def sampling(self) -> dict[str, Any]:
        """As keyword arguments of `boostr.generate.SamplingParams`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["stop"] = values.pop("stop_sequences")
        return values


@dataclass(frozen=True)
class Settings:
    """All sections. `source` is the file that was read, if any."""

    server: ServerSettings = dataclasses.field(default_factory=ServerSettings)
    inference: InferenceSettings = dataclasses.field(default_factory=InferenceSettings)
    generation: GenerationSettings = dataclasses.field(default_factory=GenerationSettings)
    source: Path | None = None


SECTIONS: dict[str, type] = {
    "server": ServerSettings,
    "inference": InferenceSettings,
    "generation": GenerationSettings,
}

# `blazr run`, `generate` and `chat` are for one person at a terminal: steadier answers than an HTTP client's.
TERMINAL_GENERATION: dict[str, Any] = {"max_tokens": 100, "temperature": 0.7, "top_p": 0.9, "top_k": 40}
