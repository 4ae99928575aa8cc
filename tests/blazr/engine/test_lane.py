"""The lane: continuous batching, cancellation, limits, errors and shutdown, with a model that has no weights."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blazr.engine import Completed, Generation, GenerationRequest, Lane, LaneLimits, Output, PromptDone
from blazr.errors import OverloadedError, RequestTimeoutError, ShuttingDownError
from blazr.metrics import Metrics
from boostr.errors import ContextLengthError, ParameterError
from boostr.generate import SamplingParams
from tests.support.tiny import BOS, TinyModel, says

pytestmark = pytest.mark.anyio


@contextmanager
def lane_of(model: TinyModel, limits: LaneLimits | None = None, metrics: Metrics | None = None) -> Iterator[Lane]:
    lane = Lane(model, limits, metrics)
    try:
        yield lane
    finally:
        model.tiny.gate.set()
        lane.close()
        assert not lane.alive


def request(prompt: str = "q\n", n: int = 1, **params: object) -> GenerationRequest:
    return GenerationRequest([BOS, *prompt.encode()], SamplingParams(**{"temperature": 0.0, **params}), n)  # type: ignore[arg-type]


async def texts(generation: Generation) -> list[str]:
    found = [""] * generation.request.n
    async for event in generation:
        if isinstance(event, Output):
            found[event.choice] += event.piece.text
    return found


async def until(condition: object, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.002)


def outcome(metrics: Metrics, name: str) -> float:
    return metrics.registry.get_sample_value("blazr_generations_total", {"model": "tiny", "outcome": name}) or 0.0


async def test_events_come_in_order_and_end_with_usage() -> None:
    with lane_of(TinyModel(says("hello"))) as lane:
        events = [event async for event in lane.submit(request())]
    assert isinstance(events[0], PromptDone)
    assert all(isinstance(event, Output) for event in events[1:-1])
    assert isinstance(events[-1], Completed)
    assert events[-1].usage.prompt_tokens == 3
    assert events[-1].usage.completion_tokens == 6  # five letters and the end token


async def test_text_does_not_depend_on_batch_mates_or_chunking() -> None:
    prompts = [f"{'long ' * size}{size}\n" for size in range(1, 30, 4)]
    model = TinyModel(lambda ids: 97 + sum(ids) % 26)
    with lane_of(model) as lane:
        alone = [(await texts(lane.submit(request(p, max_tokens=20))))[0] for p in prompts]
        together = await asyncio.gather(*(texts(lane.submit(request(p, max_tokens=20))) for p in prompts))
    assert [one[0] for one in together] == alone
    assert max(len(spans) for spans in model.tiny.batches) > 4  # they did share steps


async def test_a_seed_gives_the_same_text_alone_and_batched_with_unseeded_mates() -> None:
    seeded = {"temperature": 1.5, "seed": 7, "max_tokens": 30}
    with lane_of(TinyModel()) as lane:
        alone = await texts(lane.submit(request(**seeded)))
        mates = [lane.submit(request("mate\n", temperature=1.5, max_tokens=30)) for _ in range(3)]
        batched = await texts(lane.submit(request(**seeded)))
        await asyncio.gather(*(texts(mate) for mate in mates))
    assert batched == alone


async def test_choices_fork_one_prompt_and_draw_with_following_seeds() -> None:
    model = TinyModel()
    with lane_of(model) as lane:
        several = await texts(lane.submit(request(n=3, temperature=2.0, seed=5, max_tokens=12)))
        passes = len(model.tiny.batches)
        single = [(await texts(lane.submit(request(temperature=2.0, seed=5 + i, max_tokens=12))))[0] for i in range(3)]
    assert several == single
    assert passes == 12  # one for the prompt, eleven packed decodes
    assert len(set(several)) == 3


async def test_a_new_request_joins_while_another_decodes() -> None:
    model = TinyModel()
    model.tiny.step_seconds = 0.002
    with lane_of(model) as lane:
        first = lane.submit(request(max_tokens=200))
        await first.ready()
        await texts(lane.submit(request(max_tokens=3)))
        assert lane.active == 1
        await texts(first)


async def test_long_prompts_run_in_chunks_between_decodes() -> None:
    model = TinyModel(context_length=4000)
    model.tiny.token_seconds = 0.0005
    with lane_of(model, LaneLimits(step_seconds=0.03)) as lane:
        first = lane.submit(request(max_tokens=2000))
        await first.ready()
        reading = asyncio.create_task(texts(first))  # what nobody reads would rest
        long = lane.submit(request("word " * 300, max_tokens=1))
        await texts(long)
        sizes = [sum(spans) for spans in model.tiny.batches]
        first.cancel()
        reading.cancel()
    assert max(sizes) <= 130  # 30 ms are 60 tokens; the budget may overshoot once while it learns
    long_passes = [n for n, spans in enumerate(model.tiny.batches) if 1 not in spans and n]  # 0 is the first's prompt
    assert all(1 in model.tiny.batches[n - 1] for n in long_passes)  # no step left the decoding request out


async def test_a_short_prompt_overtakes_a_long_one() -> None:
    model = TinyModel(context_length=20000)
    model.tiny.token_seconds = 0.0002
    with lane_of(model, LaneLimits(step_seconds=0.01)) as lane:
        long = lane.submit(request("word " * 2000, max_tokens=1))
        await until(lambda: model.tiny.batches)
        await texts(lane.submit(request(max_tokens=2)))
        assert not await long.ready(0)
        long.cancel()


async def test_cancelling_a_queued_request_drops_it_before_it_runs() -> None:
    model, metrics = TinyModel(), Metrics()
    with lane_of(model, LaneLimits(max_sequences=1), metrics) as lane:
        model.tiny.gate.clear()
        first, queued = lane.submit(request(max_tokens=2)), lane.submit(request("never\n"))
        await until(lambda: lane.queued == 1)
        queued.cancel()
        model.tiny.gate.set()
        await texts(first)
        await until(lambda: lane.active == 0)
        assert outcome(metrics, "cancelled") == 1
    assert sum(sum(spans) for spans in model.tiny.batches) == 4  # the prompt of three and one decode


@pytest.mark.parametrize("moment", ["prompt", "decode"])
async def test_cancelling_stops_within_a_step(moment: str) -> None:
    model, metrics = TinyModel(context_length=20000), Metrics()
    model.tiny.step_seconds = 0.005
    with lane_of(model, LaneLimits(step_seconds=0.001), metrics) as lane:
        generation = lane.submit(request("word " * (1000 if moment == "prompt" else 1), max_tokens=5000))
        if moment == "decode":
            await generation.ready()
        await until(lambda: len(model.tiny.batches) > 3)
        generation.cancel()
        before = len(model.tiny.batches)
        await until(lambda: lane.active == 0)
        assert len(model.tiny.batches) <= before + 2
        assert outcome(metrics, "cancelled") == 1
        assert await texts(lane.submit(request(max_tokens=2)))  # and the lane serves on


async def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    model = TinyModel()
    with lane_of(model, LaneLimits(max_sequences=1, max_queue=2)) as lane:
        model.tiny.gate.clear()
        kept = [lane.submit(request(max_tokens=1))]
        await until(lambda: lane.queued == 0)
        kept += [lane.submit(request(max_tokens=1)) for _ in range(2)]
        with pytest.raises(OverloadedError) as caught:
            lane.submit(request(max_tokens=1))
        assert caught.value.retry_after > 0
        model.tiny.gate.set()
        assert [await texts(one) for one in kept] == [["\n"], ["\n"], ["\n"]]


async def test_inflight_tokens_are_bounded_but_one_request_always_fits() -> None:
    model = TinyModel()
    with lane_of(model, LaneLimits(max_inflight_tokens=50)) as lane:
        model.tiny.gate.clear()
        first = lane.submit(request(max_tokens=100))
        with pytest.raises(OverloadedError, match="max_inflight_tokens"):
            lane.submit(request(max_tokens=1))
        model.tiny.gate.set()
        await texts(first)
        await texts(lane.submit(request(max_tokens=1)))


async def test_a_deadline_ends_a_running_request() -> None:
    model, metrics = TinyModel(), Metrics()
    model.tiny.step_seconds = 0.005
    with lane_of(model, metrics=metrics) as lane:
        late = GenerationRequest([1], SamplingParams(max_tokens=400, temperature=0.0), deadline=time.monotonic() + 0.05)
        with pytest.raises(RequestTimeoutError, match="request_timeout_secs"):
            await texts(lane.submit(late))
        await until(lambda: lane.active == 0)
        assert outcome(metrics, "timeout") == 1


async def test_a_deadline_holds_while_a_step_hangs() -> None:
    model = TinyModel()
    with lane_of(model) as lane:
        model.tiny.gate.clear()
        late = GenerationRequest([1], SamplingParams(), deadline=time.monotonic() + 0.03)
        with pytest.raises(RequestTimeoutError):
            await texts(lane.submit(late))


async def test_a_failing_pass_fails_its_requests_and_the_lane_survives() -> None:
    model, metrics = TinyModel(), Metrics()
    model.tiny.fail_on = lambda histories: MemoryError("no room") if any(98 in ids for ids in histories) else None
    with lane_of(model, metrics=metrics) as lane:
        with pytest.raises(MemoryError, match="no room"):
            await texts(lane.submit(request("b\n")))
        assert await texts(lane.submit(request("a\n", max_tokens=2))) == ["\n\n"]
        assert outcome(metrics, "failed") == 1


async def test_a_failing_draw_fails_its_request_only() -> None:
    model = TinyModel()
    plain_row = model.tiny.row
    model.tiny.row = lambda ids: plain_row(ids) * (float("nan") if 98 in ids else 1)  # type: ignore[method-assign]
    with lane_of(model) as lane:
        model.tiny.gate.clear()
        good, bad = lane.submit(request("a\n", max_tokens=3)), lane.submit(request("b\n", n=2))
        model.tiny.gate.set()
        with pytest.raises(ArithmeticError, match="not finite"):
            await texts(bad)
        assert await texts(good) == ["\n\n\n"]


@pytest.mark.parametrize(
    ("prompt", "error"),
    [([], ParameterError), ([-1], ParameterError), ([999], ParameterError), ([1] * 512, ContextLengthError)],
)
async def test_prompts_that_cannot_run_are_refused_at_once(prompt: list[int], error: type[Exception]) -> None:
    with lane_of(TinyModel()) as lane, pytest.raises(error):
        lane.submit(GenerationRequest(prompt, SamplingParams()))


async def test_a_bias_beyond_the_vocabulary_is_refused_at_once() -> None:
    with lane_of(TinyModel()) as lane, pytest.raises(ParameterError, match="logit_bias"):
        lane.submit(request(logit_bias={10**6: 1.0}))


async def test_max_tokens_is_capped_by_the_context() -> None:
    with lane_of(TinyModel(context_length=10)) as lane:
        assert await texts(lane.submit(request(max_tokens=10**8))) == ["\n" * 7]


async def test_prompt_log_probabilities_cover_every_prompt_token() -> None:
    with lane_of(TinyModel()) as lane:
        generation = lane.submit(GenerationRequest([5, 5, 6, 9], SamplingParams(max_tokens=1), prompt_logprobs=2))
        first = await anext(generation)
        await texts(generation)
    assert isinstance(first, PromptDone)
    assert [one.token for one in first.tokens] == [5, 5, 6, 9]
    assert first.tokens[0].logprob is None
    gaps = [first.tokens[1].logprob - one.logprob for one in first.tokens[1:]]  # type: ignore[operator]
    assert gaps == pytest.approx([0, 2, 4], abs=1e-5)  # logits 4 for the rule's token, 2 for the next, 0
    assert [token for token, _ in first.tokens[2].top] == [5, 6]


async def test_closing_lets_running_work_finish() -> None:
    model = TinyModel()
    model.tiny.step_seconds = 0.002
    lane = Lane(model)
    running = lane.submit(request(max_tokens=30))
    await running.ready()
    closing = asyncio.create_task(asyncio.to_thread(lane.close, 5.0))
    await until(lambda: lane._draining)
    with pytest.raises(ShuttingDownError):
        lane.submit(request())
    assert await texts(running) == ["\n" * 30]
    await closing
    assert not lane.alive


async def test_closing_fails_what_outlasts_the_drain() -> None:
    model = TinyModel()
    model.tiny.step_seconds = 0.005
    lane = Lane(model, LaneLimits(max_sequences=1))
    running, queued = lane.submit(request(max_tokens=500)), lane.submit(request())
    await running.ready()
    await asyncio.to_thread(lane.close, 0.02)
    for generation in (running, queued):
        with pytest.raises(ShuttingDownError):
            await texts(generation)


async def test_other_kinds_of_work_take_turns_with_steps() -> None:
    class Counting:
        active = 1

        def __init__(self) -> None:
            self.runs: list[int] = []

        def pending(self) -> bool:
            return len(self.runs) < 10

        def run(self) -> None:
            self.runs.append(len(model.tiny.batches))

        def fail(self, error: Exception) -> None:
            self.error = error

    model, other = TinyModel(), Counting()
    model.tiny.gate.clear()
    lane = Lane(model, more_work=[other])
    generation = lane.submit(request(max_tokens=20))
    other.runs.clear()
    lane.wake()
    model.tiny.gate.set()
    await texts(generation)
    await until(lambda: len(other.runs) == 10)
    lane.close()
    assert isinstance(other.error, ShuttingDownError)
    gaps = [after - before for before, after in zip(other.runs, other.runs[1:], strict=False)]
    assert gaps[2:] == [1] * len(gaps[2:])


async def test_two_lanes_decode_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def rule(ids: list[int]) -> int:
        both.wait(5)  # passes only when the other lane is inside a step too
        return 97

    with lane_of(TinyModel(rule)) as one, lane_of(TinyModel(rule)) as two:
        found = await asyncio.gather(*(texts(lane.submit(request(max_tokens=5))) for lane in (one, two)))
    assert found == [["aaaaa"], ["aaaaa"]]
