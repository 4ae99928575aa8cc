"""Labelled requests run on the tiny model give the records that decider-ai collects from it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from boostr import decision
from boostr.decision.calibration import Labelled, Record, collect, fit_by_type, read_labelled, read_record
from boostr.errors import ParameterError

DATA = Path(__file__).parents[3] / "data" / "decision"
GOLDEN = json.loads((DATA / "calibration" / "expected.json").read_text("utf-8"))["collect_on_tiny_model"]
ASKED = GOLDEN["examples"][0]


@pytest.fixture(scope="module")
def model() -> Iterator[decision.DecisionModel]:
    model = decision.load(DATA / "decider" / "tiny_model")
    yield model
    model.close()


def labelled(**labels: object) -> Labelled:
    return read_labelled(7, ASKED | {"labels": labels})


def test_records_and_fit_of_labelled_requests(model: decision.DecisionModel) -> None:
    found = list(collect(model, [read_labelled(n, each) for n, each in enumerate(GOLDEN["examples"], 1)]))
    expected = [read_record(n, each) for n, each in enumerate(GOLDEN["records"], 1)]
    assert [(one.kind, one.gold) for one in found] == [(one.kind, one.gold) for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.logits.shape == other.logits.shape
        np.testing.assert_allclose(shares(one), shares(other), rtol=0, atol=1e-4)  # logits within 3e-4
    fitted = fit_by_type(found, min_rows=1)
    assert fitted.rows == GOLDEN["fit"]["rows"]
    assert fitted.by_type == pytest.approx(GOLDEN["fit"]["temperature_by_type"], rel=1e-3)
    assert fitted.pooled == pytest.approx(GOLDEN["fit"]["temperature"], rel=1e-3)


def shares(record: Record) -> np.ndarray:
    """Probabilities of what was asked, of isolated levels each level's own."""
    e = np.exp(record.logits)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def test_temperatures_of_the_model_do_not_reach_records(model: decision.DecisionModel) -> None:
    fitted = type(model.family).open(model.model, DATA / "decider" / "tiny_model", fitted={"noul": 9.0})
    other = decision.DecisionModel(model.model, fitted)
    one, same = (next(collect(each, [labelled(refund=True)])) for each in (model, other))
    np.testing.assert_array_equal(one.logits, same.logits)


def test_questions_without_a_label_are_not_counted(model: decision.DecisionModel) -> None:
    assert [one.kind for one in collect(model, [labelled(mood=1), labelled(), labelled(refund=1)])] == ["score", "noul"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"refund": "yes"}, "gold of noul question 'refund' must be true or false, got 'yes'"),
        ({"refund": 2}, "gold of noul question 'refund' must be true or false, got 2"),
        ({"refund": None}, "gold of noul question 'refund' must be true or false, got None"),
        ({"mood": 3}, "gold of score question 'mood' must be a level index in 0..2, got 3"),
        ({"mood": True}, "gold of score question 'mood' must be a level index in 0..2, got True"),
        ({"mood": "calm"}, "gold of score question 'mood' must be a level index in 0..2, got 'calm'"),
        ({"department": "sales"}, "gold of choice question 'department' is not one of its options: 'sales'"),
        ({"department": ["tech"]}, "gold of choice question 'department' is not one of its options: ['tech']"),
    ],
)
def test_labels_that_are_no_answers(model: decision.DecisionModel, labels: dict, message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        list(collect(model, [labelled(**labels)]))
    assert str(refused.value) == f"request 7: {message}"


def test_a_malformed_question_names_its_request(model: decision.DecisionModel) -> None:
    request = read_labelled(3, {"state": "s", "questions": {"q": {"type": "choice"}}, "labels": {}})
    with pytest.raises(ParameterError, match=r"^request 3: question without instructions$"):
        list(collect(model, [request]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "not a JSON object"),
        ({"state": 1}, "has no questions and no labels"),
        ({"state": 1, "questions": [], "labels": {}}, "questions must be an object by question id, got list"),
        ({"state": 1, "questions": {}, "labels": {"q": 1}}, "labels has 'q', which is not among the questions"),
    ],
)
def test_what_is_no_labelled_request(value: object, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^request 4: {message}"):
        read_labelled(4, value)


def test_a_family_without_temperatures_is_refused() -> None:
    with pytest.raises(ParameterError, match="clef cannot be fitted on requests"):
        collect(SimpleNamespace(family=SimpleNamespace(name="clef")), [])  # type: ignore[arg-type]
