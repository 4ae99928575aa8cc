"""The table of ggml types: geometry, lookup by id, refusal of what it does not know."""

import pytest

from boostr.errors import FormatError
from boostr.quant import QUANT_TYPES, by_id


def test_every_id_finds_its_own_entry() -> None:
    assert [by_id(entry.id) for entry in QUANT_TYPES.values()] == list(QUANT_TYPES.values())


def test_ids_of_retired_types_are_refused() -> None:
    with pytest.raises(FormatError, match="unknown ggml tensor type 4"):
        by_id(4)


def test_row_bytes_counts_blocks() -> None:
    assert QUANT_TYPES["Q4_K"].row_bytes(512) == 288
    assert QUANT_TYPES["BF16"].row_bytes(7) == 14


def test_a_partial_block_is_refused() -> None:
    with pytest.raises(FormatError, match="not whole blocks of 32"):
        QUANT_TYPES["Q8_0"].row_bytes(40)


def test_only_plain_array_types_are_dense() -> None:
    dense = {name for name, entry in QUANT_TYPES.items() if entry.dense}
    assert dense == {"F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"}
