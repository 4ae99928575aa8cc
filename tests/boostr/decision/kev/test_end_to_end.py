"""A base with its adapter and head through the real network, against Kev's own code on the same files."""

import base64
import json
from collections.abc import Iterator

import numpy as np
import pytest

import boostr
from boostr.decision.kev import Kev, KevConfig
from boostr.decision.run import read_prefix, run_plan
from boostr.errors import ConfigError
from boostr.peft import PeftAdapter

from .goldens import DATA, assert_same_answers, golden

CASES = golden("e2e/requests")
KEV = DATA / "e2e" / "kev-tiny"
P_TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    base = boostr.load(DATA / "e2e" / "base", precise=True)
    yield base.derive_with_adapter(PeftAdapter.load(KEV))
    base.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hidden_states_and_answers(model: boostr.LanguageModel, case: dict) -> None:
    family = Kev.open(model, KEV)
    plan = family.plan(json.loads(case["body"]))
    if isinstance(case["rows"], list):  # the longest case only counts them
        assert [list(row.ids) for row in plan.rows] == [row["ids"] for row in case["rows"]]
    alone = run_plan(model, plan)
    kept = run_plan(model, plan, read_prefix(model, plan.rows[0].ids[: plan.prefix]))
    picks = [np.frombuffer(base64.b64decode(each), "<f4").reshape(-1, 48) for each in case["hidden_picks_b64_f32"]]
    for found, again, expected, logits in zip(alone, kept, picks, case["logits"], strict=True):
        np.testing.assert_allclose(found, np.concatenate([expected[1:], expected[:1]]), rtol=0, atol=2e-4)
        np.testing.assert_allclose(again, found, rtol=0, atol=1e-4)
        z = family.config.head(found[-1], found[:-1]) / family.config.temperature
        np.testing.assert_allclose(z, logits, rtol=0, atol=3e-4)
    body = family.answer(plan, alone)
    assert_same_answers(body["answers"], case["answers"])
    assert body["usage"]["input_tokens"] == case["usage"]["input_tokens"]


def test_the_config_names_its_bases_and_checks_its_form() -> None:
    config = KevConfig.read(KEV)
    assert (config.weights, config.rank, config.bases[0]) == ("lora", 4, config.base)
    with pytest.raises(ConfigError, match="head\\.pt says weights='full' but the directory holds neither"):
        KevConfig.read(DATA / "head" / "full")


def test_a_head_of_another_width_is_refused(model: boostr.LanguageModel, tmp_path: object) -> None:
    from unittest.mock import patch

    with patch.object(KevConfig, "_check_form"), pytest.raises(ConfigError, match="reads hidden states of 24"):
        Kev.open(model, DATA / "head" / "tiny")
