"""What is refused in which words, and answers from given probabilities, compared as text: the order of keys counts."""

import json

import numpy as np
import pytest

from boostr.decision.clef import Clef, ClefLimits
from boostr.decision.clef.answers import answer
from boostr.decision.clef.questions import check_body
from boostr.decision.family import Hidden
from boostr.errors import DecisionLimitError, QuestionError, TokenizerError

from .goldens import golden, small_tokenizer


@pytest.mark.parametrize("case", golden("answers"), ids=lambda case: case["note"])
def test_answers_from_probabilities(case: dict) -> None:
    (field,) = check_body({"model": "m", "state": "s", "questions": {"q": case["question"]}})
    p = [case["probabilities"][name] for name, _ in field.options]
    assert json.dumps(answer(field, p)) == json.dumps(case["answer"])


class Stepped:
    """Logits 0, step, 2 * step, ... over the options in prompt order."""

    def __init__(self, step: float) -> None:
        self.step = np.float32(step)

    def __call__(self, hidden: object, ids: object, questions: list) -> list[Hidden]:
        counts = [len(each.options) for each in questions]
        return [np.arange(count, dtype=np.float32) * self.step for count in counts]


# What the release answers by accident, or breaks on with another error: refused here.
OURS = {"empty_id_no_instructions", "images_without_processor"}


@pytest.mark.parametrize("case", golden("errors"), ids=lambda case: case["id"])
def test_requests_as_the_release_takes_them(case: dict) -> None:
    head = Stepped(0.0 if "tie" in case["id"] else 0.25)
    family = Clef(small_tokenizer(), head, ClefLimits(record_tokens=case["max_length"]))  # type: ignore[arg-type]
    body = json.loads(case["request_json"])
    if case["ok"] and case["id"] not in OURS:
        plan = family.plan(body)
        expected = case["response_with_fake_logits"]
        assert json.dumps(family.answer(plan, [np.zeros((1, 1), np.float32)])) == json.dumps(expected)
        return
    with pytest.raises((QuestionError, DecisionLimitError, TokenizerError)) as refused:
        family.plan(body)
    if case.get("exception") == "ValueError" and "dictionary update" not in case["message"]:
        assert str(refused.value) == case["message"]


def test_images_are_refused() -> None:
    body = {"model": "m", "state": "s", "questions": {"q": {"type": "noul"}}, "images": ["x"]}
    with pytest.raises(QuestionError, match="images or videos"):
        check_body(body)
    assert check_body({**body, "images": [], "videos": None})


def test_a_request_nested_too_deep_is_refused() -> None:
    state: list = []
    for _ in range(5000):
        state = [state]
    family = Clef(small_tokenizer(), Stepped(0.25))  # type: ignore[arg-type]
    with pytest.raises(QuestionError, match="nested too deep"):
        family.plan({"model": "m", "state": state, "questions": {"q": {"type": "noul"}}})
