"""GGUF metadata is a mapping that names its file; its integers are refused by key where they cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import ConfigError
from boostr.formats.gguf import GGUFFile, Metadata, write_gguf

METADATA = Metadata({"n": 5, "x": 0.5, "s": "text", "b": True, "ints": np.arange(3, dtype=np.int32)}, "m.gguf")


def test_metadata_is_a_mapping_of_a_named_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    write_gguf(path, {"n": 5, "s": "text"}, {})
    metadata = GGUFFile.open(path).metadata
    assert (metadata["n"], metadata["s"]) == (5, "text")
    assert metadata.source == path
    assert str(path) in repr(metadata)


def test_integers_within_bounds_come_through() -> None:
    assert METADATA.require_int("n") == 5
    assert METADATA.require_int("n", 5, 5) == 5
    assert METADATA.get_int("n", 7, 1, 5) == 5


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda m: m.require_int("gone"), "lacks the key 'gone'"),
        (lambda m: m.require_int("s"), "'s' must be an integer, not str"),
        (lambda m: m.require_int("b"), "'b' must be an integer, not bool"),
        (lambda m: m.require_int("x"), "'x' must be an integer, not float"),
        (lambda m: m.require_int("ints"), "'ints' must be an integer, not ndarray"),
        (lambda m: m.require_int("n", 6, 9), r"'n' is 5, outside 6\.\.9"),
        (lambda m: m.get_int("n", 1, 0, 4), r"'n' is 5, outside 0\.\.4"),
        (lambda m: m.get_int("s", 7), "'s' must be an integer, not str"),
    ],
)
def test_wrong_integers_are_refused_by_key(read: Callable[[Metadata], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"m.gguf: .*{message}"):
        read(METADATA)


def test_defaults_count_for_absent_keys() -> None:
    assert METADATA.get_int("gone", 7, 0, 1) == 7
