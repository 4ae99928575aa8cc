"""Texts and token ids of every layout, exactly as the vendor's."""

import pytest

from boostr.decision.decider import DeciderConfig
from boostr.decision.decider.questions import question_rows, render_question, render_state
from boostr.errors import QuestionError

from .goldens import golden, joined, prompt_of

CASES = golden("systemone_cases")
LABELS = golden("labels")["small"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_texts_of_a_request(case: dict) -> None:
    request, isolated = case["request"], case["config"].get("isolated_levels", False)
    isolated = isolated and request.get("independent", True)
    if "rendered_state" in case:
        assert render_state(request["state"]) == case["rendered_state"]
    rows = [
        {"question": row.text, "options": list(row.options)}
        for question in request["questions"].values()
        for row in question_rows(render_question(question, isolated))
    ]
    assert rows == case["rows"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_ids_of_a_request(case: dict) -> None:
    config = DeciderConfig.of(case["config"])
    prompt, request, expected = prompt_of(config), case["request"], case["tokens"]["small"]
    independent = request.get("independent", True)
    isolated = config.isolated_levels and independent
    slots = [row for q in request["questions"].values() for row in question_rows(render_question(q, isolated))]
    context = prompt.state_ids(render_state(request["state"]), case["max_state_tokens"])
    groups = [[slot] for slot in slots] if independent else [slots] if slots else []
    rows = [joined(context, prompt.questions(group)) for group in groups]
    assert [list(row.ids) for row in rows] == [expected["ctx_ids"] + row["suffix_ids"] for row in expected["rows"]]
    assert [list(row.reads) for row in rows] == [row["slots"] for row in expected["rows"]]


def test_labels() -> None:
    assert prompt_of(DeciderConfig()).labels == LABELS["ids"]


@pytest.mark.parametrize("case", golden("question_errors"), ids=lambda case: case["desc"])
def test_what_is_refused(case: dict) -> None:
    if case.get("ok"):
        assert question_rows(render_question(case["question"], isolated_levels=True))
        return
    with pytest.raises(QuestionError) as refused:
        render_question(case["question"], isolated_levels=True)
    if case["status"] == 422:  # where the vendor's server breaks, the words are ours
        assert refused.value.detail == case["detail"]
