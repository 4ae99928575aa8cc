"""From given logits to the body of the answer."""

from collections.abc import Sequence

import numpy as np
import pytest

from boostr.decision.decider import Decider, DeciderConfig, DeciderLimits
from boostr.decision.decider.answers import certainty, choice_confidence, combined, score_confidence
from boostr.decision.family import Hidden
from boostr.decision.readout import probabilities
from boostr.errors import DecisionLimitError, NumericalError, QuestionError

from ..alike import assert_same_answers
from .goldens import golden, prompt_of

CASES = golden("systemone_cases")


class Given:
    """A head whose "hidden states" are logits already."""

    def __call__(self, hidden: Hidden) -> Hidden:
        return hidden


def decider(config: dict, **limits: int) -> Decider:
    read = DeciderConfig.of(config)
    return Decider(read, prompt_of(read), Given(), DeciderLimits(**limits))  # type: ignore[arg-type]


def padded(rows: Sequence[Sequence[float]]) -> list[Hidden]:
    return [np.array([[*row, *[99.0] * (255 - len(row))]], np.float32) for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_answers_from_logits(case: dict) -> None:
    family = decider(case["config"], state_tokens=case["max_state_tokens"])
    plan = family.plan(case["request"])
    hidden = padded(case["logits"])
    packed = [np.concatenate(hidden)] if not case["request"].get("independent", True) and hidden else hidden
    found = family.answer(plan, packed)
    assert found.pop("usage") == {"input_tokens": case["tokens"]["small"]["input_tokens"], "output_tokens": 0}
    del case["response"]["usage"]  # counted with another vocabulary
    assert_same_answers(found, case["response"], score_step=0.0101)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_probabilities_and_temperatures(case: dict) -> None:
    temperatures = DeciderConfig.of(case["config"]).temperatures
    each = zip(case["logits"], case["row_types"], case["temperatures"], case["probabilities_f32"], strict=True)
    for logits, kind, temperature, expected in each:
        assert temperatures.of(kind, len(logits)) == pytest.approx(temperature, rel=1e-12)
        found = probabilities(np.array(logits, np.float32), temperature, "q")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", golden("confidence")["cases"])
def test_confidences(case: dict) -> None:
    assert choice_confidence(case["p"]) == pytest.approx(case["choice_confidence"], abs=1e-12)
    assert score_confidence(case["p"]) == pytest.approx(case["score_confidence"], abs=1e-12)
    assert certainty(case["p"]) == pytest.approx(case["certainty"], abs=1e-12)


@pytest.mark.parametrize("case", golden("confidence")["combine"])
def test_levels_that_were_asked_alone(case: dict) -> None:
    p, mass = combined(case["p_yes"])
    assert p == pytest.approx(case["probs"])
    assert mass == pytest.approx(case["mass"])


LIMITS = {
    "MAX_STATE_TOKENS": "state_tokens",
    "MAX_ROWS": "rows",
    "MAX_ROW_TOKENS": "row_tokens",
    "MAX_REQUEST_TOKENS": "request_tokens",
}
HTTP = golden("http")
ROUTE = [
    case
    for case in HTTP["cases"]
    if case["path"] == "/v1/systemone" and case["body"] and set(case["limits"]) <= {*LIMITS, "SHARED"}
]


def stand_in_logits(ids: Sequence[int]) -> list[float]:
    base = (sum(ids) * 7919) % 2003
    return [((base * (j + 3) * 31) % 997) / 100 - 5 for j in range(255)]


@pytest.mark.parametrize("case", ROUTE, ids=lambda case: case["name"])
def test_the_vendors_route(case: dict) -> None:
    limits = {LIMITS[name]: value for name, value in case["limits"].items() if name in LIMITS}
    family = decider(HTTP["config"], **limits)
    if case["status"] == 200:
        plan = family.plan(case["body"])
        logits = [np.array([stand_in_logits(row.ids[: at + 1]) for at in row.reads], np.float32) for row in plan.rows]
        assert_same_answers(family.answer(plan, logits), case["response"], score_step=0.0101)
        return
    with pytest.raises(DecisionLimitError if case["status"] == 413 else QuestionError) as refused:
        family.plan(case["body"])
    expected = case["response"]["detail"] if isinstance(case["response"], dict) else None
    if isinstance(expected, list):
        assert [(fault["type"], fault["loc"]) for fault in refused.value.detail] == [
            (fault["type"], fault["loc"]) for fault in expected
        ]
    elif expected is not None:
        assert refused.value.detail.partition(" (")[0] == expected.partition(" (")[0]


@pytest.mark.parametrize("case", golden("body_fields"), ids=lambda case: str(case["body"])[:60])
def test_fields_of_a_body_are_read_as_pydantic_reads_them(case: dict) -> None:
    question = {"type": "noul", "instructions": "Is it?"}
    body = case["body"]
    if "faults" not in case:
        plan = decider({}).plan(body | {"questions": {"a": question, "b": question}})
        assert len(plan.rows) == (2 if case["independent"] else 1)
        return
    with pytest.raises(QuestionError) as refused:
        decider({}).plan(body)
    assert [[fault["type"], fault["loc"], fault["msg"]] for fault in refused.value.detail] == case["faults"]


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "body",
    [
        {"state": nested(100_000), "questions": {"q": {"instructions": "?", "options": ["a", "b"]}}},
        {"state": "s", "questions": {"q": {"instructions": nested(100_000), "options": ["a", "b"]}}},
        {"state": "s", "questions": {"q": {"instructions": "?", "options": ["a", nested(100_000)]}}},
    ],
    ids=["state", "instructions", "option"],
)
def test_what_is_nested_too_deep_is_refused(body: dict) -> None:
    with pytest.raises(QuestionError, match="nested too deep"):
        decider({}).plan(body)


def test_a_number_too_long_to_write_is_refused() -> None:
    with pytest.raises(QuestionError, match="too long to be written"):
        decider({}).plan({"state": 10**5000, "questions": {"q": {"type": "noul", "instructions": "?"}}})


def test_logits_that_are_no_numbers_are_no_answer() -> None:
    family = decider({})
    plan = family.plan({"state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}})
    with pytest.raises(NumericalError, match="weights are broken"):
        family.answer(plan, [np.full((1, 255), np.nan, np.float32)])
