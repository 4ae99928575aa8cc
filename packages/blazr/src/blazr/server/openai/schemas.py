"""The typed request bodies. Every field is optional in JSON unless it has no default; null means not given."""

from typing import Any

import msgspec

__all__ = ["ChatRequest", "CompletionRequest", "GenerationFields", "StreamOptions"]


class StreamOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None  # padding against traffic analysis of a hosted service: nothing to do


class GenerationFields(msgspec.Struct, kw_only=True):
    """What both generation routes take."""

    model: str | None = None
    lora_adapter: str | None = None  # a variant of `model`
    max_tokens: int | None = None
    max_completion_tokens: int | None = None  # OpenAI's newer name; it wins
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    n: int | None = None
    ignore_eos: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    keep_alive: str | float | None = None


class CompletionRequest(GenerationFields, kw_only=True):
    """POST /v1/completions."""

    prompt: Any  # a text, a list of texts, token ids, or a list of token-id lists
    logprobs: bool | int | None = None
    top_logprobs: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    best_of: int | None = None
    context: list[int] | None = None
    raw: bool | None = None


class ChatRequest(GenerationFields, kw_only=True):
    """POST /v1/chat/completions, and POST /apply-template, which shows the prompt that such a request makes."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    raw: bool | None = None
    system: str | None = None
    template: str | None = None
    think: bool | None = None
    reasoning_effort: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
