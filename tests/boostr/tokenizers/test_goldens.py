"""Ids, end tokens and token bytes are those of llama.cpp, and of the files the vocabularies came from."""

from __future__ import annotations

import json

import pytest

from boostr.formats.gguf.reader import GGUFFile
from boostr.tokenizers import from_gguf

EMBEDDED = ["tiny-llama3", "tiny-qwen35", "tiny-spm", "gpt-2", "llama-spm"]
DIRECTORIES = ["tiny-llama3-directory", "tiny-qwen35-directory", "tiny-spm-directory"]


@pytest.mark.parametrize("name", EMBEDDED + DIRECTORIES)
def test_plain_ids(name, tokenizers, golden):
    tokenizer = tokenizers(name)
    for text, plain, _ in golden(name.removesuffix("-directory"))["cases"]:
        assert tokenizer.encode(text, add_special=False, parse_special=False) == plain, text


@pytest.mark.parametrize("name", EMBEDDED + DIRECTORIES)
def test_ids_with_special_tokens(name, tokenizers, golden):
    tokenizer = tokenizers(name)
    for text, _, special in golden(name.removesuffix("-directory"))["cases"]:
        assert tokenizer.encode(text) == special, text


@pytest.mark.parametrize("name", EMBEDDED + DIRECTORIES)
def test_end_tokens(name, tokenizers, golden):
    assert sorted(tokenizers(name).eos_token_ids) == golden(name.removesuffix("-directory"))["eog"]


@pytest.mark.parametrize("name", ["tiny-llama3", "tiny-spm", "tiny-llama3-directory", "tiny-spm-directory"])
def test_token_bytes(name, tokenizers, golden):
    tokenizer = tokenizers(name)
    pieces = golden(name.removesuffix("-directory"))["pieces"]
    assert [tokenizer.token_bytes(token).hex() for token in range(tokenizer.vocab_size)] == pieces


@pytest.mark.parametrize("name", EMBEDDED + DIRECTORIES)
def test_text_survives_a_round_trip(name, tokenizers, golden):
    tokenizer = tokenizers(name)
    for text, plain, _ in golden(name.removesuffix("-directory"))["cases"]:
        # SentencePiece writes a space as U+2581, so that character itself cannot come back.
        expected = text.replace("\u2581", " ") if "spm" in name else text
        assert tokenizer.decode(plain) == expected


@pytest.mark.real_model
def test_the_vocabulary_of_a_trained_model(golden):
    from tests.support.smollm2 import smollm2_gguf

    tokenizer = from_gguf(GGUFFile.open(smollm2_gguf()).metadata)
    expected = golden("smollm2")
    assert sorted(tokenizer.eos_token_ids) == expected["eog"]
    for text, plain, special in expected["cases"]:
        assert tokenizer.encode(text, add_special=False, parse_special=False) == plain, text
        assert tokenizer.encode(text) == special, text


def test_a_directory_and_a_file_of_one_vocabulary_agree(tokenizers):
    text = json.dumps({"key": "naïve 🫠 <|im_end|>"}, ensure_ascii=False)
    assert tokenizers("tiny-llama3").encode(text) == tokenizers("tiny-llama3-directory").encode(text)
