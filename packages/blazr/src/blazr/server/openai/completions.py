"""POST /v1/completions: prompts in, OpenAI's text_completion objects out, whole or as a stream."""

import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from blazr.engine import GenerationRequest, Output, PromptDone, PromptToken
from blazr.errors import RequestError
from blazr.server.openai.fields import parse_body
from blazr.server.openai.logprobs import CompletionLogprobs
from blazr.server.openai.prompts import Prompt, read_prompts
from blazr.server.openai.running import RunningRequest
from blazr.server.openai.sampling import choices, sampling_params
from blazr.server.openai.schemas import CompletionRequest
from blazr.server.openai.streaming import respond
from blazr.server.service import deadline_of, service_of
from blazr.server.texts import in_turn
from boostr.generate import Piece

__all__ = ["completions"]

_CHAT_ONLY = "send it to /v1/chat/completions"
_ELSEWHERE = dict.fromkeys(
    ("messages", "tools", "tool_choice", "system", "template", "think", "reasoning_effort", "chat_template_kwargs"),
    _CHAT_ONLY,
)


async def completions(request: Request, body: bytes) -> ASGIApp:
    """The route's handler."""
    service = service_of(request)
    asked = parse_body(body, CompletionRequest, _ELSEWHERE)
    top = _logprobs(asked)
    params = sampling_params(asked, service.settings.generation, top)
    n = choices(asked.n)
    if asked.best_of not in (None, n):
        raise RequestError(f"best_of is {asked.best_of}: only a value equal to n ({n}) is supported", "best_of")

    async def begin(running: RunningRequest) -> _Answer:
        prompts = await in_turn(
            service, len(body), read_prompts, asked.prompt, asked.context or (), running.lease.model
        )
        deadline, prompt_logprobs = deadline_of(request.scope), top if asked.echo else None
        running.submit([GenerationRequest(prompt.ids, params, n, deadline, prompt_logprobs) for prompt in prompts])
        return _Answer(running, asked, prompts, n, top)

    return await respond(service, asked, begin)


def _logprobs(asked: CompletionRequest) -> int | None:
    """The legacy integer, or true with `top_logprobs` beside it. 0 still reports the sampled tokens."""
    if asked.logprobs is None or asked.logprobs is False:
        if asked.top_logprobs:
            raise RequestError("top_logprobs needs logprobs", "top_logprobs")
        return None
    count = (asked.top_logprobs or 0) if asked.logprobs is True else asked.logprobs
    if not 0 <= count <= 20:
        raise RequestError(f"logprobs is {count}: it must be from 0 to 20", "logprobs")
    return count


@dataclass
class _Choice:
    """One choice as it grows."""

    prompt: Prompt
    logprobs: CompletionLogprobs | None
    pieces: list[Piece] = field(default_factory=list)
    prompt_tokens: tuple[PromptToken, ...] = ()

    @property
    def finish_reason(self) -> str | None:
        return self.pieces[-1].finish_reason if self.pieces else None


class _Answer:
    """Builds the answer from the events, in either form."""

    def __init__(
        self, running: RunningRequest, asked: CompletionRequest, prompts: list[Prompt], n: int, top: int | None
    ) -> None:
        self._running = running
        self._asked = asked
        self._n = n
        tokenizer = running.lease.model.require_tokenizer()
        self._choices = [
            _Choice(prompt, None if top is None else CompletionLogprobs(tokenizer, top))
            for prompt in prompts
            for _ in range(n)
        ]
        self._head = {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": running.lease.name,
        }

    async def whole(self) -> dict[str, Any]:
        """The object of a request without `stream`."""
        async for item in self._running.events():
            assert item is not None
            index, event = item
            if isinstance(event, PromptDone):
                for choice in self._of_prompt(index):
                    choice.prompt_tokens = event.tokens
            elif isinstance(event, Output):
                self._choices[index * self._n + event.choice].pieces.append(event.piece)
        return {
            **self._head,
            "choices": [self._whole_choice(index, choice) for index, choice in enumerate(self._choices)],
            "usage": self._running.usage(),
            "done_reason": self._choices[0].finish_reason,
        }

    async def chunks(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """The stream's objects; None passes through."""
        async for item in events:
            if item is None:
                yield None
                continue
            index, event = item
            if isinstance(event, PromptDone) and self._asked.echo:
                for choice in self._of_prompt(index):
                    logprobs = choice.logprobs and choice.logprobs.prompt(event.tokens, choice.prompt.text)
                    yield self._chunk(self._choices.index(choice), choice.prompt.text, None, logprobs)
            elif isinstance(event, Output):
                chunk = self._piece_chunk(index * self._n + event.choice, event.piece)
                if chunk is not None:
                    yield chunk
        if self._include_usage:
            yield {**self._head, "choices": [], "usage": self._running.usage()}

    @property
    def _include_usage(self) -> bool:
        options = self._asked.stream_options
        return options is not None and bool(options.include_usage)

    def _of_prompt(self, index: int) -> list[_Choice]:
        return self._choices[index * self._n : (index + 1) * self._n]

    def _piece_chunk(self, index: int, piece: Piece) -> dict[str, Any] | None:
        choice = self._choices[index]
        text = piece.text
        if piece.finish_reason is not None:
            text += self._asked.suffix or ""
        if not text and piece.finish_reason is None and (choice.logprobs is None or piece.token is None):
            return None
        logprobs = choice.logprobs.pieces([piece]) if choice.logprobs and piece.token is not None else None
        return self._chunk(index, text, piece.finish_reason, logprobs)

    def _chunk(self, index: int, text: str, reason: str | None, logprobs: Any) -> dict[str, Any]:
        choice = {"text": text, "index": index, "logprobs": logprobs, "finish_reason": reason}
        usage = {"usage": None} if self._include_usage else {}
        return {**self._head, "choices": [choice], **usage}

    def _whole_choice(self, index: int, choice: _Choice) -> dict[str, Any]:
        text = "".join(piece.text for piece in choice.pieces) + (self._asked.suffix or "")
        logprobs: dict[str, Any] | None = None
        if choice.logprobs is not None:
            parts = []
            if self._asked.echo:
                parts.append(choice.logprobs.prompt(choice.prompt_tokens, choice.prompt.text))
            parts.append(choice.logprobs.pieces(choice.pieces))
            logprobs = {name: _joined([part[name] for part in parts]) for name in parts[0]}
        return {
            "text": choice.prompt.text + text if self._asked.echo else text,
            "index": index,
            "logprobs": logprobs,
            "finish_reason": choice.finish_reason,
        }


def _joined(lists: list[list[Any] | None]) -> list[Any] | None:
    return None if lists[0] is None else [one for part in lists for one in part or ()]
