"""Texts, ids and pointer positions, exactly as Kev's, and what its server refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from boostr.decision.heads.pointer import PointerHead
from boostr.decision.kev import Kev, KevConfig
from boostr.decision.kev.questions import check_body, render, render_question
from boostr.decision.kev.rows import Delimited
from boostr.errors import QuestionError, TokenizerError
from boostr.tokenizers import from_directory

from .goldens import DATA, golden, small_rows

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


def test_every_fault_of_a_body_is_listed() -> None:
    with pytest.raises(QuestionError) as refused:
        check_body({"model": 1, "questions": {"a": None, "b": {"type": "x"}, "c": {"type": "noul"}}})
    found = [".".join(map(str, fault["loc"])) for fault in refused.value.detail]
    assert found[:3] == ["body.state", "body.model", "body.questions.a.Noul"]
    assert found[-1] == "body.questions.b.Noul.type"


def test_texts_that_cannot_be_written_out_are_refused(rows: Delimited) -> None:
    config = KevConfig(Path(), PointerHead(*[np.zeros((1, 1))] * 4), "base", None, 1, "lora", "fp32", 1.0)
    family, questions = Kev(config, rows), {"q": {"type": "noul"}}
    deep = json.loads("[" * 600 + "]" * 600)
    for state, reason in ((deep, "nested too deep"), (10**5000, "too many digits"), ("\ud800", "lone surrogate")):
        for body in (
            {"state": state, "questions": questions},
            {"state": 1, "questions": {"q": {"type": "score", "criteria": [state]}}},
        ):
            with pytest.raises(QuestionError, match=reason):
                family.plan(body)


def test_a_tokenizer_without_the_delimiters_is_refused() -> None:
    with pytest.raises(TokenizerError, match=r"no token <\|fim_prefix\|>"):
        Delimited(from_directory(DATA.parents[1] / "tokenizers" / "tiny-llama3"))
