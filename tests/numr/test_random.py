import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numr as nr
from numr.random import Generator


def test_a_seed_fixes_the_stream():
    first, second = Generator(7), Generator(7)

    assert first.normal((3,)).tolist() == second.normal((3,)).tolist()
    assert first.integers(0, 100, (5,)).tolist() == second.integers(0, 100, (5,)).tolist()
    assert Generator(8).normal((3,)).tolist() != Generator(7).normal((3,)).tolist()


def test_without_a_seed_streams_differ():
    assert Generator().uniform((4,)).tolist() != Generator().uniform((4,)).tolist()


def test_state_continues_the_stream():
    generator = Generator(1)
    generator.uniform((3,))
    state = json.loads(json.dumps(generator.state))
    expected = generator.uniform((3,)).tolist()

    other = Generator(99)
    other.state = state

    assert other.uniform((3,)).tolist() == expected


def test_spawned_streams_are_their_own():
    streams = [generator.uniform((3,)).tolist() for generator in Generator(1).spawn(3)]

    assert len({tuple(stream) for stream in streams}) == 3


@pytest.mark.parametrize("dtype", [nr.float16, nr.bfloat16, nr.float32, nr.float64])
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential"])
def test_floats_have_shape_and_dtype(name, dtype):
    result = getattr(Generator(0), name)((2, 0, 3), dtype=dtype)

    assert (result.shape, result.dtype) == ((2, 0, 3), dtype)
    assert getattr(Generator(0), name)().shape == ()


def test_moments():
    generator = Generator(0)

    uniform = np.asarray(generator.uniform((20_000,), low=-1, high=3))
    normal = np.asarray(generator.normal((20_000,), mean=2, std=0.5))
    exponential = np.asarray(generator.exponential((20_000,), scale=2.0))

    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert_allclose([uniform.mean(), normal.mean(), normal.std(), exponential.mean()], [1, 2, 0.5, 2], atol=0.05)


def test_integers_cover_their_range():
    result = Generator(0).integers(-2, 3, (500,), dtype=nr.int8)

    assert result.dtype == nr.int8
    assert set(result.tolist()) == {-2, -1, 0, 1, 2}


def test_permutation():
    x = nr.reshape(nr.arange(6), (3, 2))

    assert sorted(Generator(0).permutation(5).tolist()) == [0, 1, 2, 3, 4]
    assert sorted(Generator(0).permutation(x).tolist()) == x.tolist()
    assert sorted(Generator(0).permutation(x, axis=1).mT.tolist()) == x.mT.tolist()


def test_choice():
    generator = Generator(0)

    assert set(generator.choice(3, (50,)).tolist()) == {0, 1, 2}
    assert sorted(generator.choice(nr.asarray([5, 6, 7]), (3,), replace=False).tolist()) == [5, 6, 7]
    assert set(generator.choice(2, (20,), p=nr.asarray([0.0, 1.0])).tolist()) == {1}


def test_bernoulli():
    generator = Generator(0)

    assert generator.bernoulli((3,)).dtype == nr.bool
    assert not nr.any(generator.bernoulli((100,), p=0.0))
    assert nr.all(generator.bernoulli((100,), p=1.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g.uniform(low=1.0, high=0.0),
        lambda g: g.normal(std=-1.0),
        lambda g: g.exponential(scale=float("nan")),
        lambda g: g.bernoulli(p=1.5),
        lambda g: g.integers(3, 3),
        lambda g: g.choice(2, (3,), replace=False),
    ],
)
def test_impossible_parameters_are_refused(call):
    with pytest.raises(ValueError):
        call(Generator(0))


@pytest.mark.parametrize("call", [lambda g: g.normal(dtype=nr.int8), lambda g: g.integers(0, 2, dtype=nr.float32)])
def test_dtypes_of_another_kind_are_refused(call):
    with pytest.raises(nr.DTypeError):
        call(Generator(0))


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", True])
def test_seeds_are_non_negative_integers(seed):
    with pytest.raises(ValueError, match="seed"):
        Generator(seed)


def test_generators_stay_on_their_device():
    assert Generator(0, device="cpu").device == nr.Device("cpu")
    with pytest.raises(nr.DeviceError):
        Generator(0, device="cuda:0")
