"""POST /v1/chat/completions: a conversation in, OpenAI's chat.completion objects out, whole or as a stream."""

import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from blazr.engine import GenerationRequest, Output, PromptDone
from blazr.errors import RequestError
from blazr.server.openai.conversation import Conversation, render_conversation
from blazr.server.openai.fields import parse_body
from blazr.server.openai.logprobs import ChatLogprobs
from blazr.server.openai.reply_parts import Part, ReplyParts
from blazr.server.openai.running import RunningRequest
from blazr.server.openai.sampling import choices, sampling_params
from blazr.server.openai.schemas import ChatRequest
from blazr.server.openai.streaming import respond
from blazr.server.service import deadline_of, service_of
from blazr.server.texts import in_turn
from boostr.generate import Piece

__all__ = ["chat_completions"]

_COMPLETIONS_ONLY = "send it to /v1/completions"
_ELSEWHERE = dict.fromkeys(("prompt", "echo", "suffix", "context", "best_of"), _COMPLETIONS_ONLY)


async def chat_completions(request: Request, body: bytes) -> ASGIApp:
    """The route's handler."""
    service = service_of(request)
    asked = parse_body(body, ChatRequest, _ELSEWHERE)
    top = _logprobs(asked)
    params = sampling_params(asked, service.settings.generation, top)
    n = choices(asked.n)

    async def begin(running: RunningRequest) -> _Answer:
        conversation = await in_turn(service, len(body), render_conversation, asked, running.lease.model)
        running.submit([GenerationRequest(conversation.ids, params, n, deadline_of(request.scope))])
        return _Answer(running, asked, conversation, n)

    return await respond(service, asked, begin)


def _logprobs(asked: ChatRequest) -> int | None:
    count = asked.top_logprobs or 0
    if not 0 <= count <= 20:
        raise RequestError(f"top_logprobs is {count}: it must be from 0 to 20", "top_logprobs")
    if count and not asked.logprobs:
        raise RequestError("top_logprobs needs logprobs: true", "top_logprobs")
    return count if asked.logprobs else None


@dataclass
class _Choice:
    """One choice as it grows."""

    parts: ReplyParts
    found: list[Part] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    def take(self, piece: Piece) -> list[Part]:
        """The parts that `piece` completes."""
        found = self.parts.feed(piece.text)
        if piece.finish_reason is not None:
            found += self.parts.flush()
        return found

    def finish_reason(self, piece: Piece) -> str | None:
        return "tool_calls" if piece.finish_reason == "stop" and self.parts.calls else piece.finish_reason

    def text(self, kind: str) -> str:
        return "".join(part.text for part in self.found if part.kind == kind)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [part.call for part in self.found if part.kind == "call"]


class _Answer:
    """Builds the answer from the events, in either form."""

    def __init__(self, running: RunningRequest, asked: ChatRequest, conversation: Conversation, n: int) -> None:
        self._running = running
        options = asked.stream_options
        self._include_usage = options is not None and bool(options.include_usage)
        self._thinking = bool(asked.think)
        self._choices = [
            _Choice(
                ReplyParts(thinking=self._thinking, opened=conversation.thinking, tools=conversation.tools),
            )
            for _ in range(n)
        ]
        self._logprobs = ChatLogprobs(running.lease.model.require_tokenizer()) if asked.logprobs else None
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": running.lease.name,
        }

    async def whole(self) -> dict[str, Any]:
        """The object of a request without `stream`."""
        async for item in self._running.events():
            assert item is not None
            event = item[1]
            if isinstance(event, Output):
                choice = self._choices[event.choice]
                choice.pieces.append(event.piece)
                choice.found += choice.take(event.piece)
        whole = {
            **self._head,
            "object": "chat.completion",
            "choices": [self._whole_choice(index, choice) for index, choice in enumerate(self._choices)],
            "usage": self._running.usage(),
            "done_reason": self._choices[0].finish_reason(self._choices[0].pieces[-1]),
        }
        return {**whole, "thinking": self._choices[0].text("reasoning")} if self._thinking else whole

    async def chunks(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """The stream's objects; None passes through."""
        async for item in events:
            if item is None:
                yield None
                continue
            event = item[1]
            if isinstance(event, PromptDone):
                for index in range(len(self._choices)):
                    yield self._chunk(index, {"role": "assistant", "content": ""})
            elif isinstance(event, Output):
                for chunk in self._piece_chunks(event.choice, event.piece):
                    yield chunk
        if self._include_usage:
            yield {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": self._running.usage()}

    def _piece_chunks(self, index: int, piece: Piece) -> list[dict[str, Any]]:
        choice = self._choices[index]
        call = choice.parts.calls  # index of the next call
        deltas = []
        for part in choice.take(piece):
            deltas.append(_delta(part, call))
            call += part.kind == "call"
        logprobs = self._logprobs.content([piece]) if self._logprobs and piece.token is not None else None
        if logprobs and not deltas:
            deltas = [{"content": ""}]  # the token's entry must not be lost while its text is held back
        chunks = [self._chunk(index, delta, None, logprobs if at == 0 else None) for at, delta in enumerate(deltas)]
        if piece.finish_reason is not None:
            chunks.append(self._chunk(index, {}, choice.finish_reason(piece)))
        return chunks

    def _chunk(self, index: int, delta: dict[str, Any], reason: str | None = None, logprobs: Any = None) -> Any:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        usage = {"usage": None} if self._include_usage else {}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice], **usage}

    def _whole_choice(self, index: int, choice: _Choice) -> dict[str, Any]:
        content, calls = choice.text("content"), choice.calls
        message: dict[str, Any] = {"role": "assistant", "content": content or (None if calls else "")}
        if calls:
            message["tool_calls"] = calls
        if self._thinking:
            message["reasoning_content"] = choice.text("reasoning")
        return {
            "index": index,
            "message": message,
            "logprobs": self._logprobs.content(choice.pieces) if self._logprobs else None,
            "finish_reason": choice.finish_reason(choice.pieces[-1]),
        }


def _delta(part: Part, call_index: int) -> dict[str, Any]:
    if part.kind == "call":
        return {"tool_calls": [{"index": call_index, **part.call}]}
    return {"reasoning_content" if part.kind == "reasoning" else "content": part.text}
