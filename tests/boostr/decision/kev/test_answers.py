"""From given hidden rows through the pointer head to the body of the answer, limits included."""

import base64
import json

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.decision.kev import Kev, KevConfig, KevLimits
from boostr.decision.kev.answers import answer, probabilities
from boostr.errors import DecisionLimitError

from .goldens import DATA, assert_same_answers, golden, small_rows

CASES = golden("cases")


def config(name: str = "tiny") -> KevConfig:
    from dataclasses import replace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KevConfig, "_check_form", lambda self: None)  # the head alone, without its adapter
        read = KevConfig.read(DATA / "head" / name)
    return replace(read)


def hidden_rows(readout: dict) -> list[NDArray[np.float32]]:
    """Per question (1 + options, 24): the decision first."""
    if "h" in readout:
        rows = [np.array(each, np.float32) for each in readout["h"]]
    else:
        rows = [np.frombuffer(base64.b64decode(each), np.int8).reshape(-1, 24) for each in readout["h_b64_int8"]]
    return [each.astype(np.float32) / readout["h_denominator"] for each in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_from_hidden_rows_to_answers(case: dict) -> None:
    family, readout = Kev(config(), small_rows()), case["readout"]
    plan = family.plan(json.loads(case["body"]))
    hidden = hidden_rows(readout)
    for rows, z, p in zip(hidden, readout["z_raw"], readout["p"], strict=True):
        logits = family.config.head(rows[0], rows[1:])
        np.testing.assert_allclose(logits, z, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(probabilities(logits, family.config.temperature), p, rtol=0, atol=1e-6)
    body = family.answer(plan, [np.concatenate([rows[1:], rows[:1]]) for rows in hidden])
    assert list(body) == ["model", "answers", "usage", "latency_ms"]
    assert_same_answers(body["answers"], case["answers"])
    if body["answers"] == case["answers"]:
        assert json.dumps(body["answers"]) == case["answers_json_dumps"]
        assert body["usage"] == case["usage"]
    assert body["usage"]["input_tokens"] == case["usage"]["input_tokens"]
    assert body["model"] == case["model"]


@pytest.mark.parametrize("case", golden("formulas"), ids=lambda case: case["name"])
def test_formulas(case: dict) -> None:
    legend = list(case["answer"].get("legend", {}).values())
    assert answer(case["type"], case["keys"], case["p"], legend) == case["answer"]


def asked(state: str, instructions: str = "i", limits: KevLimits | None = None) -> dict:
    family = Kev(config(), small_rows(), limits)
    questions = {"q": {"type": "noul", "instructions": instructions}}
    plan = family.plan({"state": state, "questions": questions})
    return family.answer(plan, [np.zeros((3, 24), np.float32)])


def expected(name: str) -> dict:
    return next(case for case in golden("http_errors") if case["name"] == name)["response"]


def test_a_state_at_the_limit_and_over_it() -> None:
    assert asked("7" * 65535)["usage"]["input_tokens"] == 65547
    with pytest.raises(DecisionLimitError) as refused:
        asked("7" * 70122)
    ours, theirs = refused.value.detail, expected("state_70123")["detail"]
    assert isinstance(ours, str)
    assert ours == theirs.replace("KEV_TRUNCATE_STATES=1", "--decision-truncate-states")


def test_a_question_at_the_limit_and_over_it() -> None:
    assert asked("", "7" * 73717)["usage"]["input_tokens"] == 73728
    with pytest.raises(DecisionLimitError) as refused:
        asked("", "7" * 73718)
    assert refused.value.detail == expected("row_over_by_1")["detail"]


@pytest.mark.parametrize(("state", "name"), [("7" * 70122, "truncate_state_70123"), ("short", "truncate_not_needed")])
def test_states_are_cut_where_asked_for_and_it_is_said(state: str, name: str) -> None:
    assert asked(state, limits=KevLimits(truncate_states=True)) == expected(name)
