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
        ([5, 5, 5], 1, [1, 0, 0]),
    ],
)
def test_the_oldest_gets_half_and_the_shortest_go_first(lengths: list[int], budget: int, sizes: list[int]) -> None:
    prompts = [job(length) for length in lengths]
    planned = {chunk.job: chunk.size for chunk in plan_step([], prompts, budget).chunks}
    assert [planned.get(one, 0) for one in prompts] == sizes


def test_the_step_never_exceeds_its_budget() -> None:
    for budget in range(1, 40):
        assert plan_step([], [job(n) for n in (3, 50, 7, 9)], budget).prompt_tokens == budget
