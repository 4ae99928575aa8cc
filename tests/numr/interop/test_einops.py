import numpy as np
import pytest
from einops import array_api as einops
from numpy.testing import assert_array_equal

import numr as nr

ARRAY = np.arange(24.0).reshape(2, 3, 4)


def test_rearrange():
    result = einops.rearrange(nr.asarray(ARRAY), "b h (w c) -> b c (h w)", c=2)

    assert isinstance(result, nr.Tensor)
    assert_array_equal(np.asarray(result), ARRAY.reshape(2, 3, 2, 2).transpose(0, 3, 1, 2).reshape(2, 2, 6))


@pytest.mark.parametrize("reduction", ["sum", "mean", "max", "min"])
def test_reduce(reduction):
    result = einops.reduce(nr.asarray(ARRAY), "b h w -> b w", reduction)

    assert_array_equal(np.asarray(result), getattr(ARRAY, reduction)(axis=1))


def test_repeat():
    result = einops.repeat(nr.asarray(ARRAY), "b h w -> b n h w", n=2)

    assert_array_equal(np.asarray(result), np.repeat(ARRAY[:, None], 2, axis=1))
