import pytest

import numr as nr

info = nr.__array_namespace_info__()


def test_capabilities():
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert nr.zeros((1,) * 64).ndim == 64


def test_devices():
    assert info.devices() == (nr.Device("cpu"),)
    assert info.default_device() == nr.zeros(1).device


def test_default_dtypes_are_those_of_new_tensors():
    defaults = info.default_dtypes(device="cpu")

    assert defaults["real floating"] == nr.zeros(1).dtype
    assert defaults["complex floating"] == nr.asarray(1j).dtype
    assert defaults["integral"] == nr.asarray(1).dtype
    assert defaults["indexing"] == nr.argmax(nr.zeros(1)).dtype


def test_dtypes_are_the_standards():
    dtypes = info.dtypes()

    assert len(dtypes) == 13
    assert all(getattr(nr, name) == dtype for name, dtype in dtypes.items())


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("bool", {"bool"}),
        ("real floating", {"float32", "float64"}),
        (("bool", "complex floating"), {"bool", "complex64", "complex128"}),
        ((), set()),
    ],
)
def test_dtypes_of_a_kind(kind, names):
    assert set(info.dtypes(kind=kind)) == names


def test_unknown_kinds_and_devices_are_refused():
    with pytest.raises(ValueError, match="'real'"):
        info.dtypes(kind="real")
    with pytest.raises(nr.DeviceError):
        info.dtypes(device="cuda:0")
