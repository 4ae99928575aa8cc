"""Requests of a base and of its variants share the lane's steps, each under its own adapter."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from blazr.engine import GenerationRequest, Lane, Output
from boostr.generate import SamplingParams
from tests.support.tiny import TinyModel, says

pytestmark = pytest.mark.anyio


async def _text(generation: Any) -> str:
    return "".join([event.piece.text async for event in generation if isinstance(event, Output)])


async def test_a_step_packs_base_and_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TinyModel(says("abcdefgh"))
    steps: list[list[Any]] = []
    forward = model.tiny.forward

    def watched(batch: Any) -> Any:
        steps.append([span.adapter for span in batch.spans])
        return forward(batch)

    monkeypatch.setattr(model.tiny, "forward", watched)
    model.tiny.gate.clear()
    lane = Lane(model)
    adapters = [None, "one", "two", "one"]  # the tiny network only carries them
    params = SamplingParams(max_tokens=8, temperature=0)
    prompts = [b"q\n", b"longer q\n", b"longest of q\n", b"q\n"]
    requests = [
        GenerationRequest(list(prompt), params, adapter=adapter)  # type: ignore[arg-type]
        for prompt, adapter in zip(prompts, adapters, strict=True)
    ]
    running = lane.submit_all(requests)
    model.tiny.gate.set()
    texts = await asyncio.gather(*map(_text, running))
    lane.close()
    assert texts == ["abcdefgh"] * 4
    assert Counter(adapters) in map(Counter, steps)  # all in one pass
    # Every request ran as often under its own adapter as it has steps: a prompt and seven decodes.
    assert sum(step.count("one") for step in steps) == 2 * sum(step.count("two") for step in steps)
    assert sum(step.count("two") for step in steps) == sum(step.count(None) for step in steps) == 8
