"""Rotary tables: each scaling's frequencies against its published formula, growth, and both row layouts."""

import math

import numpy as np
import pytest

from boostr.nn import RopeScaling, RotaryEmbedding
from numr import Tensor

DIM, THETA = 16, 10000.0


def plain(dim: int = DIM) -> np.ndarray:
    return np.array([THETA ** (-2 * i / dim) for i in range(dim // 2)])


def test_default_frequencies_fall_geometrically() -> None:
    rotary = RotaryEmbedding(DIM, THETA)
    np.testing.assert_allclose(rotary.inv_freq, plain(), rtol=1e-12)
    assert rotary.attention_factor == 1.0


def test_linear_divides_every_frequency() -> None:
    scaled = RotaryEmbedding(DIM, THETA, RopeScaling("linear", 4.0))
    np.testing.assert_allclose(scaled.inv_freq, plain() / 4, rtol=1e-12)


def test_llama3_keeps_fast_divides_slow_and_blends_between() -> None:
    scaling = RopeScaling("llama3", 8.0, original_context=64, low_freq_factor=1.0, high_freq_factor=4.0)
    ratio = RotaryEmbedding(DIM, THETA, scaling).inv_freq / plain()
    wavelengths = 2 * math.pi / plain()
    np.testing.assert_allclose(ratio[wavelengths < 16], 1.0, rtol=1e-12)
    np.testing.assert_allclose(ratio[wavelengths > 64], 1 / 8, rtol=1e-12)
    between = ratio[(wavelengths > 16) & (wavelengths < 64)]
    assert between.size
    assert ((between > 1 / 8) & (between < 1)).all()


def test_yarn_multiplies_cos_and_sin() -> None:
    scaling = RopeScaling("yarn", 4.0, original_context=32)
    rotary = RotaryEmbedding(DIM, THETA, scaling)
    assert rotary.attention_factor == pytest.approx(0.1 * math.log(4) + 1)
    assert np.asarray(rotary.tables[0])[0] == pytest.approx(rotary.attention_factor)
    assert RotaryEmbedding(DIM, THETA, RopeScaling("yarn", 4.0, 32, attention_factor=1.5)).attention_factor == 1.5


def test_yarn_with_both_mscales_takes_their_quotient() -> None:
    equal = RopeScaling("yarn", 40.0, original_context=32, mscale=0.7, mscale_all_dim=0.7)
    assert RotaryEmbedding(DIM, THETA, equal).attention_factor == 1.0
    other = RopeScaling("yarn", 40.0, original_context=32, mscale=1.0, mscale_all_dim=0.5)
    expected = (0.1 * math.log(40) + 1) / (0.05 * math.log(40) + 1)
    assert RotaryEmbedding(DIM, THETA, other).attention_factor == pytest.approx(expected)


def test_yarn_keeps_the_fastest_and_divides_the_slowest_frequency() -> None:
    ratio = RotaryEmbedding(64, THETA, RopeScaling("yarn", 4.0, original_context=512)).inv_freq / plain(64)
    assert ratio[0] == 1.0
    assert ratio[-1] == pytest.approx(1 / 4)
    assert (np.diff(ratio) <= 1e-12).all()


def test_divisors_divide() -> None:
    divisors = np.linspace(1, 8, DIM // 2, dtype=np.float32)
    np.testing.assert_allclose(RotaryEmbedding(DIM, THETA, divisors=divisors).inv_freq, plain() / divisors, rtol=1e-12)


def test_tables_grow_when_asked_and_keep_their_rows() -> None:
    rotary = RotaryEmbedding(DIM, THETA)
    before = np.asarray(rotary.tables[0]).copy()
    rotary.prepare(len(before))
    assert np.asarray(rotary.tables[0]).shape == before.shape
    rotary.prepare(len(before) + 1)
    assert len(np.asarray(rotary.tables[0])) == 2 * len(before)
    np.testing.assert_array_equal(np.asarray(rotary.tables[0])[: len(before)], before)
    rotary.prepare(10_000)
    np.testing.assert_allclose(np.asarray(rotary.tables[1])[9_999], np.sin(9_999 * plain()), atol=1e-6)


def test_interleaved_rows_rotate_as_the_half_layout_does() -> None:
    x = np.random.default_rng(0).normal(size=(3, 2 * DIM)).astype(np.float32)
    positions = Tensor(np.array([0, 5, 77]))
    half, pairs = Tensor(x.copy()), Tensor(paired(x))
    RotaryEmbedding(DIM, THETA).rotate(half, positions, 2)
    RotaryEmbedding(DIM, THETA, interleaved=True).rotate(pairs, positions, 2)
    np.testing.assert_allclose(pairs.array, paired(half.array), atol=1e-6)


def paired(x: np.ndarray) -> np.ndarray:
    """Each head's dims (a_0.., b_0..) as (a_0, b_0, a_1, b_1, ..)."""
    return np.ascontiguousarray(x.reshape(3, 2, 2, DIM // 2).swapaxes(2, 3)).reshape(3, -1)


def test_dims_beyond_the_rotary_ones_stay() -> None:
    x = np.random.default_rng(0).normal(size=(2, DIM)).astype(np.float32)
    rotated = Tensor(x.copy())
    RotaryEmbedding(DIM, THETA, rotary_dim=8).rotate(rotated, Tensor(np.array([3, 4])), 1)
    np.testing.assert_array_equal(rotated.array[:, 8:], x[:, 8:])
    assert not np.allclose(rotated.array[:, :8], x[:, :8])
