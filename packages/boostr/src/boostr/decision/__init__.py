"""Decision models: typed questions (choice, noul, score) about a state, answered with probabilities from one pass.

A family renders a request to rows of tokens and reads answers out of hidden states, as its vendor does. Knows no HTTP:
the body of a request comes in as parsed JSON, the body of the answer goes out the same way.
"""

from boostr.decision.family import Family, Plan, Row
from boostr.decision.load import load
from boostr.decision.model import DecisionModel

__all__ = ["DecisionModel", "Family", "Plan", "Row", "load"]
