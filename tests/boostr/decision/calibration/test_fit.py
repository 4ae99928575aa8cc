"""Records, fits and reliability, against decider-ai's own fitter and, for listed hard labels, Jebadiah's."""

import json
from pathlib import Path

import numpy as np
import pytest

from boostr.decision.calibration import (
    Record,
    fit_by_type,
    fit_temperature_mixed,
    mean_nll,
    read_record,
    reliability,
    reliability_by_type,
)
from boostr.errors import ParameterError

DATA = Path(__file__).parents[3] / "data" / "decision"
EXPECTED = json.loads((DATA / "calibration" / "expected.json").read_text("utf-8"))
JEBADIAH = json.loads((DATA / "jebadiah" / "calibration.json").read_text("utf-8"))["fits"]
SETS = sorted(EXPECTED["sets"])


def records(name: str) -> list[Record]:
    lines = (DATA / "calibration" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [read_record(number, json.loads(line)) for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize("name", SETS)
def test_temperatures_of_the_vendors_fitter(name: str) -> None:
    all_records, expected = records(name), EXPECTED["sets"][name]
    assert fit_temperature_mixed(all_records) == pytest.approx(expected["pooled_unrounded"], rel=1e-6)
    for kind, temperature in expected["unrounded"].items():
        group = [one for one in all_records if one.kind == kind]
        assert fit_temperature_mixed(group) == pytest.approx(temperature, rel=1e-6)
    for temperature, nll in expected["mean_nll"].items():
        assert mean_nll(all_records, float(temperature)) == pytest.approx(nll, rel=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("min_rows", [50, 1])
def test_fits_by_type(name: str, min_rows: int) -> None:
    found, expected = fit_by_type(records(name), min_rows), EXPECTED["sets"][name][f"min_rows_{min_rows}"]
    assert found.by_type == pytest.approx(expected["temperature_by_type"], abs=1e-3)
    assert found.pooled == pytest.approx(expected["temperature"], abs=1e-3)
    assert found.rows == expected["rows"]
    for kind, (before, after) in found.nll.items():
        assert before == pytest.approx(expected["nll"][kind]["T=1"], abs=5e-5)
        assert after == pytest.approx(expected["nll"][kind]["fitted"], abs=5e-5)


@pytest.mark.parametrize("case", EXPECTED["record_errors"], ids=lambda case: case.get("error", "ok")[:50])
def test_what_is_no_record(case: dict) -> None:
    if case.get("ok"):
        read_record(3, case["record"])
        return
    with pytest.raises(ParameterError) as refused:
        read_record(3, case["record"])
    assert str(refused.value) == case["error"]


@pytest.mark.parametrize("kind", sorted(JEBADIAH))
def test_hard_labels_as_jebadiah_fits_them(kind: str) -> None:
    rows = [Record(kind, np.array(row["logits"]), row["gold"]) for row in JEBADIAH[kind]["rows"]]
    assert fit_temperature_mixed(rows) == pytest.approx(JEBADIAH[kind]["hard"]["T"], rel=3e-3)


def test_the_vendors_fit_of_what_it_collected() -> None:
    collected = EXPECTED["collect_on_tiny_model"]
    found = fit_by_type([read_record(n, one) for n, one in enumerate(collected["records"])], min_rows=1)
    assert found.by_type == pytest.approx(collected["fit"]["temperature_by_type"], abs=1e-3)


def test_reliability() -> None:
    sure = [Record("noul", np.log([[0.1, 0.9]])[0], gold) for gold in (1, 1, 1, 0)]
    found = reliability(sure, 1.0)
    assert found.accuracy == 0.75
    assert found.ece == pytest.approx(0.15)
    assert found.bins == ((pytest.approx(0.9), 0.75, 4),)
    assert found.nll == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4)


def test_nothing_cannot_be_fitted() -> None:
    with pytest.raises(ParameterError, match="no records"):
        fit_temperature_mixed([])


def test_reliability_by_type() -> None:
    sure = np.log([0.2, 0.8])
    mixed = [Record("noul", sure, 1), Record("choice", sure, 0), Record("choice", sure, 1)]
    found = reliability_by_type(mixed, {"choice": 0.5})
    assert list(found) == ["choice", "noul"]
    assert found["choice"] == reliability(mixed[1:], 0.5)
    assert found["noul"] == reliability(mixed[:1], 1.0)
    with pytest.raises(ParameterError, match="no records"):
        reliability([], 1.0)


def test_records_of_many_shapes_weigh_the_same() -> None:
    rng = np.random.default_rng(1)
    some = [Record("choice", rng.normal(size=n), int(rng.integers(n))) for n in (2, 3, 255, 3, 2, 40)]
    each = [mean_nll([one], 1.7) for one in some]
    assert mean_nll(some, 1.7) == pytest.approx(float(np.mean(each)), rel=1e-12)
