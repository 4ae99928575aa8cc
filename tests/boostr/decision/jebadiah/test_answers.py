"""Sidecars, and from given logits to the body of the answer."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from boostr.decision.family import Hidden
from boostr.decision.jebadiah import Jebadiah, JebadiahConfig, JebadiahLimits
from boostr.decision.jebadiah.answers import answer, probabilities
from boostr.decision.jebadiah.config import parse_temperatures
from boostr.decision.jebadiah.questions import render_question
from boostr.errors import ConfigError, DecisionLimitError, QuestionError

from .goldens import DATA, assert_same_answers, golden, small_prompt

CASES = golden("cases")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_answers_from_logits(case: dict) -> None:
    for name, expected in case["questions"].items():
        shown = render_question(name, case["request"]["questions"][name], 255)
        p = probabilities(np.array(expected["logits"], np.float32), expected["temperature"])
        np.testing.assert_allclose(p, expected["scorer_probs_f32"], rtol=0, atol=1e-6)
        if expected.get("server_answer"):
            assert_same_answers(answer(shown, p), expected["server_answer"])


@pytest.mark.parametrize("case", golden("temperatures_parse"))
def test_temperatures(case: dict) -> None:
    assert parse_temperatures(case["text"]) == (case["server"] or {})


def contract(tmp_path: Path, **changes: object) -> JebadiahConfig:
    values = json.loads((DATA / "tiny_sidecars" / "prompt_contract.json").read_text())
    (tmp_path / "prompt_contract.json").write_text(json.dumps(values | changes))
    return JebadiahConfig.read(tmp_path)


TEMPLATE = "a template"
DIGEST = hashlib.sha256(TEMPLATE.encode()).hexdigest()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt_source_sha256": "0"}, "prompt_source_sha256 differs from the bundled renderer"),
        ({"chat_template_sha256": "0"}, "chat_template_sha256 differs from the tokenizer's template"),
        ({"single_token_labels": 67}, "single_token_labels differs from this tokenizer"),
        ({"chat_template_kwargs": {}}, r"chat_template_kwargs differ \(thinking must be off\)"),
    ],
)
def test_another_contract_is_refused(tmp_path: Path, changes: dict, fault: str) -> None:
    contract(tmp_path, chat_template_sha256=DIGEST).check_contract(TEMPLATE, 68)
    with pytest.raises(ConfigError, match=fault):
        contract(tmp_path, **{"chat_template_sha256": DIGEST, **changes}).check_contract(TEMPLATE, 68)


class Given:
    """A head whose "hidden states" are logits already, in the order of its labels."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __call__(self, hidden: Hidden) -> Hidden:
        return hidden


def jebadiah(config: JebadiahConfig, **limits: int) -> Jebadiah:
    prompt = small_prompt()
    head = Given([label.id for label in prompt.labels])
    return Jebadiah(config, prompt, head, JebadiahLimits(**limits), "jebadiah-tiny")  # type: ignore[arg-type]


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
    with pytest.raises(QuestionError, match="'model' must be a non-empty string"):
        family.plan({**BODY, "model": ""})
    assert family.plan({"questions": BODY["questions"]}).rows  # a state may be missing


def test_a_long_prompt_is_refused_not_cut() -> None:
    with pytest.raises(DecisionLimitError, match="more than the 90 this server takes"):
        jebadiah(CONFIG, prompt_tokens=90).plan({**BODY, "state": "word " * 100})


def test_more_options_than_labels_in_a_row_are_refused_with_the_real_number() -> None:
    criteria = {f"o{n}": None for n in range(69)}
    body = {"state": "s", "questions": {"q": {"type": "choice", "instructions": "q", "criteria": criteria}}}
    with pytest.raises(QuestionError, match="69 'criteria' options is more than the 68"):
        jebadiah(CONFIG).plan(body)
