"""From given hidden rows through the pointer head to the body of the answer, limits included."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.decision.kev import Kev, KevConfig, KevLimits
from boostr.decision.kev.answers import answer
from boostr.decision.readout import probabilities
from boostr.errors import DecisionLimitError, NumericalError

from ..alike import assert_same_answers
from .goldens import golden, head_alone, small_rows

CASES = golden("cases")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> KevConfig:
    return KevConfig.read(head_alone("tiny", tmp_path_factory.mktemp("head")))


def hidden_rows(readout: dict) -> list[NDArray[np.float32]]:
    """Per question (1 + options, 24): the decision first."""
    if "h" in readout:
        rows = [np.array(each, np.float32) for each in readout["h"]]
    else:
        rows = [np.frombuffer(base64.b64decode(each), np.int8).reshape(-1, 24) for each in readout["h_b64_int8"]]
    return [each.astype(np.float32) / readout["h_denominator"] for each in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_from_hidden_rows_to_answers(config: KevConfig, case: dict) -> None:
    family, readout = Kev(config, small_rows()), case["readout"]
    plan = family.plan(json.loads(case["body"]))
    hidden = hidden_rows(readout)
    for rows, z, p in zip(hidden, readout["z_raw"], readout["p"], strict=True):
        logits = family.config.head(rows[0], rows[1:])
        np.testing.assert_allclose(logits, z, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(probabilities(logits, family.config.temperature, "q"), p, rtol=0, atol=1e-6)
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


Ask = Callable[..., dict]


@pytest.fixture
def asked(config: KevConfig) -> Ask:
    def ask(state: str, instructions: str = "i", limits: KevLimits | None = None, before: dict | None = None) -> dict:
        family = Kev(config, small_rows(), limits)
        questions = {**(before or {}), "q": {"type": "noul", "instructions": instructions}}
        plan = family.plan({"state": state, "questions": questions})
        return family.answer(plan, [np.zeros((3, 24), np.float32) for _ in plan.rows])

    return ask


def expected(name: str) -> dict:
    return next(case for case in golden("http_errors") if case["name"] == name)["response"]


@pytest.mark.parametrize(("length", "name"), [(65536, "state_over_by_1"), (70122, "state_70123")])
def test_a_state_over_the_limit(asked: Ask, length: int, name: str) -> None:
    with pytest.raises(DecisionLimitError) as refused:
        asked("7" * length)
    ours, theirs = refused.value.detail, expected(name)["detail"]
    assert isinstance(ours, str)
    assert ours == theirs.replace("KEV_TRUNCATE_STATES=1", "--decision-truncate-states")


def test_a_state_and_a_question_at_the_limit(asked: Ask) -> None:
    assert asked("7" * 65535) == expected("state_at_limit")
    assert asked("", "7" * 73717) == expected("row_at_limit")


def test_a_question_over_the_limit(asked: Ask) -> None:
    with pytest.raises(DecisionLimitError) as refused:
        asked("", "7" * 73718)
    assert refused.value.detail == expected("row_over_by_1")["detail"]


def test_the_first_question_over_the_limit_is_told(asked: Ask) -> None:
    with pytest.raises(DecisionLimitError) as refused:
        asked("7" * 65535, "7" * 9000, before={"ok": {"type": "noul", "instructions": "i"}})
    assert refused.value.detail == expected("row_over_with_full_state")["detail"]


@pytest.mark.parametrize(("state", "name"), [("7" * 70122, "truncate_state_70123"), ("short", "truncate_not_needed")])
def test_states_are_cut_where_asked_for_and_it_is_said(asked: Ask, state: str, name: str) -> None:
    assert asked(state, limits=KevLimits(truncate_states=True)) == expected(name)


def test_limits_are_settings(asked: Ask) -> None:
    with pytest.raises(DecisionLimitError, match="state is 6 tokens, over the 5-token limit"):
        asked("77777", limits=KevLimits(state_tokens=5))
    with pytest.raises(DecisionLimitError, match="row limit 12"):
        asked("7", limits=KevLimits(row_tokens=12))


def test_a_broken_model_does_not_answer_with_nan(config: KevConfig) -> None:
    family = Kev(config, small_rows())
    plan = family.plan({"state": None, "questions": {"q": {"type": "noul"}}})
    with pytest.raises(NumericalError, match="'q'"):
        family.answer(plan, [np.full((3, 24), np.nan, np.float32)])


def test_fitted_temperatures_come_before_the_heads(config: KevConfig) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 24)).astype(np.float32)
    questions = {"n": {"type": "noul"}, "c": {"type": "choice", "criteria": {"a": None, "b": None}}}

    def answers(config: KevConfig) -> dict:
        family = Kev(config, small_rows())
        return family.answer(family.plan({"state": "s", "questions": questions}), [rows, rows])["answers"]

    vendor, fitted = answers(config), answers(replace(config, fitted={"noul": 1e6}))
    assert abs(fitted["n"]["noul"] - 0.5) < 1e-3 < abs(vendor["n"]["noul"] - 0.5)
    assert fitted["c"] == vendor["c"]


def test_what_it_says_of_itself(config: KevConfig) -> None:
    said = Kev(replace(config, fitted={"noul": 2.5}), small_rows(), KevLimits(state_tokens=9)).describe()
    assert (said["family"], said["readout"], said["base"]) == ("kev", "pointer", config.base)
    assert (said["head_width"], said["head_dtype"]) == (8, "float32")
    assert said["temperatures"] == {"choice": config.temperature, "noul": 2.5, "score": config.temperature}
    assert said["temperature_sources"]["score"] == "head.pt" != said["temperature_sources"]["noul"]
    assert said["limits"]["state_tokens"] == 9
    json.dumps(said)
