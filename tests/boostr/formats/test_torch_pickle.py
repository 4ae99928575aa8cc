"""Files of torch.save without torch: what they hold, and that nothing in them runs."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import FormatError
from boostr.formats.torch_pickle import load_torch_file

HEADS = Path(__file__).parents[2] / "data" / "decision" / "kev" / "head"
READABLE = ("tiny", "legacy", "cuda_location", "full", "long_memo")


@pytest.mark.parametrize("name", READABLE)
def test_values_and_tensors(name: str) -> None:
    found = load_torch_file(HEADS / name / "head.pt")
    expected = json.loads((HEADS / name / "expected.json").read_text())
    tensors = expected.pop("head")
    assert {key: found[key] for key in expected} == expected
    assert list(found["head"]) == list(tensors)
    for key, tensor in tensors.items():
        array = np.frombuffer(bytes.fromhex(tensor["data_hex_le"]), "<f4").reshape(tensor["shape"])
        np.testing.assert_array_equal(found["head"][key], array)


def test_code_is_refused_and_not_run() -> None:
    with pytest.raises(FormatError, match=r"asks for (os|posix)\.getcwd"):
        load_torch_file(HEADS / "refused" / "head.pt")


def test_the_old_format_is_refused() -> None:
    with pytest.raises(FormatError, match=r"not a file that torch\.save writes"):
        load_torch_file(HEADS / "not_zip" / "head.pt")


def packed(path: Path, program: bytes, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("head/data.pkl", program)
        for name, content in members.items():
            archive.writestr(f"head/data/{name}", content)
    return path


class Runs:
    def __reduce__(self) -> Any:
        return eval, ("1/0",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_every_other_name_is_refused(tmp_path: Path, protocol: int) -> None:
    with pytest.raises(FormatError, match=r"asks for|uses"):
        load_torch_file(packed(tmp_path / "h.pt", pickle.dumps(Runs(), protocol)))


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x02ccollections\nOrderedDict\n(K\x01tR.",  # an argument where none belongs
        b"\x80\x02ccollections\nOrderedDict\n.",  # fine but no dict: left to the caller
        b"\x80\x02}",  # cut off
        b"\x80\x02(((((.",
        b"",
    ],
)
def test_damaged_programs(tmp_path: Path, program: bytes) -> None:
    path = packed(tmp_path / "h.pt", program)
    if program.endswith(b"Dict\n."):
        load_torch_file(path)
        return
    with pytest.raises(FormatError, match=r"h\.pt"):
        load_torch_file(path)


def tensor(numel: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """The program of one tensor in storage 0."""

    class Storage:
        pass

    class Names:
        def __init__(self, text: str) -> None:
            self.text = text

    class Writer(pickle._Pickler):  # type: ignore[name-defined]  # the Python one, to write globals that are not here
        def persistent_id(self, value: Any) -> Any:
            return ("storage", Names("torch FloatStorage"), "0", "cpu", numel) if isinstance(value, Storage) else None

        def save(self, value: Any, save_persistent_id: bool = True) -> Any:
            if isinstance(value, Names):
                module, name = value.text.split()
                self.write(b"c" + module.encode() + b"\n" + name.encode() + b"\n")
                return None
            return super().save(value, save_persistent_id)

    stream = io.BytesIO()
    writer = Writer(stream, 2)
    stream.write(b"\x80\x02")
    writer.save(Names("torch._utils _rebuild_tensor_v2"))
    writer.save((Storage(), offset, size, stride, False, None))
    stream.write(b"R.")
    return stream.getvalue()


def test_a_tensor_as_it_should_be(tmp_path: Path) -> None:
    content = np.arange(6, dtype="<f4").tobytes()
    found = load_torch_file(packed(tmp_path / "h.pt", tensor(6, 0, (2, 3), (3, 1)), **{"0": content}))
    np.testing.assert_array_equal(found, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("numel", "offset", "size", "stride"),
    [
        (6, 1, (2, 3), (3, 1)),
        (6, 0, (3, 2), (1, 3)),
        (7, 0, (2, 3), (3, 1)),
        (6, -1, (2,), (1,)),
        (6, 0, (1 << 40,), (1,)),
    ],
)
def test_tensors_outside_their_storage(
    tmp_path: Path, numel: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    content = np.zeros(6, "<f4").tobytes()
    with pytest.raises(FormatError, match=r"storage|elements|whole numbers"):
        load_torch_file(packed(tmp_path / "h.pt", tensor(numel, offset, size, stride), **{"0": content}))


def test_an_archive_that_unfolds_too_far_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("head/data.pkl", b"\x80\x02}.")
        archive.writestr("head/data/0", bytes(2 << 20))
    with pytest.raises(FormatError, match="more than such a file needs"):
        load_torch_file(path, most_bytes=1 << 20)
