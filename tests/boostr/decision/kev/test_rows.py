"""Texts, ids and pointer positions, exactly as Kev's, and what its server refuses."""

import json

import pytest

from boostr.decision.kev.questions import check_body, render, render_question
from boostr.decision.kev.rows import Delimited
from boostr.errors import QuestionError

from .goldens import golden, small_rows

CASES = golden("cases")
ERRORS = golden("http_errors")


@pytest.fixture(scope="module")
def rows() -> Delimited:
    return small_rows()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_texts(case: dict) -> None:
    body = check_body(json.loads(case["body"]))
    assert render(body["state"]) == case["record"]["state"]
    shown = [render_question(each) for each in body["questions"].values()]
    assert [{"instr": each.text, "options": list(each.options)} for each in shown] == case["record"]["questions"]
    for each, meta in zip(shown, case["meta"], strict=True):
        assert (each.kind, list(each.keys)) == (meta["type"], meta["keys"])
        assert dict(zip(each.keys, each.legend, strict=False)) == meta.get("legend", {})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_ids_and_positions(rows: Delimited, case: dict) -> None:
    body, expected = json.loads(case["body"]), case["small"]
    state = rows.state(render(body["state"]))
    assert state == expected["state_ids"]
    for question, row in zip(body["questions"].values(), expected["rows"], strict=True):
        found = rows.row(state, render_question(question))
        assert list(found.ids) == state + row["branch_ids"]
        assert list(found.reads) == [*row["opts"], row["decide"]]


@pytest.mark.parametrize(
    "case",
    [case for case in ERRORS if case["status"] == 422 and case["request_text"][:2] in (chr(123) + chr(34), "[1")],
    ids=lambda case: case["name"],
)
def test_refusals(case: dict) -> None:
    with pytest.raises(QuestionError) as refused:
        check_body(json.loads(case["request_text"]))
    first, expected = refused.value.detail[0], case["response"]["detail"][0]
    assert isinstance(first, dict)
    assert (first["type"], first["loc"]) == (expected["type"], expected["loc"])


@pytest.mark.parametrize("kind", ["choice", "score"])
@pytest.mark.parametrize("count", [0, 256])
def test_counts_of_options(kind: str, count: int) -> None:
    criteria = {f"o{n}": None for n in range(count)} if kind == "choice" else [f"l{n}" for n in range(count)]
    with pytest.raises(QuestionError) as refused:
        check_body({"state": "s", "questions": {"q": {"type": kind, "criteria": criteria}}})
    assert [fault["loc"][3] for fault in refused.value.detail] == ["Noul", kind.capitalize()]
