"""What goes into a step: pure arithmetic over prompts of different lengths."""

from types import SimpleNamespace
from typing import Any

import pytest

from blazr.engine.plan import plan_step
from blazr.engine.sequences import Job


def job(tokens: int) -> Job:
    generation: Any = SimpleNamespace(request=SimpleNamespace(prompt_ids=[0] * tokens, prompt_logprobs=None))
    return Job(generation, claim=0)


@pytest.mark.parametrize(
    ("lengths", "budget", "sizes"),
    [
        ([10], 100, [10]),
        ([500], 100, [100]),
        ([500, 10, 20], 100, [70, 10, 20]),
        ([500, 400, 10], 100, [50, 40, 10]),
        ([30, 500], 100, [30, 70]),
        ([5, 5, 5], 1, [2, 0, 0]),
    ],
)
def test_the_oldest_gets_half_and_the_shortest_go_first(lengths: list[int], budget: int, sizes: list[int]) -> None:
    prompts = [job(length) for length in lengths]
    planned = {chunk.job: chunk.size for chunk in plan_step([], prompts, budget).chunks}
    assert [planned.get(one, 0) for one in prompts] == sizes


def test_the_step_keeps_to_its_budget_but_for_single_tokens() -> None:
    for budget in range(1, 40):
        planned = plan_step([], [job(n) for n in (3, 50, 7, 9)], budget)
        assert 0 < planned.prompt_tokens <= budget + 2 * len(planned.chunks)


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 64])
def test_no_prompt_token_runs_alone(budget: int) -> None:
    prompts = [job(length) for length in (1, 2, 3, 4, 65, 66, 130)]
    while prompts:
        for chunk in plan_step([], prompts, budget).chunks:
            assert chunk.size > 1 or len(chunk.job.request.prompt_ids) == 1
            chunk.job.done_tokens += chunk.size
        prompts = [one for one in prompts if one.remaining]


def test_long_prompts_run_in_a_pass_of_their_own() -> None:
    short, long = job(63), job(64)
    decode: Any = SimpleNamespace(job=short)
    first, second = plan_step([decode], [short, long], 200).passes()
    assert (first.decodes, [chunk.job for chunk in first.chunks], first.many) == ([decode], [short], False)
    assert (second.decodes, [chunk.job for chunk in second.chunks], second.many) == ([], [long], True)
    assert [part.many for part in plan_step([], [long], 200).passes()] == [True]
