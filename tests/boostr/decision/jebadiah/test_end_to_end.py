"""The tiny model through the real network, bare and under an adapter release, against the vendor's readout."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import boostr
from boostr.decision.calibration import collect, read_labelled
from boostr.decision.heads.label_tokens import LabelTokenHead
from boostr.decision.jebadiah import Jebadiah, JebadiahLimits
from boostr.decision.model import DecisionModel
from boostr.decision.prefix_cache import PrefixCache
from boostr.decision.run import run_plan
from boostr.peft import PeftAdapter

from ..alike import SIXTH_DIGIT, assert_same_answers
from .goldens import DATA, TINY, golden

GOLDEN = golden("tiny_e2e")
SCORE = {"type": "score", "instructions": "How calm?", "criteria": ["calm", "angry"]}
CASES = [(kind, at) for kind in ("base", "with_adapter") for at in range(len(GOLDEN[kind]))]


@pytest.fixture(scope="module")
def base() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(TINY, precise=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jebadiah")
    for file in (DATA / "tiny_sidecars").iterdir():
        shutil.copy(file, folder)
    return folder


@pytest.mark.parametrize(("kind", "at"), CASES)
def test_logits_and_answers(base: boostr.LanguageModel, release: Path, kind: str, at: int) -> None:
    model = base if kind == "base" else base.derive_with_adapter(PeftAdapter.load(DATA / "tiny_adapter"))
    family, case = Jebadiah.open(model, release), GOLDEN[kind][at]
    plan = family.plan(case["request"])
    hidden = run_plan(model, plan)
    for row, states, (name, expected) in zip(plan.rows, hidden, case["questions"].items(), strict=True):
        assert list(row.ids) == expected["ids"]
        logits = LabelTokenHead(model.network.lm_head.weight, expected["cand_ids"])(states)[0]
        np.testing.assert_allclose(logits, expected["logits"], rtol=0, atol=3e-4, err_msg=name)
    body = family.answer(plan, hidden)
    for name, expected in case["questions"].items():
        assert_same_answers(body["answers"][name], expected["server_answer"], 1e-4)
    assert body["usage"] == case["server_usage"]


def test_open_recognises_the_release(base: boostr.LanguageModel, release: Path, tmp_path: Path) -> None:
    assert Jebadiah.recognise(release, {})
    assert not Jebadiah.recognise(tmp_path, {})
    header = {"general.architecture": "qwen35", "general.basename": "jebadiah"}
    assert Jebadiah.recognise(tmp_path, header)
    assert not Jebadiah.recognise(tmp_path, {**header, "qwen35.decision.type": "kev"})
    told = Jebadiah.open(base, release, fitted={"noul": 2.0}).describe()
    assert told["temperatures"] == {"choice": 1.1863, "noul": 2.0, "score": 0.8329}
    assert told["temperature_sources"]["noul"] == "blazr_calibration.json"


def test_readings_are_the_logits_before_any_temperature(base: boostr.LanguageModel, release: Path) -> None:
    family, case = Jebadiah.open(base, release, fitted={"noul": 9.0}), GOLDEN["base"][0]
    plan = family.plan(case["request"])
    found = family.readings(plan, run_plan(base, plan))
    assert list(found) == list(case["questions"])
    for name, expected in case["questions"].items():
        kind = case["request"]["questions"][name]["type"]
        logits = expected["logits"][::-1] if kind == "noul" else expected["logits"]
        assert found[name].kind == kind
        np.testing.assert_allclose(found[name].logits, logits, rtol=0, atol=3e-4)
        if kind == "noul":
            assert list(found[name].names) == ["false", "true"]
        else:
            answer = expected["server_answer"]
            names = answer["probabilities"] if kind == "choice" else answer["legend"].values()
            assert list(found[name].names) == list(names)


def test_records_are_collected_to_fit_on(base: boostr.LanguageModel, release: Path) -> None:
    model = DecisionModel(base, Jebadiah.open(base, release))
    questions = {
        "team": {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": "the second"}},
        "late": {"type": "noul", "instructions": "Is it late?"},
        "risk": {"type": "score", "instructions": "How much?", "criteria": ["none", "some", "all"]},
    }
    labels = {"team": "b", "late": True, "risk": 2}
    records = list(collect(model, [read_labelled(1, {"state": "s", "questions": questions, "labels": labels})]))
    assert [(one.kind, one.gold, len(one.logits)) for one in records] == [
        ("choice", 1, 2),
        ("noul", 1, 2),
        ("score", 2, 3),
    ]
    raw = model.answer({"state": "s", "questions": questions, "calibration": "raw"})["answers"]
    assert np.exp(records[1].log_probabilities(1.0))[1] == pytest.approx(raw["late"]["noul"], abs=1e-6)


@pytest.mark.parametrize("kind", ["base", "with_adapter"])
def test_kept_states_answer_as_the_first_send(base: boostr.LanguageModel, release: Path, kind: str) -> None:
    """Each request twice, then its state with other questions twice: a hit is the first send to one rounding unit."""
    network = base if kind == "base" else base.derive_with_adapter(PeftAdapter.load(DATA / "tiny_adapter"))
    family = Jebadiah.open(network, release)
    kept = DecisionModel(network, family, PrefixCache(64 << 20, min_tokens=8))
    others = {"late": {"type": "noul", "instructions": "Is it late?"}, "calm": SCORE}
    for case in GOLDEN[kind]:
        kept.prefixes.clear()
        state, questions = case["request"].get("state"), case["request"]["questions"]
        first = kept.decide(state, questions)
        for name, expected in case["questions"].items():
            assert_same_answers(first["answers"][name], expected["server_answer"], 1e-4)
        assert first["usage"]["cached_tokens"] == 0
        again = kept.decide(state, questions)
        assert_same_answers(again["answers"], first["answers"], 1.01e-6)
        assert again["usage"]["cached_tokens"] == family.plan(case["request"]).prefix
        alone = DecisionModel(network, family).decide(state, others)
        for _ in range(2):
            hit = kept.decide(state, others)
            assert_same_answers(hit["answers"], alone["answers"], 1.01e-6)
            assert hit["usage"]["cached_tokens"] == again["usage"]["cached_tokens"]  # whatever is asked


def test_more_options_than_labels_in_a_row_where_they_are_asked_for(base: boostr.LanguageModel, release: Path) -> None:
    model = DecisionModel(base, Jebadiah.open(base, release, limits=JebadiahLimits(options=255)))
    criteria = {f"option {n}": None for n in range(100)}
    few = {"type": "noul", "instructions": "Is it late?"}
    asked = {"many": {"type": "choice", "instructions": "Which?", "criteria": criteria}, "few": few}
    found = model.decide("s", asked)["answers"]
    assert list(found["many"]["probabilities"]) == list(criteria)
    assert sum(found["many"]["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    usual = DecisionModel(base, Jebadiah.open(base, release)).decide("s", {"few": few})["answers"]
    assert_same_answers(found["few"], usual["few"], SIXTH_DIGIT)
