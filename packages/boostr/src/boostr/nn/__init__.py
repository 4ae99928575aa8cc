"""The parts networks are composed of, bound to their weights when built. They know no architecture and no files."""

from boostr.nn.attention import Attention
from boostr.nn.embedding import Embedding
from boostr.nn.gated_delta import GatedDeltaNet
from boostr.nn.linear import Linear, LinearGroup
from boostr.nn.low_rank import LowRank, SpanAdapter
from boostr.nn.mlp import ACTIVATIONS, GatedMLP
from boostr.nn.moe import SparseMoE
from boostr.nn.norm import RMSNorm
from boostr.nn.recurrence import DeltaRule
from boostr.nn.rope import SCALINGS, RopeScaling, RotaryEmbedding

__all__ = [
    "ACTIVATIONS",
    "SCALINGS",
    "Attention",
    "DeltaRule",
    "Embedding",
    "GatedDeltaNet",
    "GatedMLP",
    "Linear",
    "LinearGroup",
    "LowRank",
    "RMSNorm",
    "RopeScaling",
    "RotaryEmbedding",
    "SpanAdapter",
    "SparseMoE",
]
