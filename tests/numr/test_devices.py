import pytest

import numr as nr
from numr.backends import backend_of
from numr.devices import CPU, device_of, require_same_device


def test_devices_compare_by_name():
    assert nr.Device("cpu") == CPU
    assert hash(nr.Device("cpu")) == hash(CPU)
    assert nr.Device("cpu") != "cpu"
    assert (str(CPU), repr(CPU)) == ("cpu", "Device('cpu')")
    assert nr.Device(CPU) == CPU


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_cuda_says_what_to_install(name):
    with pytest.raises(nr.DeviceError, match=rf"'{name}' is not available.*pip install 'numr\[cuda\]'"):
        nr.zeros(1, device=name)


@pytest.mark.parametrize("name", ["gpu", "", "cpu:1"])
def test_unknown_devices_are_refused(name):
    with pytest.raises(nr.DeviceError, match="is unknown"):
        nr.Device(name)


def test_devices_are_names():
    with pytest.raises(nr.DeviceError, match="is a name"):
        nr.Device(0)


def test_to_device():
    tensor = nr.zeros(2)

    assert tensor.to_device("cpu") is tensor
    assert tensor.to_device(tensor.device) is tensor
    with pytest.raises(nr.DeviceError, match="cuda:0"):
        tensor.to_device("cuda:0")


def test_the_cpu_has_no_streams():
    with pytest.raises(nr.DeviceError, match="stream"):
        nr.zeros(2).to_device("cpu", stream=1)


@pytest.mark.parametrize(
    "function", [device_of, backend_of, lambda array: require_same_device(nr.zeros(1).array, array)]
)
def test_arrays_of_other_modules_have_no_device(function):
    with pytest.raises(nr.DeviceError, match="builtins"):
        function([1, 2])


def test_creation_takes_devices_in_both_forms():
    assert nr.ones(2, device="cpu").device == nr.ones(2, device=CPU).device == CPU
    assert nr.asarray(nr.ones(2), device="cpu").device == CPU
