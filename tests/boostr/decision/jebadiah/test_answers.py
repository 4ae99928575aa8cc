"""From a request's body to rows or a refusal, and from given logits to the body of the answer."""

from collections.abc import Sequence

import numpy as np
import pytest

from boostr.decision.family import Hidden
from boostr.decision.jebadiah import JebadiahConfig
from boostr.decision.jebadiah.answers import answer
from boostr.decision.jebadiah.questions import render_question
from boostr.decision.readout import probabilities
from boostr.errors import DecisionLimitError, NumericalError, QuestionError

from ..alike import SIXTH_DIGIT, assert_same_answers
from .goldens import golden, jebadiah

CASES, HTTP = golden("cases"), golden("http")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_answers_from_logits(case: dict) -> None:
    for name, expected in case["questions"].items():
        shown = render_question(name, case["request"]["questions"][name], 255)
        p = probabilities(np.array(expected["logits"], np.float32), expected["temperature"], name)
        np.testing.assert_allclose(p, expected["scorer_probs_f32"], rtol=0, atol=1e-6)
        if expected.get("server_answer"):
            assert_same_answers(answer(shown, p), expected["server_answer"], SIXTH_DIGIT)


BODY = {"state": "s", "questions": {"q": {"type": "choice", "instructions": "q", "criteria": {"a": None, "b": None}}}}
CONFIG = JebadiahConfig({"choice": 2.0})


def test_the_body_of_an_answer() -> None:
    family = jebadiah(CONFIG)
    plan = family.plan(BODY)
    logits = [np.zeros((1, 68), np.float32)]
    logits[0][0, :2] = 2.0, 0.0
    body = family.answer(plan, logits)
    assert list(body) == ["model", "answers", "usage", "latency_ms", "calibration"]
    assert body["usage"] == {"input_tokens": len(plan.rows[0].ids), "output_tokens": 1}
    assert body["calibration"] == {"applied": True, "temperatures": {"choice": 2.0}}
    assert body["answers"]["q"]["probabilities"]["a"] == pytest.approx(0.731059)
    raw = family.answer(family.plan({**BODY, "calibration": "raw"}), logits)
    assert raw["answers"]["q"]["probabilities"]["a"] == pytest.approx(0.880797)
    assert raw["calibration"] == {"applied": False, "temperatures": {"choice": 2.0}}


def test_fields_of_the_body_are_checked() -> None:
    family = jebadiah(CONFIG)
    with pytest.raises(QuestionError, match="'calibration' must be \"raw\" when given"):
        family.plan({**BODY, "calibration": "cooked"})
    for model in ("", " ", 1):
        with pytest.raises(QuestionError, match="'model' must be a non-empty string"):
            family.plan({**BODY, "model": model})
    assert family.plan({"questions": BODY["questions"], "model": None, "calibration": None}).rows  # no state is needed


def ask(kind: str, criteria: object) -> dict:
    return {"type": kind, "instructions": "q", "criteria": criteria}


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"model": "", "questions": {}, "calibration": "x"}, "'model' must be"),
        ({"questions": {}, "state": {1}, "calibration": "x"}, "'questions' must be"),
        ({"questions": {"a": 1, "": 1}}, "question 'a' must be an object"),
        ({"questions": {"a": ask("choice", {"x": None, " x": None}), "b": 1}}, "question 'b' must be an object"),
        ({"questions": {"a": ask("choice", {"b": 1, " ": 2})}}, "question 'a': the 'criteria' description for 'b'"),
        ({"questions": {"a": ask("choice", {" b": 1, "c": 2})}}, "question 'a': the 'criteria' description for ' b'"),
        (
            {"questions": {"a": ask("noul", {" true": 1, "x": 2})}},
            "question 'a': the 'criteria' description for 'true'",
        ),
        ({"questions": {"a": ask("noul", {"true": 1, " true": None})}}, "the 'criteria' description for 'true' must"),
        ({**BODY, "state": {1}, "calibration": "x"}, "'state' is not JSON-serializable: "),
        ({**BODY, "calibration": ["raw"]}, "'calibration' must be"),
    ],
)
def test_the_first_fault_is_the_one_that_the_vendor_meets_first(body: dict, refusal: str) -> None:
    with pytest.raises(QuestionError) as refused:
        jebadiah(CONFIG).plan(body)
    assert refusal in str(refused.value.detail)


def test_equal_options_are_listed_in_order() -> None:
    criteria = {"b": None, " b": None, "a": "x  y", "a ": "x y", "c": None}
    with pytest.raises(QuestionError, match=r"question 'q': duplicate options \['a: x y', 'b'\]"):
        jebadiah(CONFIG).plan({"questions": {"q": ask("choice", criteria)}})


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for body in ({**BODY, "state": deep}, {"questions": {"q": {"type": deep}}}, {**BODY, "calibration": deep}):
        with pytest.raises(QuestionError, match="nested too deep"):
            jebadiah(CONFIG).plan(body)


@pytest.mark.parametrize("case", HTTP["cases"], ids=lambda case: case["name"])
def test_requests_over_http(case: dict) -> None:
    """What the vendor's client answered on its own server, over a runtime whose logits come out of the prompt's ids."""
    limits = {"prompt_tokens": 2048, "cut": "v2"} if case["name"] == "truncated" else {}
    family, expected = jebadiah(JebadiahConfig(HTTP["temperatures"]), **limits), case["response"]
    if case["status"] != 200:
        with pytest.raises(QuestionError) as refused:
            family.plan(case["body"])
        # The client says twice which question it is.
        assert expected["error"]["message"].removeprefix("question 'q': ") in str(refused.value.detail)
        return
    plan = family.plan(case["body"])
    body = family.answer(plan, [formula_logits(row.ids) for row in plan.rows])
    assert_same_answers(body["answers"], expected["answers"], SIXTH_DIGIT)
    assert body["usage"]["input_tokens"] == expected["usage"]["input_tokens"]
    assert body["calibration"]["applied"] == expected["calibration"]["applied"]
    assert body.get("warnings", []) == expected["warnings"]


def formula_logits(ids: Sequence[int]) -> Hidden:
    base = sum(ids) * 7919 % 2003
    return np.array([[base * (label + 3) * 31 % 997 / 100 - 5 for label in range(68)]], np.float32)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_probabilities_that_are_no_numbers_are_an_error(broken: float) -> None:
    family = jebadiah(CONFIG)
    with pytest.raises(NumericalError, match="question 'q': the model produced no finite distribution"):
        family.answer(family.plan(BODY), [np.full((1, 68), broken, np.float32)])
    tiny = jebadiah(JebadiahConfig({"choice": 1e-60}))
    with pytest.raises(NumericalError):
        tiny.answer(tiny.plan(BODY), [np.ones((1, 68), np.float32)])


def test_a_long_prompt_is_refused_not_cut() -> None:
    with pytest.raises(DecisionLimitError, match="more than the 90 this server takes"):
        jebadiah(CONFIG, prompt_tokens=90).plan({**BODY, "state": "word " * 100})


def test_the_questions_of_a_request_are_bounded() -> None:
    body = {"state": "s", "questions": {f"q{n}": BODY["questions"]["q"] for n in range(4)}}
    tokens = sum(len(row.ids) for row in jebadiah(CONFIG).plan(body).rows)
    assert jebadiah(CONFIG, rows=4, request_tokens=tokens).plan(body).rows
    with pytest.raises(DecisionLimitError, match=r"the request has 4, the limit is 3 \(inference.decision.max_rows"):
        jebadiah(CONFIG, rows=3).plan(body)
    with pytest.raises(
        DecisionLimitError, match=r"prompts of 4 of 4 questions .*inference.decision.max_request_tokens"
    ):
        jebadiah(CONFIG, request_tokens=tokens - 1).plan(body)


def test_more_options_than_labels_in_a_row_are_refused_with_the_real_number() -> None:
    criteria = {f"o{n}": None for n in range(69)}
    body = {"state": "s", "questions": {"q": {"type": "choice", "instructions": "q", "criteria": criteria}}}
    with pytest.raises(QuestionError, match="69 'criteria' options is more than the 68"):
        jebadiah(CONFIG).plan(body)


def test_the_vendors_own_limit_of_options() -> None:
    body = {"questions": {"q": ask("choice", {f"o{n}": None for n in range(21)})}}
    assert jebadiah(CONFIG).plan(body).rows
    with pytest.raises(QuestionError, match="21 'criteria' options is more than the 20"):
        jebadiah(CONFIG, options=20).plan(body)


def test_the_published_example() -> None:
    """Of jebadiah-4b-v2's own server: what is formed from its probabilities."""
    route = render_question("q", ask("choice", {"billing": None, "support": None, "sales": None}), 20)
    found = answer(route, [0.592185, 0.082171, 0.325644])
    assert (found["choice"], found["confidence"]) == ("billing", 0.388277)
    risk = render_question("q", ask("score", ["none", "some", "much"]), 20)
    found = answer(risk, [0.158015, 0.69356, 0.148425])
    assert (found["score"], found["confidence"]) == (0.99041, 0.54034)


def test_options_that_tie_once_rounded_go_to_the_first() -> None:
    shown = render_question("q", ask("choice", {"a": None, "b": None}), 20)
    assert answer(shown, [0.4999999, 0.5000001])["choice"] == "a"
    assert answer(shown, [0.499998, 0.500002])["choice"] == "b"
