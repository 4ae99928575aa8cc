"""POST /tokenize, /detokenize and /apply-template: the text side of a model, without running it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from starlette.requests import Request
from starlette.types import ASGIApp

from blazr.engine import Lane
from blazr.errors import RequestError
from blazr.lifecycle.protocol import Lease
from blazr.server.openai.conversation import render_conversation
from blazr.server.openai.fields import parse_body
from blazr.server.openai.sampling import keep_alive_seconds
from blazr.server.openai.schemas import ChatRequest
from blazr.server.replies import json_reply
from blazr.server.service import service_of
from blazr.server.texts import in_turn

__all__ = ["apply_template", "detokenize", "tokenize"]


class _Named(msgspec.Struct, kw_only=True):
    model: str | None = None
    lora_adapter: str | None = None
    keep_alive: str | float | None = None


class TokenizeRequest(_Named, kw_only=True):
    content: str
    add_special: bool = True
    parse_special: bool = True


class DetokenizeRequest(_Named, kw_only=True):
    tokens: list[int]


async def tokenize(request: Request, body: bytes) -> ASGIApp:
    """{content} -> {tokens}."""
    asked = parse_body(body, TokenizeRequest)
    async with _leased(request, asked) as lease:
        tokenizer = lease.model.require_tokenizer()
        ids = await in_turn(
            service_of(request),
            len(body),
            tokenizer.encode,
            asked.content,
            add_special=asked.add_special,
            parse_special=asked.parse_special,
        )
    return json_reply({"tokens": ids})


async def detokenize(request: Request, body: bytes) -> ASGIApp:
    """{tokens} -> {content}. Control tokens are spelled out."""
    asked = parse_body(body, DetokenizeRequest)
    async with _leased(request, asked) as lease:
        tokenizer = lease.model.require_tokenizer()
        for token in asked.tokens:
            if not 0 <= token < tokenizer.vocab_size:
                raise RequestError(
                    f"tokens holds {token}; this model's ids are 0 to {tokenizer.vocab_size - 1}", "tokens"
                )
        text = await in_turn(service_of(request), len(body), tokenizer.decode, asked.tokens, skip_special=False)
    return json_reply({"content": text})


async def apply_template(request: Request, body: bytes) -> ASGIApp:
    """A chat request -> {prompt}: what /v1/chat/completions would run. Sampling fields play no part."""
    asked = parse_body(body, ChatRequest)
    async with _leased(request, asked) as lease:
        conversation = await in_turn(service_of(request), len(body), render_conversation, asked, lease.model)
    return json_reply({"prompt": conversation.text})


@asynccontextmanager
async def _leased(request: Request, asked: _Named | ChatRequest) -> AsyncIterator[Lease[Lane]]:
    lease = await service_of(request).models.acquire(
        asked.model, adapter=asked.lora_adapter, keep_alive=keep_alive_seconds(asked.keep_alive)
    )
    try:
        yield lease
    finally:
        lease.release()
