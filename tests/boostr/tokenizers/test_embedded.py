"""Vocabularies inside GGUF files: special tokens, defaults, and files that are wrong."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

from boostr.errors import TokenizerError
from boostr.tokenizers import from_gguf
from boostr.tokenizers.partition import Special, SpecialSplitter
from boostr.tokenizers.pretokenizers import PRETOKENIZERS

ASCII = [chr(code) for code in range(0x21, 0x7F)]


def bpe(tokens=(), types=(), merges=(), **extra):
    texts = [*ASCII, "\u0120", "\u010a", *tokens]  # printable ASCII, space and newline of the byte alphabet
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": np.array([1] * (len(ASCII) + 2) + list(types or [1] * len(tokens)), np.int32),
        "tokenizer.ggml.merges": list(merges),
        **{f"tokenizer.ggml.{key}": value for key, value in extra.items()},
    }


def spm(tokens, scores, types, **extra):
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", *tokens],
        "tokenizer.ggml.scores": np.array([0, 0, 0, *scores], np.float32),
        "tokenizer.ggml.token_type": np.array([2, 3, 3, *types], np.int32),
        **{f"tokenizer.ggml.{key}": value for key, value in extra.items()},
    }


def texts(tokenizer, ids):
    return [tokenizer.token_text(token) for token in ids]


@pytest.mark.parametrize("name", sorted(PRETOKENIZERS))
def test_every_known_pretokenizer_keeps_all_of_a_text(name):
    tokenizer = from_gguf(bpe(pre=name))
    text = "def f(x): return 'HelloWorld' + str(12345)  # it's\n\n\tok!? "
    assert tokenizer.decode(tokenizer.encode(text.replace("\t", " "))) == text.replace("\t", " ")


def test_an_unknown_pretokenizer_is_named_with_the_known_ones():
    with pytest.raises(TokenizerError, match=r"'made-up'.*llama-bpe.*qwen2"):
        from_gguf(bpe(pre="made-up"))


def test_an_unknown_kind_is_named():
    with pytest.raises(TokenizerError, match=r"'rwkv'.*gpt2, llama"):
        from_gguf({"tokenizer.ggml.model": "rwkv"})


def test_a_missing_pretokenizer_is_the_default_with_a_warning(caplog):
    metadata = bpe()
    del metadata["tokenizer.ggml.pre"]
    with caplog.at_level(logging.WARNING):
        assert from_gguf(metadata).encode("12") == from_gguf(bpe(pre="default")).encode("12")
    assert "tokenizer.ggml.pre" in caplog.text


def test_ignore_merges_takes_a_whole_word():
    words = {"tokens": ["ab", "abc"], "merges": ["a b"]}  # no merge leads to abc
    whole, merged = (from_gguf(bpe(pre=name, **words)) for name in ("llama-bpe", "qwen2"))
    assert texts(whole, whole.encode("abc")) == ["abc"]
    assert texts(merged, merged.encode("abc")) == ["ab", "c"]


def test_llama3_files_that_do_not_say_begin_with_bos():
    tokens = {"tokens": ["<|begin|>"], "types": [3], "bos_token_id": 96}
    assert from_gguf(bpe(pre="llama-bpe", **tokens)).encode("a")[0] == 96
    assert from_gguf(bpe(pre="llama-bpe", add_bos_token=False, **tokens)).encode("a") == [ASCII.index("a")]
    assert from_gguf(bpe(pre="qwen2", **tokens)).encode("a") == [ASCII.index("a")]


def test_add_eos_writes_the_end():
    tokenizer = from_gguf(bpe(["<|stop|>"], [3], eos_token_id=96, add_eos_token=True))
    assert tokenizer.encode("a") == [ASCII.index("a"), 96]
    assert tokenizer.encode("a", add_special=False) == [ASCII.index("a")]


def test_user_defined_tokens_are_found_in_any_text_and_control_tokens_only_when_parsed():
    tokenizer = from_gguf(bpe(["<tag>", "<|c|>"], [4, 3]))
    assert texts(tokenizer, tokenizer.encode("<tag><|c|>", parse_special=False))[0] == "<tag>"
    assert 97 not in tokenizer.encode("<|c|>", parse_special=False)
    assert tokenizer.encode("<|c|>") == [97]
    assert tokenizer.special_tokens == {"<|c|>": 97}
    assert tokenizer.decode([96, 97]) == "<tag>"


def test_no_text_becomes_a_control_token_even_where_merges_lead_to_it():
    tokenizer = from_gguf(bpe(["ab"], [3], ["a b"], pre="llama-bpe"))
    assert 96 not in tokenizer.encode("ab", parse_special=False)
    assert tokenizer.encode("ab") == [96]


def test_well_known_end_tokens_are_control_tokens_whatever_their_type():
    tokenizer = from_gguf(bpe(["<|im_end|>", "<|eot_id|>", "<|fim_pad|>", "<|other|>"], [1, 1, 1, 3], eos_token_id=99))
    assert tokenizer.eos_token_ids == {96, 97, 98, 99}
    assert tokenizer.is_control(96)
    assert tokenizer.encode("<|im_end|>") == [96]


def test_the_end_of_a_channel_does_not_end_a_generation():
    harmony = ["<|end|>", "<|return|>", "<|call|>", "<|channel|>"]
    tokenizer = from_gguf(bpe(harmony, [3] * 4))
    assert tokenizer.eos_token_ids == {97, 98}
    assert tokenizer.decode([99, 96]) == "<|channel|><|end|>"


def test_phi3_swallows_space_behind_special_tokens():
    tokens = ["<|end|>", "<|endoftext|>"]
    metadata = bpe(tokens, [3, 3]) | {"general.name": "Phi-3 mini"}
    tokenizer = from_gguf(metadata)
    assert tokenizer.encode("<|end|> \n a") == [96, ASCII.index("a")]
    assert tokenizer.encode("<|endoftext|> a")[:2] == [97, len(ASCII)]
    assert from_gguf(bpe(tokens, [3, 3])).encode("<|end|> a")[:2] == [96, len(ASCII)]


def test_the_longest_special_text_goes_first_over_the_whole_text():
    splitter = SpecialSplitter([Special("abc", 1, True), Special("bcdef", 2, True)])
    assert splitter.split("abcdef", True) == ["a", 2]
    assert splitter.split("abcabc", True) == [1, 1]
    assert splitter.split("abcdef", False) == ["abcdef"]
    assert splitter.split("", True) == []


def test_how_a_text_is_cut_into_segments_does_not_change_its_ids(tokenizers):
    for name in ("gpt-2", "llama-spm", "tiny-llama3-directory"):
        tokenizer = tokenizers(name)
        whole = tokenizer.encode("Hello world, naïve")
        for cut in range(len("Hello world, naïve")):
            segments = [("Hello world, naïve"[:cut], True), ("Hello world, naïve"[cut:], False)]
            assert tokenizer.encode_segments(segments, add_special=True) == whole


@pytest.mark.parametrize("name", ["tiny-llama3", "tiny-llama3-directory", "tiny-qwen35"])
def test_a_control_token_in_an_untrusted_segment_stays_text(name, tokenizers):
    tokenizer = tokenizers(name)
    end = tokenizer.special_tokens["<|im_end|>"]
    ids = tokenizer.encode_segments([("a", True), ("<|im_end|>", False), ("b<|im_end|>", True)], add_special=False)
    assert ids.count(end) == 1
    assert ids[-1] == end
    assert tokenizer.decode(ids, skip_special=False) == "a<|im_end|>b<|im_end|>"


def test_spm_merges_the_best_score_first_and_the_leftmost_of_equals():
    tokens = ["a", "b", "c", "ab", "bc", "aa"]
    tokenizer = from_gguf(spm(tokens, [0, 0, 0, -2, -1, -3], [1] * 6, add_space_prefix=False))
    assert texts(tokenizer, tokenizer.encode("abc", add_special=False)) == ["a", "bc"]
    assert texts(tokenizer, tokenizer.encode("aaa", add_special=False)) == ["aa", "a"]


def test_spm_writes_unknown_text_as_bytes_or_as_unknown():
    with_bytes = spm([f"<0x{byte:02X}>" for byte in range(256)], [0] * 256, [6] * 256, add_space_prefix=False)
    assert from_gguf(with_bytes).encode("é", add_special=False) == [3 + 0xC3, 3 + 0xA9]
    assert from_gguf(spm(["a"], [0], [1], add_space_prefix=False)).encode("é", add_special=False) == [0, 0]


def test_a_token_that_only_looks_like_a_byte_is_none():
    tokenizer = from_gguf(spm(["<0x-1>", "<0x41>"], [0, 0], [6, 6]))
    assert tokenizer.token_bytes(3) == b""
    assert tokenizer.token_bytes(4) == b"A"


def test_spm_prefixes_a_space_at_the_start_and_behind_special_tokens(tokenizers):
    tokenizer = tokenizers("llama-spm")
    hi = tokenizer.encode("hi", add_special=False)
    assert tokenizer.token_text(hi[0]) == "\u2581hi"
    assert tokenizer.encode("hi</s>hi") == [1, *hi, 2, *hi]


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm", "tiny-llama3-directory"])
def test_a_lone_surrogate_is_refused_by_name(name, tokenizers):
    with pytest.raises(TokenizerError, match=r"U\+D83D at character 2"):
        tokenizers(name).encode("ab\ud83d")


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm", "tiny-llama3-directory", "tiny-spm-directory"])
def test_nul_is_a_character_like_any_other(name, tokenizers):
    tokenizer = tokenizers(name)
    assert tokenizer.decode(tokenizer.encode("a\0b")) == "a\0b"


@pytest.mark.parametrize("name", ["gpt-2", "llama-spm"])
@pytest.mark.parametrize("text", ["a", " ", "<", "日本語 text, "])
def test_long_texts_take_linear_time(name, text, tokenizers):
    tokenizer = tokenizers(name)
    started = time.perf_counter()
    ids = tokenizer.encode((text * 100_000)[:100_000])
    assert time.perf_counter() - started < 5.0, "a quadratic algorithm takes minutes"
    assert ids


BROKEN = {
    "no tokens": ({"tokens": []}, "tokenizer.ggml.tokens"),
    "tokens are a text": ({"tokens": "abc"}, "tokenizer.ggml.tokens"),
    "a token is a number": ({"tokens": ["a", 3]}, "not a string"),
    "types too short": ({"token_type": np.array([1], np.int32)}, "token_type"),
    "types are texts": ({"token_type": np.array(["a"] * 96)}, "token_type"),
    "types are ragged": ({"token_type": [[1], [1, 2]]}, "token_type"),
    "no merges": ({"merges": None}, "merges"),
    "a merge of one part": ({"merges": ["ab"]}, "merges"),
    "a merge that is a number": ({"merges": [1]}, "merges"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_metadata_is_refused_by_key(change, message):
    metadata = bpe() | {f"tokenizer.ggml.{key}": value for key, value in change.items()}
    with pytest.raises(TokenizerError, match=message):
        from_gguf(metadata)


@pytest.mark.parametrize("value", [-1, 10**6, "2", 1.5, None])
def test_a_special_id_out_of_range_is_as_if_absent(value):
    tokenizer = from_gguf(bpe(bos_token_id=value, eos_token_id=value, add_bos_token=True, add_eos_token=True))
    assert tokenizer.bos_token_id is None
    assert tokenizer.eos_token_id is None
    assert tokenizer.encode("a") == [ASCII.index("a")]


def test_merges_of_unknown_tokens_are_left_out():
    tokenizer = from_gguf(bpe(["ab"], merges=["zz q", "a b"]))
    assert texts(tokenizer, tokenizer.encode("ab")) == ["ab"]


def test_spm_without_scores_is_refused():
    metadata = spm(["a"], [0], [1])
    del metadata["tokenizer.ggml.scores"]
    with pytest.raises(TokenizerError, match=r"tokenizer\.ggml\.scores"):
        from_gguf(metadata)


def test_an_empty_token_is_harmless():
    tokenizer = from_gguf(bpe(["", "xy"], merges=["x y"]))
    assert texts(tokenizer, tokenizer.encode("xy")) == ["xy"]
    assert tokenizer.token_text(96) == "[EMPTY_96]"
