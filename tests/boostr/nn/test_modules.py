"""Linear maps with biases, groups, gated MLPs, norms per head, and attention's optional parts, against plain NumPy."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.errors import TokenizerError
from boostr.nn import ACTIVATIONS, Attention, Embedding, GatedMLP, Linear, LinearGroup, RMSNorm, RotaryEmbedding
from boostr.state import Batch, SequenceState, StateSpec
from numr import Tensor

Array = NDArray[np.float32]
RANDOM = np.random.default_rng(7)


def random(*shape: int) -> Array:
    return RANDOM.normal(size=shape).astype(np.float32)


def linear(out: int, into: int, bias: bool = False) -> Linear:
    return Linear(Tensor(random(out, into)), Tensor(random(out)) if bias else None)


def apply(layer: Linear, x: Array) -> Array:
    y: Array = x @ np.asarray(layer.weight).T
    return y if layer.bias is None else y + np.asarray(layer.bias)


def close(found: Tensor, expected: Array) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


EXPECTED = {"silu": silu, "swish": silu, "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh}


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(rows: int, bias: bool) -> None:
    layer, x = linear(3, 8, bias), random(rows, 8)
    assert (layer.out_features, layer.in_features) == (3, 8)
    close(layer(Tensor(x)), apply(layer, x))


def test_a_group_is_its_members() -> None:
    members, x = (linear(3, 8, True), linear(5, 8), linear(2, 8, True)), random(4, 8)
    for found, member in zip(LinearGroup(*members)(Tensor(x)), members, strict=True):
        close(found, apply(member, x))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_gated_mlp(name: str) -> None:
    gate, up, down, x = linear(6, 4), linear(6, 4, True), linear(4, 6), random(3, 4)
    g = apply(gate, x).astype(np.float64)
    activated = EXPECTED[name](g)
    close(GatedMLP(gate, up, down, name)(Tensor(x)), apply(down, (activated * apply(up, x)).astype(np.float32)))


def test_embedding_takes_rows_and_refuses_others() -> None:
    table = random(9, 4)
    embedding = Embedding(Tensor(table.astype(np.float16)))
    close(embedding(np.array([8, 0, 8])), table.astype(np.float16).astype(np.float32)[[8, 0, 8]])
    with pytest.raises(TokenizerError, match="token id 9 is outside the vocabulary of 9"):
        embedding(np.array([0, 9]))


def test_norm_adds_into_the_residual_stream() -> None:
    x, y, weight = random(2, 6), random(2, 6), random(6)
    total = x + y
    norm = RMSNorm(Tensor(weight), 1e-5)
    residual = Tensor(x)
    expected = total / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5) * weight
    close(norm.add(residual, Tensor(y)), expected)
    close(residual, total)
    close(norm(Tensor(total)), expected)


def test_norm_of_heads_norms_each_on_its_own() -> None:
    x, weight = random(2, 12), random(4)
    heads = x.reshape(2, 3, 4)
    expected = heads / np.sqrt((heads**2).mean(-1, keepdims=True) + 1e-5) * weight
    close(RMSNorm(Tensor(weight), 1e-5).heads(Tensor(x), 4), expected.reshape(2, 12))


def attend(softcap: float, scale: float | None, window: int, x: Array, rows: list[int] | None) -> tuple[Array, Array]:
    """(found, expected) for one head without a rotation: positions enter through the mask alone."""
    parts = [linear(4, 6), linear(4, 6), linear(4, 6), linear(6, 4)]
    still = RotaryEmbedding(4, 10000.0, divisors=np.full(2, np.inf, np.float32))
    layer = Attention(*parts, index=0, head_dim=4, rotary=still, window=window, scale=scale, softcap=softcap)
    state = SequenceState(StateSpec((layer.state_spec,)), "float32")
    step = Batch.pack([([0] * len(x), state)]).begin()
    found = layer(Tensor(x), step, None if rows is None else np.array(rows))
    q, k, v = (apply(part, x) for part in parts[:3])
    scores = q @ k.T * (0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    distance = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]
    scores[(distance < 0) | ((distance >= window) if window else False)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = apply(parts[3], (weights / weights.sum(-1, keepdims=True)) @ v)
    return np.asarray(found), expected if rows is None else expected[rows]


@pytest.mark.parametrize(
    ("softcap", "scale", "window", "rows"),
    [(0.0, None, 0, None), (2.0, None, 0, None), (0.0, 0.1, 0, None), (1.5, 2.0, 3, None), (0.0, None, 2, [4, 1])],
)
def test_attention(softcap: float, scale: float | None, window: int, rows: list[int] | None) -> None:
    found, expected = attend(softcap, scale, window, random(5, 6), rows)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
