"""One call from a directory to answers, for every family: recognised by sidecar, header or word; bases found."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from boostr import decision
from boostr.decision.load import find_base, recognise
from boostr.errors import ConfigError, ModelNotFoundError, ParameterError, QuestionError
from boostr.formats.gguf import write_gguf

DATA = Path(__file__).parents[2] / "data" / "decision"
QUESTIONS = {
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "charges", "tech": None}},
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "mood": {"type": "score", "instructions": "How calm?", "criteria": ["calm", "angry"]},
}


@pytest.fixture
def jebadiah(tmp_path: Path) -> Path:
    """The tiny model as a merged release."""
    folder = tmp_path / "jebadiah-tiny"
    shutil.copytree(DATA / "decider" / "tiny_model", folder)
    (folder / "decider_config.json").unlink()
    shutil.copy(DATA / "jebadiah" / "tiny_sidecars" / "temperatures.json", folder)
    return folder


@pytest.fixture
def kev(tmp_path: Path) -> Path:
    """An adapter release beside its base, which it names as a hub id."""
    folder = tmp_path / "kev-tiny"
    shutil.copytree(DATA / "kev" / "e2e" / "kev-tiny", folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": "vendor/the-base"}))
    return folder


def test_decider() -> None:
    model = decision.load(DATA / "decider" / "tiny_model")
    found = model.decide("I was charged twice", QUESTIONS)
    assert list(found) == ["answers", "usage"]
    assert list(found["answers"]) == list(QUESTIONS)
    assert found["answers"]["mood"]["legend"] == {"0": "calm", "1": "angry"}
    assert "decider on" in repr(model)
    model.close()


def test_jebadiah(jebadiah: Path) -> None:
    model = decision.load(jebadiah)
    body = model.answer({"state": {"a": 1}, "questions": QUESTIONS})
    assert body["latency_ms"] > 0
    assert body["calibration"]["applied"]
    model.close()


def test_jebadiah_as_an_adapter(tmp_path: Path) -> None:
    shutil.copytree(DATA / "decider" / "tiny_model", tmp_path / "base")
    shutil.copytree(DATA / "jebadiah" / "tiny_adapter", tmp_path / "adapter")
    shutil.copy(DATA / "jebadiah" / "tiny_sidecars" / "temperatures.json", tmp_path / "adapter")
    model = decision.load(tmp_path / "adapter", base=tmp_path / "base")
    assert model.model.adapter is not None
    assert model.decide("s", QUESTIONS)["usage"]["output_tokens"] == 3
    model.close()


def test_kev_finds_its_base_beside_it(kev: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="pull it, or give base"):
        decision.load(kev)
    shutil.copytree(DATA / "kev" / "e2e" / "base", tmp_path / "the-base")
    model = decision.load(kev)
    assert model.family.name == "kev"
    assert model.decide("s", QUESTIONS)["answers"]["urgent"]["type"] == "noul"
    model.close()


def test_clef() -> None:
    model = decision.load(DATA / "clef" / "e2e")
    found = model.decide({"text": "x"}, QUESTIONS)
    assert found["answers"]["team"]["choice"] in ("billing", "tech")
    model.close()


def test_a_family_that_is_said_is_not_looked_for(jebadiah: Path) -> None:
    assert decision.load(jebadiah, family="decider").family.name == "decider"
    with pytest.raises(ParameterError, match="known are decider, jebadiah, kev, clef"):
        decision.load(jebadiah, family="oracle")


def test_what_cannot_be_told_is_refused(jebadiah: Path, tmp_path: Path) -> None:
    (jebadiah / "temperatures.json").unlink()
    with pytest.raises(ConfigError, match="no decision model that can be told"):
        recognise(jebadiah)
    for name in ("decider/tiny_model/decider_config.json", "jebadiah/tiny_sidecars/temperatures.json"):
        shutil.copy(DATA / name, jebadiah)
    with pytest.raises(ConfigError, match="decider and jebadiah"):
        recognise(jebadiah)


def test_a_lone_surrogate_is_refused() -> None:
    model = decision.load(DATA / "decider" / "tiny_model")
    for state in ("\ud800", {"a": ["\udc00"]}, {"\ud800": 1}):
        with pytest.raises(QuestionError, match="lone surrogate"):
            model.decide(state, QUESTIONS)
    model.close()


def test_a_given_base_is_not_searched(tmp_path: Path) -> None:
    assert find_base(tmp_path, (), DATA / "kev" / "e2e" / "base") == DATA / "kev" / "e2e" / "base"


def test_a_sidecar_is_judged_before_weights_are_read(tmp_path: Path) -> None:
    shutil.copytree(DATA / "decider" / "tiny_model", tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "model" / "decider_config.json").write_text('{"temperature": 0}')
    with pytest.raises(ConfigError, match=r"decider_config.json \"temperature\" must be a finite number > 0, got 0"):
        decision.load(tmp_path / "model")


@pytest.mark.parametrize("tags", [5, [1, 2], [["one-pass"]]], ids=["number", "numbers", "lists"])
def test_tags_that_are_no_texts_name_no_family(tags: object, tmp_path: Path) -> None:
    metadata = {"general.architecture": "qwen35", "general.tags": tags}
    write_gguf(tmp_path / "m.gguf", metadata, {"a": np.zeros((32, 32), np.float32)})
    with pytest.raises(ConfigError, match="no decision model that can be told"):
        recognise(tmp_path / "m.gguf")


def test_tags_of_a_header_name_a_family(tmp_path: Path) -> None:
    metadata = {"general.architecture": "qwen35", "general.tags": ["one-pass", "system-one"]}
    write_gguf(tmp_path / "m.gguf", metadata, {"a": np.zeros((32, 32), np.float32)})
    assert recognise(tmp_path / "m.gguf").name == "decider"
