"""A tiny model through the real network, against the vendor's package on the same weights."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import boostr
from boostr import decision
from boostr.decision.decider import Decider, DeciderConfig, DeciderLimits
from boostr.decision.heads.label_tokens import LabelTokenHead
from boostr.decision.run import read_prefix, run_plan, run_rows
from boostr.errors import DecisionLimitError

from ..alike import assert_same_answers
from .goldens import TINY, golden, prompt_of

CASES = golden("tiny_e2e")["cases"]
SHARED = golden("shared_prefix_e2e")
TOLERANCE = 3e-4  # of logits, in float32


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(TINY, precise=True)
    yield model
    model.close()


def decider(model: boostr.LanguageModel, config: dict) -> Decider:
    read = DeciderConfig.of(config)
    prompt = prompt_of(read)
    return Decider(read, prompt, LabelTokenHead(model.network.lm_head.weight, prompt.labels))


@pytest.mark.parametrize("case", CASES, ids=[str(at) for at in range(len(CASES))])
def test_logits_and_answers(model: boostr.LanguageModel, case: dict) -> None:
    family = decider(model, case["config"])
    plan = family.plan(case["request"])
    assert [list(row.ids) for row in plan.rows] == [item["ids"] for item in case["items"]]
    hidden = run_plan(model, plan)
    head = LabelTokenHead(model.network.lm_head.weight, prompt_of(family.config).labels)
    for found, expected in zip(head(np.concatenate(hidden)), case["logits"], strict=True):
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=0, atol=TOLERANCE)
    answered = family.answer(plan, hidden)
    assert_same_answers(answered["answers"], case["response"]["answers"], score_step=0.0101)


@pytest.mark.parametrize("case", SHARED["cases"], ids=lambda case: case["name"])
def test_a_shared_prefix_changes_nothing(model: boostr.LanguageModel, case: dict) -> None:
    family = decider(model, {**SHARED["temperatures"], "version": "v", "isolated_levels": True})
    plan = family.plan({"state": case["state"], "questions": case["questions"]})
    assert [len(row.ids) for row in plan.rows] == case["row_lengths"]
    assert plan.prefix == case["ctx_len"]
    alone = run_rows(model, plan.rows)
    behind = run_plan(model, plan, read_prefix(model, plan.rows[0].ids[: plan.prefix]))
    for a, b in zip(alone, behind, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4)


def test_open_reads_the_sidecar(model: boostr.LanguageModel) -> None:
    family = Decider.open(model, TINY, fitted={"noul": 3.0})
    told = family.describe()
    assert (told["family"], told["readout"], told["temperatures"]["noul"]) == ("decider", "label_tokens", 3.0)
    assert told["temperature_sources"]["noul"] == "blazr_calibration.json"


def test_a_gguf_file_without_its_sidecar_is_opened_with_a_warning(model: boostr.LanguageModel, tmp_path: Path) -> None:
    (tmp_path / "decider.gguf").touch()
    with pytest.warns(UserWarning, match=r"no decider_config\.json"):
        assert Decider.open(model, tmp_path).config == DeciderConfig()
    shutil.copy(TINY / "decider_config.json", tmp_path)
    assert Decider.open(model, tmp_path).config.isolated_levels


def test_a_state_that_is_cut_bounds_what_rows_hold(model: boostr.LanguageModel) -> None:
    question = {"type": "noul", "instructions": "Is it?"}
    family = Decider.open(model, TINY, limits=DeciderLimits(state_tokens=20, request_tokens=100))
    plan = family.plan({"state": "a long state of many words " * 50, "questions": {"a": question, "b": question}})
    assert plan.prefix == 20
    with pytest.raises(DecisionLimitError, match=r"has \d+ tokens over 5 rows, the limit is 100"):
        family.plan({"state": "a long state " * 50, "questions": {str(n): question for n in range(5)}})


def test_a_chat_model_is_a_decider_by_its_sidecar(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "chat")
    case = next(each for each in CASES if each["config"].get("layout") == "chat")
    (tmp_path / "chat" / "decider_config.json").write_text(json.dumps(case["config"]))
    model = decision.load(tmp_path / "chat")
    assert_same_answers(model.answer(case["request"])["answers"], case["response"]["answers"], score_step=0.0101)
    model.close()
