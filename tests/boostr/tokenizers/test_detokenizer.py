"""Streams of tokens decode to whole characters, wherever the tokens are cut."""

from __future__ import annotations

import pytest

from boostr.errors import TokenizerError
from boostr.tokenizers.detokenizer import incomplete_tail

ALL = ["gpt-2", "llama-spm", "tiny-llama3", "tiny-spm", "tiny-llama3-directory", "tiny-spm-directory"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("text", ["\U0001fae0", "\U0001f979", "\u9f9c", "a\U0001fae0b\U0001f979c\u9f9cd"])
def test_a_character_spread_over_tokens_comes_out_whole(name, text, tokenizers):
    tokenizer = tokenizers(name)
    ids = tokenizer.encode(text, add_special=False)
    assert len(ids) > len(text), "the vocabulary must not hold these characters for this test to mean anything"
    detokenizer = tokenizer.detokenizer()
    pieces = [detokenizer.feed(token) for token in ids]
    assert "".join(pieces) == text
    assert detokenizer.flush() == ""
    assert not any("\ufffd" in piece for piece in pieces)


@pytest.mark.parametrize("name", ALL)
def test_token_bytes_join_to_the_text(name, tokenizers):
    tokenizer = tokenizers(name)
    ids = tokenizer.encode("naïve \U0001fae0 日本", add_special=False)
    assert b"".join(map(tokenizer.token_bytes, ids)).removeprefix(b" ").decode() == "naïve \U0001fae0 日本"


def test_a_text_that_ends_within_a_character_is_shown_so(tokenizers):
    tokenizer = tokenizers("gpt-2")
    detokenizer = tokenizer.detokenizer()
    ids = tokenizer.encode("\U0001fae0", add_special=False)
    assert [detokenizer.feed(token) for token in ids[:-1]] == [""] * (len(ids) - 1)
    assert detokenizer.flush() == "\ufffd"


def test_bytes_that_are_no_character_do_not_raise(tokenizers):
    tokenizer = tokenizers("llama-spm")
    ids = [3 + 0xFF, 3 + 0x41]  # <0xFF> <0x41>
    assert tokenizer.decode(ids) == "\ufffdA"


def test_the_first_space_of_a_sentencepiece_text_is_dropped_only_at_its_start(tokenizers):
    tokenizer = tokenizers("llama-spm")
    hello = tokenizer.encode("Hello", add_special=False)
    assert tokenizer.decode([1, *hello]) == "Hello"
    assert tokenizer.detokenizer(prompt_ids=[1]).feed(hello[0]) == "Hello"
    assert tokenizer.detokenizer(prompt_ids=[1, *hello]).feed(hello[0]) == " Hello"


def test_a_prompt_that_ends_within_a_character_is_completed(tokenizers):
    tokenizer = tokenizers("gpt-2")
    ids = tokenizer.encode("a\u9f9c", add_special=False)
    detokenizer = tokenizer.detokenizer(prompt_ids=ids[:-1])
    assert detokenizer.feed(ids[-1]) == "\u9f9c"


@pytest.mark.parametrize("name", ["tiny-llama3", "tiny-llama3-directory"])
def test_control_tokens_are_shown_only_when_asked_for(name, tokenizers):
    tokenizer = tokenizers(name)
    ids = tokenizer.encode("a<|im_end|>b")
    assert tokenizer.decode(ids) == "ab"
    assert tokenizer.decode(ids, skip_special=False) == "a<|im_end|>b"
    assert tokenizer.token_bytes(tokenizer.special_tokens["<|im_end|>"]) == b""


@pytest.mark.parametrize("name", ["gpt-2", "tiny-spm", "tiny-llama3-directory"])
@pytest.mark.parametrize("offset", [-1, 0, 1 << 40])
def test_an_unknown_id_is_an_error(name, offset, tokenizers):
    tokenizer = tokenizers(name)
    bad = offset if offset < 0 else tokenizer.vocab_size + offset
    for read in (tokenizer.token_text, tokenizer.token_bytes, tokenizer.is_control):
        with pytest.raises(TokenizerError, match="no token"):
            read(bad)


def test_incomplete_tail_at_every_cut():
    for text in ("é", "日", "\U0001fae0"):
        data = text.encode()
        for cut in range(1, len(data)):
            assert incomplete_tail(b"ab" + data[:cut]) == data[:cut]
        assert incomplete_tail(data) == b""
    assert incomplete_tail(b"\x80\x80\x80") == b""
    assert incomplete_tail(b"") == b""
