"""A base with its adapter and head through the real network, against Kev's own code on the same files."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import boostr
from boostr import decision
from boostr.decision.kev import Kev
from boostr.decision.readout import probabilities
from boostr.decision.run import read_prefix, run_plan
from boostr.errors import ConfigError
from boostr.formats.torch_pickle import load_torch_file
from boostr.peft import PeftAdapter
from tests.boostr.formats.raw_torch import save_torch

from ..alike import assert_same_answers
from .goldens import DATA, golden, head_alone

CASES = golden("e2e/requests")
BASE = DATA / "e2e" / "base"
KEV = DATA / "e2e" / "kev-tiny"
P_TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    base = boostr.load(BASE, precise=True)
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
    assert_near(family, alone, case)
    assert_near(family, kept, case)
    for found, again, expected, logits in zip(alone, kept, picks, case["logits"], strict=True):
        np.testing.assert_allclose(found, np.concatenate([expected[1:], expected[:1]]), rtol=0, atol=2e-4)
        np.testing.assert_allclose(again, found, rtol=0, atol=1e-4)
        z = family.config.head(found[-1], found[:-1])
        np.testing.assert_allclose(z / family.config.temperature, logits, rtol=0, atol=3e-4)
    body = family.answer(plan, alone)
    assert_same_answers(body["answers"], case["answers"])
    assert body["usage"]["input_tokens"] == case["usage"]["input_tokens"]


def assert_near(family: Kev, hidden: list[Any], case: dict) -> None:
    """Probabilities are the vendor's, whose adapter is merged, in the pass of whole rows and after a shared state."""
    for states, *expected in zip(hidden, case["p_forward"], case["p_served"], strict=True):
        p = probabilities(family.config.head(states[-1], states[:-1]), family.config.temperature, "q")
        for each in expected:
            np.testing.assert_allclose(p, each, rtol=0, atol=P_TOLERANCE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same Kev as whole weights: merged in float32, saved from the text model alone, on a base that is not tied."""
    directory = tmp_path_factory.mktemp("kev-whole")
    base, lora = (load_file(path) for path in (BASE / "model.safetensors", KEV / "adapter_model.safetensors"))
    merged = {name.removeprefix("model."): tensor.astype(np.float32) for name, tensor in base.items()}
    for name, a in lora.items():
        if name.endswith(".lora_A.weight"):
            b = lora[name.replace("lora_A", "lora_B")]
            path = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
            merged[f"{path}.weight"] += 2.0 * (b @ a)  # alpha / r = 8 / 4
    save_file(merged, directory / "model.safetensors")
    config = json.loads((BASE / "config.json").read_text())
    config |= {"architectures": ["Qwen3_5TextModel"], "tie_word_embeddings": False}
    (directory / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(BASE / name, directory)
    head = load_torch_file(KEV / "head.pt")
    values = {"base": head["base"], "base_revision": None, "lora": 0, "head_dim": 16, "weights": "full"}
    save_torch(directory / "head.pt", values | {"temperature": head["temperature"]}, head["head"])
    return directory


def test_whole_weights(whole: Path) -> None:
    model = decision.load(whole)
    assert model.model.adapter is None
    assert isinstance(model.family, Kev)
    assert (model.family.config.weights, model.family.describe()["rank"]) == ("full", None)
    for case in CASES:
        plan = model.family.plan(json.loads(case["body"]))
        hidden = run_plan(model.model, plan)
        assert_near(model.family, hidden, case)
        assert_same_answers(model.family.answer(plan, hidden)["answers"], case["answers"])
    model.close()


def test_a_head_of_another_width_is_refused(model: boostr.LanguageModel, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reads hidden states of 24"):
        Kev.open(model, head_alone("tiny", tmp_path))
