"""Fitting temperatures: one number per answer type that makes probabilities say how often an answer is right."""

from boostr.decision.calibration.fit import Fit, fit_by_type, fit_temperature_mixed, mean_nll
from boostr.decision.calibration.records import Record, read_record
from boostr.decision.calibration.reliability import Reliability, reliability

__all__ = [
    "Fit",
    "Record",
    "Reliability",
    "fit_by_type",
    "fit_temperature_mixed",
    "mean_nll",
    "read_record",
    "reliability",
]
