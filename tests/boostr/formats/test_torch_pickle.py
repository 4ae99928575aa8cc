"""Files of torch.save without torch: what they hold, that nothing in them runs, and that none costs much."""

import json
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr.errors import FormatError
from boostr.formats.torch_pickle import load_torch_file
from tests.boostr.formats.raw_torch import (
    EMPTY_HOOKS,
    FLOATS,
    ORDERED,
    REBUILD,
    packed,
    program,
    save_torch,
    storage,
    tensor,
    value,
)

HEADS = Path(__file__).parents[2] / "data" / "decision" / "kev" / "head"
READABLE = ("tiny", "legacy", "cuda_location", "full", "long_memo")
SIX = {"0": np.arange(6, dtype="<f4").tobytes()}


@pytest.mark.parametrize("name", READABLE)
def test_values_and_tensors(name: str) -> None:
    found = load_torch_file(HEADS / name / "head.pt")
    expected = json.loads((HEADS / name / "expected.json").read_text())
    tensors = expected.pop("head")
    assert {key: found[key] for key in expected} == expected
    assert list(found["head"]) == list(tensors)
    for key, each in tensors.items():
        array = np.frombuffer(bytes.fromhex(each["data_hex_le"]), "<f4").reshape(each["shape"])
        np.testing.assert_array_equal(found["head"][key], array)
        assert not found["head"][key].flags.writeable


def test_every_kind_of_value(tmp_path: Path) -> None:
    plain = {"n": None, "t": True, "f": False, "i": -(1 << 40), "d": 2.5, "s": "é\n", "l": [1, [], ()], "p": (1, 2, 3)}
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = load_torch_file(save_torch(tmp_path / "h.pt", plain, {"w": array}))
    np.testing.assert_array_equal(found.pop("head")["w"], array)
    assert found == plain


def test_what_pythons_own_pickler_writes(tmp_path: Path) -> None:
    shared = ["a"]
    plain = {"small": 1, "two": 300, "four": -5, "long": 1 << 70, "one": (1,), "pair": (1, 2), "same": [shared, shared]}
    many = {f"key {n}": float(n) for n in range(400)}  # values beyond 255 are kept under long numbers
    found = load_torch_file(packed(tmp_path / "h.pt", pickle.dumps(plain | many, 2)))
    assert found == plain | many
    assert found["same"][0] is found["same"][1]


@pytest.mark.parametrize(
    ("kind", "dtype"), [("HalfStorage", "<f2"), ("DoubleStorage", "<f8"), ("BFloat16Storage", "bfloat16")]
)
def test_other_floats_are_widened(tmp_path: Path, kind: str, dtype: str) -> None:
    import ml_dtypes

    array = np.array([0.5, -2, 3], ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    body = tensor(storage("0", 3, f"ctorch\n{kind}\n".encode()), 0, (3,), (1,))
    found = load_torch_file(packed(tmp_path / "h.pt", program(body), {"0": array.tobytes()}))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.5, -2, 3])


def test_members_may_be_deflated(tmp_path: Path) -> None:
    body = program(tensor(storage(), 0, (2, 3), (3, 1)))
    found = load_torch_file(packed(tmp_path / "h.pt", body, SIX, compression=zipfile.ZIP_DEFLATED))
    np.testing.assert_array_equal(found, np.arange(6).reshape(2, 3))


def test_steps_of_axes_of_one_do_not_matter(tmp_path: Path) -> None:
    found = load_torch_file(packed(tmp_path / "h.pt", program(tensor(storage(), 1, (1, 3), (77, 1))), SIX))
    np.testing.assert_array_equal(found, [[1, 2, 3]])


def test_code_is_refused_and_not_run() -> None:
    with pytest.raises(FormatError, match=r"head\.pt: its pickle asks for (os|posix)\.getcwd, which is refused"):
        load_torch_file(HEADS / "refused" / "head.pt")


def test_the_old_format_is_refused() -> None:
    with pytest.raises(FormatError, match=r"not a file that torch\.save writes"):
        load_torch_file(HEADS / "not_zip" / "head.pt")


@pytest.mark.parametrize(
    "name",
    [
        ("builtins", "eval"),
        ("os", "system"),
        ("torch", "load"),
        ("torch", "LongStorage"),
        ("torch._utils", "_rebuild_parameter"),
        ("torch.storage", "FloatStorage"),
        ("collections", "defaultdict"),
        ("collections", "OrderedDict.fromkeys"),
        ("boostr.formats.torch_pickle", "load_torch_file"),
        ("torch\x00", "é" * 20),
    ],
    ids=".".join,
)
def test_every_other_name_is_refused(tmp_path: Path, name: tuple[str, str]) -> None:
    module, attribute = name
    body = f"c{module}\n{attribute}\n".encode() + value(("1/0",)) + b"R"
    with pytest.raises(FormatError, match=r"h\.pt: its pickle asks for .*refused and not run"):
        load_torch_file(packed(tmp_path / "h.pt", program(body)))


ALLOWED = b".(N\x88\x89JKM\x8aGX}])t\x85\x86\x87aesuqrhjcRbQ"


@pytest.mark.parametrize("code", [n for n in range(256) if n not in ALLOWED])
def test_every_other_instruction_is_refused(tmp_path: Path, code: int) -> None:
    with pytest.raises(FormatError, match=r"h\.pt: its pickle uses "):
        load_torch_file(packed(tmp_path / "h.pt", program(bytes([code]))))


def test_an_instruction_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="uses INST, which no such file needs"):
        load_torch_file(packed(tmp_path / "h.pt", program(b"(ios\ngetcwd\n")))


@pytest.mark.parametrize("protocol", [0, 1, 3, 4, 5])
def test_other_protocols_are_refused(tmp_path: Path, protocol: int) -> None:
    with pytest.raises(FormatError, match="not of protocol 2"):
        load_torch_file(packed(tmp_path / "h.pt", pickle.dumps({"a": 1}, protocol)))


DAMAGED = {
    "empty": (b"", "cut off"),
    "no end": (b"\x80\x02}", "cut off"),
    "cut text": (b"\x80\x02X\xff\xff\xff\x7fa.", "cut off"),
    "cut long": (b"\x80\x02\x8a\xff\x01.", "cut off"),
    "no utf-8": (program(b"X\x01\x00\x00\x00\xff"), "not UTF-8"),
    "name without end": (program(b"ctorch" + b"a" * 5000), "a name does not end"),
    "nothing left": (program(b""), "lacks its operand"),
    "two left": (program(b"NN"), "left over"),
    "mark left": (program(b"N("), "lacks its operand"),
    "instructions left": (program(b"N") + b"N.", "left over"),
    "no mark": (program(b"t"), "lacks its mark"),
    "operand behind the mark": (program(b"NN(\x86"), "lacks its operand"),
    "append to none": (program(b"NNa"), "no list"),
    "append to a tuple": (program(b"((Ne"), "lacks its operand"),
    "item of a list": (program(b"]NNs"), "no dict"),
    "half an item": (program(b"}(Nu"), "half an item"),
    "key is a tuple": (program(b"}))s"), "keys"),
    "key is a list": (program(b"}]Ns"), "keys"),
    "keys that may collide": (program(b"}" + value((1 << 61) - 1) + b"Ns"), "keys"),
    "not kept": (program(b"h\x05"), "has not kept"),
    "not kept, long": (program(b"Nr\x01\x00\x00\x00j\x02\x00\x00\x00"), "has not kept"),
    "call of a number": (program(b"K\x01)R"), "no function"),
    "call of a storage type": (program(FLOATS + b")R"), "no function"),
    "call of a result": (program(EMPTY_HOOKS + b")R"), "no function"),
    "call without a tuple": (program(ORDERED + b"]R"), "no function"),
    "filled OrderedDict": (program(ORDERED + value(([("a", 1)],)) + b"R"), "fills an empty one"),
    "state of a function": (program(REBUILD + value({"_metadata": None}) + b"b"), "gives a state"),
    "attributes of a function": (program(REBUILD + value((None, {"call": None})) + b"b"), "gives a state"),
    "state of a dict": (program(b"}" + value({"_metadata": None}) + b"b"), "gives a state"),
    "state of a tensor": (program(tensor(storage(), 0, (6,), (1,)) + value({"_metadata": None}) + b"b"), "a state"),
    "other state": (program(EMPTY_HOOKS + value({"keys": 1}) + b"b"), "gives a state"),
    "id is no tuple": (program(b"NQ"), "unknown way"),
    "id of another kind": (program(storage(tag="module")), "unknown way"),
    "type by its word": (program(storage(kind=value("FloatStorage"))), "unknown way"),
    "key is a number": (program(storage(key=0)), "unknown way"),
    "no location": (program(storage(location=None)), "unknown way"),
    "yes elements": (program(storage(numel=True)), "unknown way"),
    "key is a path": (program(storage(key="../data.pkl")), "names the storage"),
    "key in other digits": (program(storage(key="٠")), "names the storage"),
    "fewer than none": (program(storage(numel=-6)), "names the storage"),
    "no such storage": (program(storage(key="1")), "has 0 bytes for 6 elements"),
    "more elements": (program(storage(numel=7)), "has 24 bytes for 7 elements"),
    "very many elements": (program(storage(numel=1 << 62)), "has 24 bytes"),
    "two types": (program(storage() + storage("0", 3, b"ctorch\nDoubleStorage\n") + b"\x86"), "in two ways"),
    "behind its end": (program(tensor(storage(), 1, (2, 3), (3, 1))), "does not lie packed"),
    "other steps": (program(tensor(storage(), 0, (3, 2), (1, 3))), "does not lie packed"),
    "steps of none": (program(tensor(storage(), 0, (6,), (0,))), "does not lie packed"),
    "huge": (program(tensor(storage(), 0, (1 << 40,), (1,))), "does not lie packed"),
    "overflows": (program(tensor(storage(), 0, (1 << 40, 1 << 40, 0), (0, 0, 1))), "does not lie packed"),
    "before its start": (program(tensor(storage(), -1, (2,), (1,))), "whole numbers"),
    "negative size": (program(tensor(storage(), 0, (-2, -3), (-3, 1))), "whole numbers"),
    "text size": (program(tensor(storage(), 0, ("6",), (1,))), "whole numbers"),
    "fewer steps": (program(tensor(storage(), 0, (2, 3), (1,))), "whole numbers"),
    "nine axes": (program(tensor(storage(), 0, (1,) * 9, (1,) * 9)), "too many dimensions"),
    "list of sizes": (program(tensor(storage(), 0, [6], [1])), "unknown way"),
    "of no storage": (program(tensor(None, 0, (6,), (1,))), "unknown way"),
    "trained": (program(tensor(storage(), 0, (6,), (1,), grad=True)), "unknown way"),
    "hooks": (program(tensor(storage(), 0, (6,), (1,), hooks=EMPTY_HOOKS + b"NNs")), "unknown way"),
    "no arguments": (program(REBUILD + b")R"), "unknown way"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_and_hostile_programs(tmp_path: Path, name: str) -> None:
    content, reason = DAMAGED[name]
    with pytest.raises(FormatError, match=reason) as refused:
        load_torch_file(packed(tmp_path / "h.pt", content, SIX))
    assert "h.pt" in str(refused.value)


DEEP = 100_000
ONES = b"(" + b"K\x01" * DEEP + b"t"
COSTLY: dict[str, bytes] = {
    "a table of any size": b"}r\xf0\xff\xff\x7f",
    "nested deep, as a key": b"})" + b"\x85" * DEEP + b"Ns",
    "nested deep": b")" + b"\x85" * DEEP,
    "lists in lists": b"]" * DEEP + b"a" * (DEEP - 1),
    "a list in itself": b"]q\x00h\x00a",
    "very many axes": tensor(storage(), 0, ONES, ONES),
    "doubled again and again": b"]q\x00" + b"(h\x00h\x00tq\x00" * 60,
    "one storage, many times": b"](" + storage("1", 1 << 20) * 5000 + b"e",
    "one tensor, many times": b"](" + tensor(storage("1", 1 << 20), 0, (1 << 20,), (1,)) * 3000 + b"e",
}


@pytest.mark.parametrize("name", COSTLY)
def test_no_program_costs_much(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / "h.pt", program(COSTLY[name]), SIX | {"1": bytes(4 << 20)})
    tracemalloc.start()
    try:
        load_torch_file(path)
    except FormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 64 << 20


def test_an_archive_that_unfolds_too_far_is_refused(tmp_path: Path) -> None:
    content = program(b"}")
    path = packed(tmp_path / "bomb.pt", content, {"0": bytes(2 << 20)}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match="more than such a file needs"):
        load_torch_file(path, most_bytes=1 << 20)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(FormatError, match="compressed in a way"):
        load_torch_file(packed(tmp_path / "h.pt", program(b"}"), compression=method))


def test_a_program_of_many_bytes_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "h.pt", program(b"N" * (1 << 20)), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match=r"data\.pkl has \d+ bytes, more than"):
        load_torch_file(path)


def test_archives_of_another_shape_are_refused(tmp_path: Path) -> None:
    def written(*names: str) -> Path:
        with zipfile.ZipFile(tmp_path / "h.pt", "w") as archive:
            for name in names:
                archive.writestr(name, b"big" if name.endswith("byteorder") else program(b"}"))
        return tmp_path / "h.pt"

    for names, reason in {
        ("a/data.pkl", "b/version"): "2 folders",
        ("a/version",): r"no member data\.pkl",
        ("a/data.pkl", "a/byteorder"): "big-endian",
        tuple(f"a/{n}" for n in range(300)): "300 members",
        (): "0 folders",
    }.items():
        with pytest.raises(FormatError, match=reason):
            load_torch_file(written(*names))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_given_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "h.pt", "w") as archive:
        archive.writestr("a/data.pkl", program(b"}"))
        archive.writestr("a/data.pkl", program(b"]"))
    with pytest.raises(FormatError, match="same name"):
        load_torch_file(tmp_path / "h.pt")


def test_a_directory_of_very_many_members_is_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "h.pt", "w") as archive:
        for n in range(6000):
            archive.writestr(f"a/{n}", b"")
    with pytest.raises(FormatError, match="has a part of"):
        load_torch_file(tmp_path / "h.pt")


def test_a_member_cannot_declare_more_than_there_is(tmp_path: Path) -> None:
    def longer(content: bytes) -> bytes:
        at = content.rindex(b"PK\x01\x02")  # the storage's entry in the directory: sizes at 20 and 24
        return content[: at + 20] + struct.pack("<II", 200 << 20, 200 << 20) + content[at + 28 :]

    path = packed(tmp_path / "h.pt", program(storage("0", 50 << 20)), SIX)
    path.write_bytes(longer(path.read_bytes()))
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("any/data/0").file_size == 200 << 20
    tracemalloc.start()
    with pytest.raises(FormatError):
        load_torch_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        load_torch_file(tmp_path / "none.pt")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_bytes_give_a_value_or_a_format_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray((HEADS / "tiny" / "head.pt").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("fuzz") / "h.pt"
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    told = refusal(path)
    assert told is None or str(path) in told


@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(st.sampled_from([bytes([code]) for code in ALLOWED] + [storage(), EMPTY_HOOKS, REBUILD, FLOATS]))
)
def test_instructions_in_any_order_give_a_value_or_a_format_error(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = packed(tmp_path_factory.mktemp("fuzz") / "h.pt", program(b"".join(pieces)), SIX)
    told = refusal(path)
    assert told is None or str(path) in told


def refusal(path: Path) -> str | None:
    """The words of the FormatError, or None where the file is read; anything else that is raised passes."""
    try:
        load_torch_file(path)
    except FormatError as error:
        return str(error)
    return None
