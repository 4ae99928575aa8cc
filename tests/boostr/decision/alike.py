"""Comparing answers with golden ones: same keys in the same order, numbers to a step of their last digit."""

from typing import Any

FOURTH_DIGIT = 1.01e-4
SIXTH_DIGIT = 2e-6  # the reference's own tolerance, two steps


def assert_same_answers(found: Any, expected: Any, step: float = FOURTH_DIGIT, score_step: float | None = None) -> None:
    """`score_step` is that of values under "score", which the decider rounds to two digits."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            own = score_step if key == "score" and score_step is not None else step
            assert_same_answers(found[key], expected[key], own, score_step)
    elif isinstance(expected, float):
        assert isinstance(found, float)
        assert abs(found - expected) <= step
    else:
        assert (type(found), found) == (type(expected), expected)
