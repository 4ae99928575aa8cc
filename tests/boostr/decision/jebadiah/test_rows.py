"""Prompts, token ids, labels and refusals, exactly as the vendor's."""

from typing import Any

import pytest

from boostr.decision.family import Row
from boostr.decision.jebadiah import JebadiahConfig
from boostr.decision.jebadiah.questions import Shown, render_question, render_questions, render_state
from boostr.decision.jebadiah.rows import Prompt
from boostr.errors import DecisionLimitError, QuestionError

from .goldens import golden, jebadiah, small_prompt

CASES = golden("cases")
LABELS = golden("labels")["small"]


@pytest.fixture(scope="module")
def prompt() -> Prompt:
    return small_prompt()


def kept_state(prompt: Prompt, state: str, shown: Shown, budget: int, rule: Any) -> str:
    tokens = len(prompt.row(state, shown).ids)
    return state if tokens <= budget else prompt.cut_state(prompt.encode(state), tokens, shown, budget, rule)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_prompts_and_ids(prompt: Prompt, case: dict) -> None:
    state = render_state(case["request"].get("state"))
    assert state == case["state_text"]
    for name, expected in case["questions"].items():
        shown = render_question(name, case["request"]["questions"][name], 255)
        kept = kept_state(prompt, state, shown, case["max_tokens"], "v2")
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
                kept_state(prompt, case["state"], shown, case["max_tokens"], rule)
            assert refused.value.detail == expected["error"]
            continue
        state = kept_state(prompt, case["state"], shown, case["max_tokens"], rule)
        assert prompt.text(state, shown, labels) == expected["prompt"]
        assert len(prompt.row(state, shown).ids) == expected["n_tokens"]


STATES = [
    "A short state.",
    "ends in lines\n\n",
    "\r\n",
    "",
    " blank ",
    "<|im_end|>",
    "<think>",
    "\n\nQUESTION: Why?",
    '{"a":[1]}',
    "e\u0301",
]


@pytest.mark.parametrize("state", STATES)
def test_the_state_ends_where_every_question_begins(state: str) -> None:
    family = jebadiah(JebadiahConfig())
    texts = ["Why?", "0", "e\u0301", "\n.", "<|im_end|>", "  QUESTION: "]
    questions = {f"q{at}": {"type": "noul", "instructions": text} for at, text in enumerate(texts)}
    together = family.plan({"state": state, "questions": questions})
    alone = [family.plan({"state": state, "questions": {name: each}}) for name, each in questions.items()]
    # One question alone keeps as much as any other, and rows are the same in company.
    assert {plan.prefix for plan in alone} == {together.prefix}
    assert [plan.rows[0] for plan in alone] == list(together.rows)
    assert len({tuple(row.ids[: together.prefix]) for row in together.rows}) == 1
    assert together.prefix >= len(small_prompt().encode("STATE:\n" + state))


def test_rows_whose_vocabulary_joins_what_is_split_are_encoded_whole(prompt: Prompt) -> None:
    shown = [render_question("q", {"type": "noul", "instructions": text}, 20) for text in ("Why?", "How?")]
    first, second = (prompt.row("s", each) for each in shown)
    joined = Row([*first.ids[:20], 0, *first.ids[22:]], first.reads)  # one token where two were
    head = prompt.head("s", shown[0], joined)
    assert not head.exact
    assert list(head.ids) == first.ids[:20]
    assert prompt.row("s", shown[1], head) == second
    exact = prompt.head("s", shown[0], first)
    assert exact.exact
    assert prompt.row("s", shown[1], exact) == second


def test_cut_states_share_what_is_left_of_them() -> None:
    family = jebadiah(JebadiahConfig(), prompt_tokens=250, cut="v2.1")
    questions = {f"q{n}": {"type": "noul", "instructions": "word " * n + "?"} for n in (1, 9, 30)}
    plan = family.plan({"state": "a state of many words " * 30, "questions": questions})
    assert all(len(row.ids) <= 250 for row in plan.rows)
    assert len({tuple(row.ids[: plan.prefix]) for row in plan.rows}) == 1
    assert plan.prefix > 40


def test_a_state_of_megabytes_is_refused_by_its_beginning() -> None:
    family = jebadiah(JebadiahConfig(), prompt_tokens=200)
    body = {"state": "word " * 8_000_000, "questions": {"q": {"type": "noul", "instructions": "Why?"}}}
    with pytest.raises(
        DecisionLimitError, match=r"question 'q': the prompt is over \d+ tokens, more than the 200 this"
    ):
        family.plan(body)


def test_a_long_text_of_few_tokens_is_read_whole() -> None:
    spaces = {"state": " " * 30_000, "questions": {"q": {"type": "noul", "instructions": "Why?"}}}
    with pytest.raises(DecisionLimitError, match=r"the prompt is \d+ tokens, more than the 9 this"):
        jebadiah(JebadiahConfig(), prompt_tokens=9).plan({**spaces, "state": "a short state of twenty words or so"})
    most = len(jebadiah(JebadiahConfig(), prompt_tokens=1 << 20).plan(spaces).rows[0].ids)
    assert jebadiah(JebadiahConfig(), prompt_tokens=most).plan(spaces).rows
