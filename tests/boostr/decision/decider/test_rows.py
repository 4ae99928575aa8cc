"""Texts and token ids of every layout, exactly as the vendor's."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from boostr.chat import ChatTemplate
from boostr.decision.decider import Decider, DeciderConfig
from boostr.decision.decider.questions import question_rows, render_question, render_state
from boostr.decision.decider.rows import Prompt
from boostr.errors import ConfigError, QuestionError, TemplateError
from boostr.tokenizers import from_directory

from .goldens import TINY, golden, joined, prompt_of

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


HEAD, TAIL = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"


def chat_template(end: str, thinking_off: str = "") -> ChatTemplate:
    # Written as expressions: Jinja drops a template's own last line feed.
    off = (
        f"{{% if enable_thinking is false %}}{{{{ {json.dumps(thinking_off)} }}}}{{% endif %}}" if thinking_off else ""
    )
    return ChatTemplate(HEAD + f"{{{{ messages[0].content }}}}{{{{ {json.dumps(end)} }}}}{off}", "test")


def chat_rows(end: str, thinking_off: str = "") -> list[int]:
    """Ids behind the question, of a template that ends in `end`."""
    tokenizer = from_directory(TINY)
    template = chat_template(end, thinking_off)
    question = render_question({"type": "noul", "instructions": "Is it?"}, False)
    ids = list(Prompt(tokenizer, template).questions(question_rows(question)).ids)
    asked = tokenizer.encode("\n\nQuestion: Is it?\nOptions:", add_special=False)
    asked += tokenizer.encode("\n(A) no\n(B) yes", add_special=False)
    assert ids[: len(asked)] == asked
    return ids[len(asked) :]


@pytest.mark.parametrize(
    ("end", "closed"),
    [
        (TAIL, TAIL),
        (TAIL + "<think>\n", TAIL + "<think>\n</think>\n\n"),
        (TAIL + "<think>", TAIL + "<think></think>\n\n"),
        (TAIL + "<|channel>thought\n", TAIL + "<|channel>thought\n<channel|>"),
    ],
)
def test_thinking_that_a_template_opens_is_closed(end: str, closed: str) -> None:
    tokenizer = from_directory(TINY)
    expected = tokenizer.encode(closed, add_special=False) + tokenizer.encode("Answer: (", add_special=False)
    assert chat_rows(end) == expected


def test_thinking_is_turned_off_where_the_template_can() -> None:
    closed = "<think>\n\n</think>\n\n"
    assert chat_rows(TAIL, thinking_off=closed) == chat_rows(TAIL + closed)


def test_templates_that_no_prompt_can_be_made_with() -> None:
    tokenizer = from_directory(TINY)
    with pytest.raises(ConfigError, match="drops the user's text"):
        Prompt(tokenizer, ChatTemplate(HEAD + TAIL, "test"))
    with pytest.raises(ConfigError, match="merges with the answer's beginning"):
        Prompt(tokenizer, chat_template(TAIL + " "))


def test_the_chat_layout_needs_a_template(tmp_path: Path) -> None:
    (tmp_path / "decider_config.json").write_text('{"layout": "chat"}')
    with pytest.raises(TemplateError, match="has no chat template"):
        Decider.open(SimpleNamespace(chat_template=None, path=tmp_path), tmp_path)  # type: ignore[arg-type]
