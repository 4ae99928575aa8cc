"""The joint head on given hidden states, and the whole of a tiny model, against the release in float32."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import boostr
from boostr.decision.clef import Clef, ClefLimits
from boostr.decision.clef.answers import answer
from boostr.decision.family import Hidden
from boostr.decision.heads import joint_schema
from boostr.decision.heads.joint_schema import JointSchemaHead, Question
from boostr.decision.readout import probabilities
from boostr.decision.run import run_plan
from boostr.errors import ConfigError, NumericalError, WeightsError
from boostr.formats.safetensors import SafeTensorsFile
from numr import Tensor

from ..alike import assert_same_answers
from .goldens import DATA, golden

HEAD, E2E = DATA / "head", DATA / "e2e"
CASES = [(case, variant) for case in golden("head/expected") for variant in case["variants"]]


@pytest.fixture(scope="module")
def inputs() -> dict[str, Hidden]:
    file = SafeTensorsFile(HEAD / "inputs.safetensors")
    return {name: np.array(np.asarray(file.tensor(name))) for name in file.names()}


@pytest.mark.parametrize(("case", "variant"), CASES, ids=[f"{case['id']}-{name}" for case, name in CASES])
def test_logits_of_given_hidden_states(inputs: dict[str, Hidden], case: dict, variant: str) -> None:
    head = JointSchemaHead.load(HEAD, Tensor(inputs["lm_head.weight"].astype(np.float32)))
    expected = case["variants"][variant]
    for name, value in expected["scalar_overrides"].items():
        head._w[name] = np.float32(value)  # type: ignore[assignment]
    questions = [Question(each["type"], each["question_span"], each["option_spans"]) for each in case["questions"]]
    hidden = inputs[f"{case['id']}.hidden"].astype(np.float32)
    found = head(hidden, inputs[f"{case['id']}.input_ids"].reshape(-1).tolist(), questions)
    tolerance = 3e-5 if "clamped" in variant else 5e-6
    for logits, z, (name, p) in zip(found, expected["logits"], expected["probabilities_f32"].items(), strict=True):
        np.testing.assert_allclose(logits, z, rtol=0, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(probabilities(logits, 1.0, "q"), p, rtol=0, atol=5e-6)


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(E2E, precise=True)
    yield model
    model.close()


REQUESTS = {request["id"]: request for request in golden("requests")}


@pytest.mark.parametrize("case", golden("e2e/responses"), ids=lambda case: case["id"])
def test_a_tiny_model_end_to_end(model: boostr.LanguageModel, case: dict) -> None:
    options = case["opts"]
    family = Clef.open(
        model, E2E, limits=ClefLimits(options.get("max_length", 16_384), options.get("max_state_tokens"))
    )
    plan = family.plan(json.loads(REQUESTS[case["id"]]["request_json"]))
    case = case.get("plain", case)  # request text that looks like control tokens stays text
    hidden = run_plan(model, plan)
    questions = [
        Question(("noul", "choice", "score").index(field.kind), place.question, place.options)
        for field, place in zip(plan.request.fields, plan.request.record.places, strict=True)
    ]
    found = family._head(hidden[0], plan.rows[0].ids, questions)
    for logits, z, p in zip(found, case["logits"], case["probabilities_f32"], strict=True):
        np.testing.assert_allclose(logits, z, rtol=0, atol=5e-5)
        np.testing.assert_allclose(probabilities(logits, 1.0, "q"), p, rtol=0, atol=5e-6)
    # From the release's probabilities the text is the same to the digit; from ours, but for a step on a rounding edge.
    fields = plan.request.fields
    exact = {field.name: answer(field, p) for field, p in zip(fields, case["probabilities_f32"], strict=True)}
    assert json.dumps(exact) == json.dumps(case["response"]["answers"])
    assert_same_answers(family.answer(plan, hidden), case["response"])


def test_attention_in_blocks_of_queries(inputs: dict[str, Hidden], monkeypatch: pytest.MonkeyPatch) -> None:
    head = JointSchemaHead.load(HEAD, Tensor(inputs["lm_head.weight"].astype(np.float32)))
    case = next(case for case, _ in CASES if case["id"] == "mixed_three")
    questions = [Question(each["type"], each["question_span"], each["option_spans"]) for each in case["questions"]]
    given = inputs["mixed_three.hidden"].astype(np.float32), inputs["mixed_three.input_ids"].reshape(-1).tolist()
    whole = np.concatenate(head(*given, questions))
    most = 2 * len(given[0])  # scores of two options at a time
    monkeypatch.setattr(joint_schema, "_BLOCK", most)
    held: list[int] = []
    softmax = joint_schema._softmax
    monkeypatch.setattr(joint_schema, "_softmax", lambda x: held.append(x.size) or softmax(x))
    np.testing.assert_allclose(np.concatenate(head(*given, questions)), whole, rtol=0, atol=5e-6)
    assert max(held) == most


def test_broken_numbers_are_an_error_and_no_answer(model: boostr.LanguageModel) -> None:
    family = Clef.open(model, E2E)
    plan = family.plan({"model": "m", "state": "s", "questions": {"q": {"type": "noul"}}})
    broken = np.full((len(plan.rows[0].ids), model.network.hidden_size), np.nan, np.float32)
    with pytest.raises(NumericalError, match="'q'"):
        family.answer(plan, [broken])


def test_vision_tensors_are_named_in_the_report(model: boostr.LanguageModel) -> None:
    assert any("visual" in name for name in model.report.skipped)


@pytest.mark.parametrize("change", ["missing", "unknown", "misshapen"])
def test_a_head_that_does_not_fit_is_refused(tmp_path: Path, change: str) -> None:
    shutil.copy(HEAD / "joint_head_config.json", tmp_path)
    tensors = {
        name: np.asarray(value, np.float32) for name, value in load_file(HEAD / "joint_head.safetensors").items()
    }
    if change == "missing":
        del tensors["field_norm.bias"]
    elif change == "unknown":
        tensors["extra.weight"] = np.zeros(2, np.float32)
    else:
        tensors["field_norm.bias"] = np.zeros(3, np.float32)
    save_file(tensors, tmp_path / "joint_head.safetensors")
    with pytest.raises(WeightsError, match=r"field_norm\.bias|extra\.weight"):
        JointSchemaHead.load(tmp_path, None)


@pytest.mark.parametrize("change", [{"more": 1}, {"heads": 3}, {"width": "32"}, {"layers": True}, {"layers": 1 << 20}])
def test_a_configuration_that_does_not_hold_is_refused(tmp_path: Path, change: dict) -> None:
    config = json.loads((HEAD / "joint_head_config.json").read_text()) | change
    (tmp_path / "joint_head_config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match=r"joint_head_config\.json"):
        JointSchemaHead.load(tmp_path, None)


def test_no_temperature_can_be_fitted(model: boostr.LanguageModel) -> None:
    with pytest.raises(ConfigError, match="no temperature"):
        Clef.open(model, E2E, fitted={"noul": 1.0})
