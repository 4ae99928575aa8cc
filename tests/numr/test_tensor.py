import copy
import pickle

import numpy as np
import pytest

import numr as nr
from numr import Tensor


def test_wraps_without_copying():
    array = np.arange(6.0).reshape(2, 3)

    tensor = Tensor(array)

    assert tensor.array is array
    assert (tensor.shape, tensor.ndim, tensor.size, tensor.nbytes) == ((2, 3), 2, 6, 48)
    assert tensor.dtype == nr.float64
    assert tensor.device == nr.Device("cpu")


def test_ptr_is_the_address_of_the_first_element():
    array = np.arange(8, dtype=np.float32)

    assert Tensor(array[2:]).ptr == array.ctypes.data + 8


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda tensor: pickle.loads(pickle.dumps(tensor))])
def test_copies_do_not_carry_the_cached_address(clone):
    tensor = nr.asarray([1.0, 2.0])
    address = tensor.ptr

    other = clone(tensor)

    assert other.ptr != address
    assert other.tolist() == [1.0, 2.0]


def test_has_no_dict():
    with pytest.raises(AttributeError):
        nr.zeros(1).extra = 1


@pytest.mark.parametrize("dtype", [nr.float16, nr.bfloat16, nr.int8, nr.complex64, nr.bool])
def test_numpy_reads_it_without_a_copy(dtype):
    tensor = nr.zeros((2, 2), dtype=dtype)

    array = np.asarray(tensor)

    assert array.dtype == dtype
    assert np.shares_memory(array, tensor.array)


def test_array_protocol_converts_and_copies_on_request():
    tensor = nr.asarray([1.5])

    assert np.asarray(tensor, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(tensor, copy=True), tensor.array)


def test_transposes_are_views():
    tensor = nr.zeros((2, 3, 4))
    matrix = nr.zeros((2, 3))

    assert tensor.mT.shape == (2, 4, 3)
    assert np.shares_memory(tensor.mT.array, tensor.array)
    assert matrix.T.shape == (3, 2)


@pytest.mark.parametrize(("name", "shape"), [("T", (3,)), ("T", (1, 2, 3)), ("mT", (3,)), ("mT", ())])
def test_transposes_refuse_other_numbers_of_axes(name, shape):
    with pytest.raises(ValueError, match=r"dimensions"):
        getattr(nr.zeros(shape), name)


def test_scalars_come_out():
    assert bool(nr.asarray(True)) is True
    assert int(nr.asarray(-3)) == -3
    assert float(nr.asarray(0.25, dtype=nr.bfloat16)) == 0.25
    assert complex(nr.asarray(1j)) == 1j
    assert [10, 20, 30][nr.asarray(1)] == 20
    assert nr.asarray([7]).item() == 7


def test_bfloat16_comes_out_as_python_floats():
    tensor = nr.asarray([0.5], dtype=nr.bfloat16)

    assert type(tensor.item()) is float
    assert type(tensor.tolist()[0]) is float


def test_scalars_of_many_elements_are_refused():
    with pytest.raises(ValueError):
        bool(nr.zeros(2))
    with pytest.raises(TypeError):
        nr.asarray(1.0).__index__()


def test_length_and_iteration_follow_the_first_axis():
    tensor = nr.asarray([[1, 2], [3, 4]])

    assert len(tensor) == 2
    assert [row.tolist() for row in tensor] == [[1, 2], [3, 4]]


def test_without_axes_there_is_no_length():
    with pytest.raises(TypeError):
        len(nr.asarray(1))
    with pytest.raises(TypeError):
        iter(nr.asarray(1))


def test_is_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(nr.zeros(1))


def test_repr_shows_values_dtype_and_device():
    assert repr(nr.asarray([1, 2], dtype=nr.int32)) == "Tensor([1, 2], dtype=int32, device='cpu')"


def test_namespace_is_numr():
    tensor = nr.zeros(1)

    assert tensor.__array_namespace__() is nr
    assert tensor.__array_namespace__(api_version="2025.12") is nr


def test_unknown_api_version_is_refused():
    with pytest.raises(ValueError, match=r"2030\.12"):
        nr.zeros(1).__array_namespace__(api_version="2030.12")


def test_numpy_functions_see_an_ndarray():
    assert type(np.exp(nr.zeros(2))) is np.ndarray
