import math

import ml_dtypes
import numpy as np
import pytest

import numr as nr
from numr.dtypes import BY_NAME, as_dtype

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = ["float16", "bfloat16", "float32", "float64"]


def test_every_dtype_is_numpys():
    assert list(BY_NAME) == ["bool", *INTEGERS, *REALS, "complex64", "complex128"]
    assert all(getattr(nr, name) == dtype and isinstance(dtype, np.dtype) for name, dtype in BY_NAME.items())


@pytest.mark.parametrize("given", ["bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)])
def test_dtypes_are_recognised_in_every_spelling(given):
    assert as_dtype(given) is nr.bfloat16


@pytest.mark.parametrize("given", ["float8", None, object, np.dtype(">f4"), np.dtype("U3"), 5])
def test_other_dtypes_are_refused(given):
    with pytest.raises(nr.DTypeError, match="is not a numr dtype"):
        as_dtype(given)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("bool", {"bool"}),
        ("int8", {"signed integer", "integral", "numeric"}),
        ("uint64", {"unsigned integer", "integral", "numeric"}),
        ("bfloat16", {"real floating", "numeric"}),
        ("float16", {"real floating", "numeric"}),
        ("complex64", {"complex floating", "numeric"}),
    ],
)
def test_isdtype_knows_the_kinds(name, kinds):
    every = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")

    assert {kind for kind in every if nr.isdtype(getattr(nr, name), kind)} == kinds


def test_isdtype_takes_dtypes_and_tuples():
    assert nr.isdtype(nr.float32, nr.float32)
    assert nr.isdtype(nr.float32, ("integral", nr.float32))
    assert not nr.isdtype(nr.float32, ("integral", "bool"))


def test_isdtype_refuses_unknown_kinds():
    with pytest.raises(nr.DTypeError, match="real numbers"):
        nr.isdtype(nr.float32, "real numbers")


@pytest.mark.parametrize(
    ("name", "bits", "eps"), [("float16", 16, 2**-10), ("bfloat16", 16, 2**-7), ("float64", 64, 2**-52)]
)
def test_finfo(name, bits, eps):
    info = nr.finfo(getattr(nr, name))

    assert (info.bits, info.eps, info.dtype) == (bits, eps, getattr(nr, name))
    assert all(type(value) is float for value in (info.eps, info.max, info.min, info.smallest_normal))
    assert info.min == -info.max


def test_finfo_of_complex_is_about_its_parts():
    assert nr.finfo(nr.zeros(1, dtype=nr.complex64)).dtype == nr.float32
    assert math.isclose(nr.finfo(nr.complex128).max, 1.7976931348623157e308)


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    info = nr.iinfo(getattr(nr, name))

    assert (info.min, info.max) == (np.iinfo(name).min, np.iinfo(name).max)
    assert type(info.max) is int
    assert info.bits == np.iinfo(name).bits


def test_limits_refuse_the_other_kind():
    with pytest.raises(nr.DTypeError, match="see finfo"):
        nr.iinfo(nr.float32)
    with pytest.raises(nr.DTypeError, match="see iinfo"):
        nr.finfo(nr.int32)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        (("int8", "int16"), "int16"),
        (("uint8", "int8"), "int16"),
        (("float32", "float64"), "float64"),
        (("float32", "complex64"), "complex64"),
        (("bfloat16", "float32"), "float32"),
        (("bfloat16", "float16"), "float32"),
        (("bfloat16", "bfloat16"), "bfloat16"),
        (("bfloat16", "complex64"), "complex64"),
    ],
)
def test_result_type(operands, expected):
    dtypes = [getattr(nr, name) for name in operands]

    assert nr.result_type(*dtypes) == getattr(nr, expected)
    assert nr.result_type(*[nr.zeros(1, dtype=dtype) for dtype in dtypes]) == getattr(nr, expected)


def test_python_scalars_are_weak():
    assert nr.result_type(nr.float32, 1.0) == nr.float32
    assert nr.result_type(nr.zeros(1, dtype=nr.bfloat16), 1.0) == nr.bfloat16
    assert nr.result_type(nr.int8, 1) == nr.int8


def test_result_type_of_scalars_alone_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        nr.result_type(1, 2.0)


def test_can_cast_follows_promotion():
    assert nr.can_cast(nr.int8, nr.int16)
    assert nr.can_cast(nr.zeros(1, dtype=nr.bfloat16), nr.float32)
    assert not nr.can_cast(nr.float64, nr.float32)
    assert not nr.can_cast(nr.float32, nr.int64)


def test_astype_converts():
    tensor = nr.asarray([1.9, -1.9, 0.0])

    assert nr.astype(tensor, nr.int8).tolist() == [1, -1, 0]
    assert nr.astype(tensor, nr.bool).tolist() == [True, True, False]
    assert nr.astype(tensor, nr.bfloat16).dtype == nr.bfloat16


def test_astype_copies_unless_told_otherwise():
    tensor = nr.zeros(2)

    assert nr.astype(tensor, nr.float64) is not tensor
    assert not np.shares_memory(nr.astype(tensor, nr.float64).array, tensor.array)
    assert nr.astype(tensor, nr.float64, copy=False) is tensor


def test_astype_does_not_drop_imaginary_parts():
    with pytest.raises(nr.DTypeError, match=r"numr\.real"):
        nr.astype(nr.asarray([1j]), nr.float64)
