"""The files beside the weights: temperatures, the prompt's contract, and what a release says of itself by them."""

import hashlib
import json
import logging
import shutil
from pathlib import Path

import pytest

from boostr.decision.jebadiah import Jebadiah, JebadiahConfig, JebadiahLimits, describe
from boostr.decision.jebadiah.config import parse_temperatures
from boostr.errors import ConfigError, FormatError

from .goldens import DATA, golden

CONTRACT = json.loads((DATA / "tiny_sidecars" / "prompt_contract.json").read_text("utf-8"))
TEMPLATE = "a template"
OURS = CONTRACT | {"chat_template_sha256": hashlib.sha256(TEMPLATE.encode()).hexdigest()}

PROMPT_FAULT = "prompt_source_sha256 differs from the bundled renderer"
TEMPLATE_FAULT = "chat_template_sha256 differs from the tokenizer's template"
LABELS_FAULT = "single_token_labels differs from this tokenizer"
VARIABLES_FAULT = "chat_template_kwargs differ (thinking must be off)"


@pytest.mark.parametrize("case", golden("temperatures_parse"))
def test_temperatures(case: dict) -> None:
    assert parse_temperatures(case["text"]) == (case["server"] or {})


@pytest.mark.parametrize("content", [b"\xff", b"", b"[" * 100_000, b'{"temperatures": {"choice": [1], "noul": null}}'])
def test_unreadable_temperatures_are_none(tmp_path: Path, content: bytes) -> None:
    assert JebadiahConfig.read(tmp_path).temperatures == {}
    (tmp_path / "temperatures.json").write_bytes(content)
    assert JebadiahConfig.read(tmp_path).temperatures == {}
    assert not Jebadiah.recognise(tmp_path, {})


def contract(tmp_path: Path, values: dict) -> JebadiahConfig:
    (tmp_path / "prompt_contract.json").write_text(json.dumps(values))
    return JebadiahConfig.read(tmp_path)


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"prompt_source_sha256": "0"}, PROMPT_FAULT),
        ({"prompt_source_sha256": None}, PROMPT_FAULT),
        ({"chat_template_sha256": "0"}, TEMPLATE_FAULT),
        ({"single_token_labels": 67}, LABELS_FAULT),
        ({"chat_template_kwargs": {}}, VARIABLES_FAULT),
        (
            {"chat_template_kwargs": {"enable_thinking": True}, "chat_template_sha256": "0"},
            f"{TEMPLATE_FAULT}; {VARIABLES_FAULT}",
        ),
    ],
)
def test_another_contract_is_refused_unless_it_may_differ(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict, faults: str
) -> None:
    config = contract(tmp_path, OURS | changes)
    with pytest.raises(ConfigError) as refused:
        config.check_contract(TEMPLATE, 68)
    assert f"prompt contract: {faults}. " in str(refused.value)
    with caplog.at_level(logging.WARNING, "boostr"):
        config.check_contract(TEMPLATE, 68, strict=False)
    assert caplog.messages == [f"prompt_contract.json: prompt contract: {faults}"]


def test_a_kept_contract_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    contract(tmp_path, OURS).check_contract(TEMPLATE, 68)
    hashes = {key: OURS[key] for key in ("prompt_source_sha256", "chat_template_sha256")}
    contract(tmp_path, hashes).check_contract(TEMPLATE, 12)
    assert not caplog.messages


@pytest.mark.parametrize("key", ["prompt_source_sha256", "chat_template_sha256"])
def test_a_contract_names_both_hashes(tmp_path: Path, key: str) -> None:
    config = contract(tmp_path, {name: value for name, value in OURS.items() if name != key})
    with pytest.raises(ConfigError, match=f"{key} differs"):
        config.check_contract(TEMPLATE, 68)


def test_a_missing_contract_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "boostr"):
        JebadiahConfig.read(tmp_path).check_contract(TEMPLATE, 68)
    assert caplog.messages == ["prompt contract: no prompt_contract.json in the model directory"]


def test_a_damaged_contract_is_recognised_and_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt_contract.json").write_text('{"prompt_source_sha256": ')
    assert Jebadiah.recognise(tmp_path, {})
    with pytest.raises(FormatError, match=r"prompt_contract\.json"):
        JebadiahConfig.read(tmp_path)


HEADER = {"general.architecture": "qwen35"}


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ({"general.basename": "jebadiah"}, True),
        ({"general.name": "Jebadiah 9b v2"}, True),
        ({"general.name": "jebadiah-4b"}, True),
        ({"general.tags": ["ainode", "x", "typed-decisions"]}, True),
        ({"qwen35.decision.type": "jebadiah"}, True),
        ({"general.basename": "jebadiah", "qwen35.decision.type": "kev"}, False),
        ({"general.tags": ["ainode"]}, False),
        ({"general.tags": 5}, False),
        ({"general.tags": [["ainode"]]}, False),
        ({"general.name": "Qwen3.5 9B"}, False),
        ({}, False),
    ],
)
def test_headers_that_name_the_family(tmp_path: Path, header: dict, known: bool) -> None:
    assert Jebadiah.recognise(tmp_path, HEADER | header) is known


def test_a_release_describes_itself_without_weights() -> None:
    told = describe(JebadiahConfig.read(DATA / "tiny_sidecars"), JebadiahLimits())
    assert told["temperatures"] == {"choice": 1.1863, "noul": 1.0903, "score": 0.8329}
    assert told["temperature_sources"] == dict.fromkeys(("choice", "noul", "score"), "temperatures.json")
    limits = {"prompt_tokens": 8192, "rows": 1024, "request_tokens": 1_048_576, "options": 68, "levels": 10}
    assert told["limits"] == limits
    assert describe(JebadiahConfig(), JebadiahLimits(options=20))["limits"]["options"] == 20
    assert describe(JebadiahConfig(contract={"single_token_labels": 30}), JebadiahLimits())["limits"]["options"] == 30


def test_an_adapter_release_names_its_base(tmp_path: Path) -> None:
    shutil.copy(DATA / "tiny_adapter" / "adapter_config.json", tmp_path)
    told = describe(JebadiahConfig.read(tmp_path), JebadiahLimits())
    assert (told["base"], told["rank"]) == ("tiny_model", 4)
    told = describe(JebadiahConfig(), JebadiahLimits())
    assert (told["base"], told["rank"]) == (None, None)
