"""Prompts, token ids, labels and refusals, exactly as the vendor's."""

import pytest

from boostr.decision.jebadiah.questions import render_question, render_questions, render_state
from boostr.decision.jebadiah.rows import Prompt
from boostr.errors import DecisionLimitError, QuestionError

from .goldens import golden, small_prompt

CASES = golden("cases")
LABELS = golden("labels")["small"]


@pytest.fixture(scope="module")
def prompt() -> Prompt:
    return small_prompt()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_prompts_and_ids(prompt: Prompt, case: dict) -> None:
    state = render_state(case["request"].get("state"))
    assert state == case["state_text"]
    for name, expected in case["questions"].items():
        shown = render_question(name, case["request"]["questions"][name], 255)
        kept = prompt.cut_state(state, shown, case["max_tokens"], "v2")
        labels = [label.name for label in prompt.labels_for(len(shown.lines))]
        tokens = expected["tokens"]["small"]
        assert [label.id for label in prompt.labels_for(len(shown.lines))] == tokens["cand_ids"]
        if "translated" in expected:
            assert list(shown.lines) == expected["translated"]["options"]
        if "prompt" in expected and not tokens["truncated"]:
            assert prompt.text(kept, shown, labels) == expected["prompt"]
        row = prompt.row(kept, shown)
        assert list(row.ids) == tokens["ids"]
        assert list(row.reads) == [len(tokens["ids"]) - 1]


def test_labels(prompt: Prompt) -> None:
    assert [label.name for label in prompt.labels] == LABELS["labels"]
    assert [label.id for label in prompt.labels] == LABELS["ids"]
    assert [list(label) for label in prompt.more_labels] == LABELS["extended"]
    with pytest.raises(DecisionLimitError, match="629 options exceed the 628"):
        prompt.labels_for(629)


@pytest.mark.parametrize("case", golden("refusals"), ids=lambda case: case["desc"])
def test_refusals(case: dict) -> None:
    if case["server"] is None:
        render_questions(case["questions"], 255)
        return
    with pytest.raises(QuestionError) as refused:
        render_questions(case["questions"], 20)
    assert refused.value.detail == case["server"]


@pytest.mark.parametrize("case", golden("truncation"), ids=lambda case: str(case["max_tokens"]))
def test_cut_states(prompt: Prompt, case: dict) -> None:
    shown = render_question("q", case["question"], 20)
    labels = [label.name for label in prompt.labels_for(len(shown.lines))]
    for rule, key in (("v2", "v2"), ("v2.1", "v21")):
        expected = case[key]
        if "error" in expected:
            with pytest.raises(DecisionLimitError) as refused:
                prompt.cut_state(case["state"], shown, case["max_tokens"], rule)  # type: ignore[arg-type]
            assert refused.value.detail == expected["error"]
            continue
        state = prompt.cut_state(case["state"], shown, case["max_tokens"], rule)  # type: ignore[arg-type]
        assert prompt.text(state, shown, labels) == expected["prompt"]
        assert len(prompt.row(state, shown).ids) == expected["n_tokens"]


@pytest.mark.parametrize("state", ["A short state.", "ends in lines\n\n", "", " blank ", "<|im_end|>"])
def test_the_state_ends_where_every_question_begins(prompt: Prompt, state: str) -> None:
    questions = [render_question("q", {"type": "noul", "instructions": text}, 20) for text in ("Why?", "0", "é", "\n.")]
    rows = [prompt.row(state, shown) for shown in questions]
    ends = {prompt.state_end(state, [row], shown) for row, shown in zip(rows, questions, strict=True)}
    assert len(ends) == 1  # one question alone keeps as much as any other
    (end,) = ends
    assert len({tuple(row.ids[:end]) for row in rows}) == 1
    assert end >= len(prompt.encode("STATE:\n" + state)) - 2
