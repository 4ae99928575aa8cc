"""The step budget follows measured time, with a simulated machine in place of a clock."""

import pytest

from blazr.engine.budget import StepBudget


@pytest.mark.parametrize("token_seconds", [1e-5, 4e-4, 3e-3, 0.05])
def test_steps_settle_near_the_target(token_seconds: float) -> None:
    budget = StepBudget(0.2)
    for _ in range(12):
        budget.observe(budget.tokens, 0, budget.tokens * token_seconds)
    assert budget.tokens == pytest.approx(min(2048, 0.2 / token_seconds), rel=0.25)


def test_one_slow_step_is_enough_to_shrink() -> None:
    budget = StepBudget(0.2)
    budget.observe(32, 0, 2.0)
    assert budget.tokens == 3


def test_a_partly_filled_step_does_not_raise_the_budget() -> None:
    budget = StepBudget(0.2)
    budget.observe(3, 0, 0.001)
    assert budget.tokens == 32


def test_prompts_move_on_when_decodes_alone_take_the_target() -> None:
    budget = StepBudget(0.2)
    for _ in range(40):
        budget.observe(budget.tokens, 8, 0.3 + budget.tokens * 0.001)
    assert budget.tokens >= 20


def test_decode_steps_leave_the_budget_alone() -> None:
    budget = StepBudget(0.2)
    budget.observe(0, 4, 1.0)
    assert budget.tokens == 32
