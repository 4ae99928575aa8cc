import numpy as np
import pytest
from numpy.testing import assert_allclose

import numr as nr
from numr import fft

rng = np.random.default_rng(2)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("forward", "inverse"), [("fft", "ifft"), ("rfft", "irfft"), ("ihfft", "hfft")])
def test_inverses_along_an_axis(forward, inverse, norm):
    x = rng.normal(size=(3, 8))

    spectrum = getattr(fft, forward)(nr.asarray(x), norm=norm)

    assert_allclose(np.asarray(spectrum), getattr(np.fft, forward)(x, norm=norm), atol=1e-12)
    assert_allclose(np.asarray(getattr(fft, inverse)(spectrum, norm=norm)).real, x, atol=1e-12)


@pytest.mark.parametrize(("forward", "inverse"), [("fftn", "ifftn"), ("rfftn", "irfftn")])
@pytest.mark.parametrize("axes", [None, (0, 1)])
def test_inverses_along_several_axes(forward, inverse, axes):
    x = rng.normal(size=(4, 4, 4))

    spectrum = getattr(fft, forward)(nr.asarray(x), axes=axes)

    assert_allclose(np.asarray(getattr(fft, inverse)(spectrum, axes=axes)).real, x, atol=1e-12)


def test_sizes_without_axes_are_the_last_ones():
    x = rng.normal(size=(2, 4, 4))

    assert_allclose(np.asarray(fft.fftn(nr.asarray(x), s=(2, 2))), np.fft.fftn(x, s=(2, 2), axes=(1, 2)))


def test_padding_and_cutting():
    assert fft.fft(nr.ones(4), n=8).shape == (8,)
    assert fft.fft(nr.ones((4, 2)), n=3, axis=0).shape == (3, 2)


def test_precision_is_kept():
    assert fft.fft(nr.ones(4, dtype=nr.float32)).dtype == nr.complex64
    assert fft.irfft(nr.ones(4, dtype=nr.complex64)).dtype == nr.float32


def test_frequencies():
    assert fft.fftfreq(4, d=0.5).tolist() == [0.0, 0.5, -1.0, -0.5]
    assert fft.rfftfreq(4).tolist() == [0.0, 0.25, 0.5]
    assert fft.fftfreq(4, dtype=nr.float32).dtype == nr.float32


def test_shifts_undo_each_other():
    x = nr.arange(5)

    assert fft.fftshift(x).tolist() == [3, 4, 0, 1, 2]
    assert fft.ifftshift(fft.fftshift(x)).tolist() == x.tolist()


def test_narrow_floats_have_no_kernel():
    with pytest.raises(nr.UnsupportedError, match=r"fft\.rfft has no kernel for bfloat16 on device 'cpu'"):
        fft.rfft(nr.ones(4, dtype=nr.bfloat16))
