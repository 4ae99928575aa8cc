"""Vocabularies, and what llama.cpp makes of the test texts with each.

A case is [text, plain ids, ids with special tokens added and parsed].
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from boostr.formats.gguf.reader import GGUFFile
from boostr.tokenizers import Tokenizer, from_directory, from_gguf

DATA = Path(__file__).parents[2] / "data" / "tokenizers"


@cache
def read_golden(name: str) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return golden


@pytest.fixture(scope="session")
def golden():
    return read_golden


@pytest.fixture(scope="session")
def tokenizers(tmp_path_factory):
    """By name: "tiny-*" from the metadata in the golden file, "*-directory" from its files, others from a GGUF file."""
    folder = tmp_path_factory.mktemp("vocabularies")

    @cache
    def tokenizer(name: str) -> Tokenizer:
        if name.endswith("-directory"):
            return from_directory(DATA / name.removesuffix("-directory"))
        if name.startswith("tiny-"):
            return from_gguf(read_golden(name)["metadata"])
        path = folder / f"{name}.gguf"
        path.write_bytes(gzip.decompress((DATA / f"ggml-vocab-{name}.gguf.gz").read_bytes()))
        return from_gguf(GGUFFile.open(path).metadata)

    return tokenizer
