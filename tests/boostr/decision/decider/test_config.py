"""The sidecar: every way to write its temperatures and layout, and what is refused in which words."""

from pathlib import Path

import pytest

from boostr.decision.decider import Decider, DeciderConfig
from boostr.errors import ConfigError, FormatError

from .goldens import golden

CASES = golden("config_resolution")


@pytest.mark.parametrize("case", CASES["temperatures"])
def test_temperatures(case: dict) -> None:
    explicit = case["override"].get("temperature")
    if "error" in case:
        with pytest.raises(ConfigError) as refused:
            DeciderConfig.of(case["config"], explicit)
        assert str(refused.value) == case["error"]
        return
    found = DeciderConfig.of(case["config"], explicit).temperatures
    general, others = case["result"][0]
    rule = others.pop("by_options", None)
    assert (found.general, dict(found.by_type)) == (general, others)
    assert found.by_options == (None if rule is None else tuple(rule))


@pytest.mark.parametrize("case", CASES["T_of_options"])
def test_a_temperature_follows_the_number_of_options(case: dict) -> None:
    rule = {"a": case["a"], "b": case["b"], "min": case["min"]}
    found = DeciderConfig.of({"temperature_by_options": rule}).temperatures
    assert found.of("choice", case["n"]) == pytest.approx(case["T"], rel=1e-15)


@pytest.mark.parametrize("case", CASES["layouts"])
def test_layouts(case: dict) -> None:
    if "error" not in case:
        assert DeciderConfig.of(case["config"]).layout == case["layout"]
        return
    with pytest.raises(ConfigError, match="layout"):
        DeciderConfig.of(case["config"])


def test_a_fitted_type_comes_before_every_rule() -> None:
    from dataclasses import replace

    rule = DeciderConfig.of({"temperature_by_options": {"a": 2, "b": 0}}).temperatures
    fitted = replace(rule, fitted={"noul": 0.5})
    assert (fitted.of("noul", 2), fitted.of("choice", 2)) == (0.5, 2.0)
    assert fitted.sources() == {
        "choice": "decider_config.json",
        "noul": "blazr_calibration.json",
        "score": "decider_config.json",
    }


def test_without_a_sidecar_there_are_defaults(tmp_path: Path) -> None:
    assert DeciderConfig.read(tmp_path) == DeciderConfig()


def test_a_damaged_sidecar_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "decider_config.json").write_text("{")
    with pytest.raises(FormatError, match=r"decider_config\.json"):
        DeciderConfig.read(tmp_path)


@pytest.mark.parametrize(
    ("header", "ours"),
    [
        ({"general.basename": "Decider"}, True),
        ({"general.name": "Decider 4b v2.1"}, True),
        ({"general.tags": ["decision-model", "one-pass", "system-one"]}, True),
        ({"general.tags": ["one-pass"]}, False),
        ({"general.name": "pplx-decider 2b"}, False),
        ({"qwen35.decision.type": "decider"}, True),
        ({"general.basename": "decider", "qwen35.decision.type": "pplx-decider"}, False),
    ],
)
def test_a_header_names_the_family(header: dict, ours: bool, tmp_path: Path) -> None:
    assert Decider.recognise(tmp_path, {"general.architecture": "qwen35", **header}) == ours
    (tmp_path / "decider_config.json").write_text("{}")
    assert Decider.recognise(tmp_path, {"general.architecture": "qwen35", **header})
