"""Fitting temperatures: one number per answer type that makes probabilities say how often an answer is right."""

from boostr.decision.calibration.collect import Labelled, collect, read_labelled
from boostr.decision.calibration.fit import Fit, fit_by_type, fit_temperature_mixed, mean_nll
from boostr.decision.calibration.records import Record, read_record
from boostr.decision.calibration.reliability import Reliability, reliability, reliability_by_type

__all__ = [
    "Fit",
    "Labelled",
    "Record",
    "Reliability",
    "collect",
    "fit_by_type",
    "fit_temperature_mixed",
    "mean_nll",
    "read_labelled",
    "read_record",
    "reliability",
    "reliability_by_type",
]
