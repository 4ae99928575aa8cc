import array_api_compat
import numpy as np
import pytest

import numr as nr


def test_tensors_are_array_api_objects():
    tensor = nr.zeros((2, 3))

    assert array_api_compat.is_array_api_obj(tensor)
    assert array_api_compat.array_namespace(tensor, nr.ones(1)) is nr
    assert array_api_compat.device(tensor) == nr.Device("cpu")
    assert array_api_compat.size(tensor) == 6
    assert array_api_compat.to_device(tensor, "cpu") is tensor


def test_tensors_and_ndarrays_are_two_namespaces():
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(nr.zeros(1), np.zeros(1))
