"""JSON from a downloaded model is read with bounds, and every fault names the file."""

from pathlib import Path

import pytest

from boostr.errors import FormatError, ModelNotFoundError
from boostr.formats.json_file import parse_json_object, read_json_object


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "holds a JSON array where an object"),
        ("null", "holds a JSON null"),
        ("3", "holds a JSON number"),
        ('"x"', "holds a JSON string"),
        ("true", "holds a JSON boolean"),
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('{"b": {"a": 1, "a": 2}}', "'a' appears twice"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "nested more than 64 deep"),
        ('{"a": ' + '{"a":' * 200_000 + "1" + "}" * 200_001, "nested more than 64 deep"),
        ('{"a": ' + "1" * 10_000 + "}", "not valid JSON"),
    ],
)
def test_faults_name_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, "utf-8")
    with pytest.raises(FormatError, match=f"config.json.*{message}"):
        read_json_object(path)


def test_bytes_that_are_not_utf8_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FormatError, match="not valid JSON"):
        read_json_object(tmp_path / "config.json")


def test_size_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": "' + "x" * 100 + '"}', "utf-8")
    assert read_json_object(path, limit=200)["a"]
    with pytest.raises(FormatError, match="larger than 50 bytes"):
        read_json_object(path, limit=50)


def test_infinity_and_a_byte_order_mark_are_let_through() -> None:
    assert parse_json_object(b'\xef\xbb\xbf{"time_step_limit": [0.0, Infinity]}', "x")["time_step_limit"][1] > 1e308


def test_missing_files_and_directories_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="does not exist"):
        read_json_object(tmp_path / "gone.json")
    with pytest.raises(FormatError, match="not a regular file"):
        read_json_object(tmp_path)
