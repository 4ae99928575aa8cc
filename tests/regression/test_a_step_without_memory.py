"""A sequence that gets no memory ends alone: the others of its step go on."""

import asyncio
import logging
from typing import Any

import pytest

from blazr.engine import GenerationRequest, Lane, Output
from boostr.errors import DeviceMemoryError
from boostr.generate import SamplingParams
from tests.support.tiny import TinyModel, says


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def text(generation: Any) -> str:
    return "".join([event.piece.text async for event in generation if isinstance(event, Output)])


@pytest.mark.anyio
async def test_the_newest_request_of_a_step_ends(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    model = TinyModel(says("abcdef"))
    forward = model.tiny.forward

    def forward_of_at_most_two(batch: Any) -> Any:
        if len(batch.spans) > 2:
            raise DeviceMemoryError("no memory for keys and values")
        return forward(batch)

    monkeypatch.setattr(model.tiny, "forward", forward_of_at_most_two)
    lane = Lane(model)
    caplog.set_level(logging.WARNING, "blazr.engine")
    try:
        request = GenerationRequest(list(b"q\n"), SamplingParams(temperature=0))
        running = [lane.submit_all([request])[0] for _ in range(1)]
        running += lane.submit_all([request, request, request])
        ends = await asyncio.gather(*map(text, running), return_exceptions=True)
    finally:
        lane.close()
    assert ends[0] == "abcdef"  # the oldest was never given up
    assert "abcdef" in ends[1:]
    assert sum(isinstance(end, DeviceMemoryError) for end in ends) == 2
    assert all(record.exc_info is None for record in caplog.records)
