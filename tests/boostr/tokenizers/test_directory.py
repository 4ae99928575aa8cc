"""Model directories: which file wins, where special tokens are declared, and files that are wrong."""

from __future__ import annotations

import json
import shutil

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from boostr.errors import BoostrError, FormatError, ModelNotFoundError, TokenizerError
from boostr.tokenizers import from_directory

from .conftest import DATA

WORDS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"\u2581hi</s>", "hi", "\u2581hi"]


@pytest.fixture
def llama_like(tmp_path):
    """A tokenizer.json in Llama's manner: spaces as U+2581, one before a text, byte fallback, BOS added."""
    vocabulary = {text: token for token, text in enumerate(dict.fromkeys(WORDS))}
    tokenizer = Tokenizer(
        models.BPE(vocabulary, [("h", "i"), ("\u2581", "hi")], byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in ("<s>", "</s>")])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": False})
    )
    return tmp_path


def test_the_post_processor_decides_on_bos(llama_like):
    tokenizer = from_directory(llama_like)
    assert tokenizer.add_bos
    assert tokenizer.encode("hi")[0] == tokenizer.bos_token_id == 1
    assert tokenizer.encode("hi", add_special=False)[0] != 1


def test_decoding_is_that_of_the_package(llama_like):
    tokenizer = from_directory(llama_like)
    backend = Tokenizer.from_file(str(llama_like / "tokenizer.json"))
    for text in ("hi", " hi", "hi é\U0001fae0 hi", "hi</s>hi"):
        ids = tokenizer.encode(text)
        assert ids == backend.encode(text).ids
        assert tokenizer.decode(ids) == backend.decode(ids)


def test_untrusted_text_gets_no_space_within_a_prompt(llama_like):
    tokenizer = from_directory(llama_like)
    segments = [("<s>", True), ("hi</s>", False), ("</s>hi", True)]
    pieces = [tokenizer.token_text(token) for token in tokenizer.encode_segments(segments, add_special=False)]
    assert pieces == ["<s>", "hi", "<", "/", "s", ">", "</s>", "hi"]


def test_untrusted_text_at_the_start_is_framed_like_any_other(llama_like):
    tokenizer = from_directory(llama_like)
    ids = tokenizer.encode_segments([("hi</s>", False)], add_special=True)
    assert [tokenizer.token_text(token) for token in ids] == ["<s>", "\u2581hi", "<", "/", "s", ">"]


def test_end_tokens_come_from_all_three_files(llama_like):
    (llama_like / "generation_config.json").write_text('{"eos_token_id": [5, 6, 99999999]}')
    (llama_like / "config.json").write_text('{"eos_token_id": 7, "text_config": {"eos_token_id": 8}}')
    tokenizer = from_directory(llama_like)
    assert tokenizer.eos_token_id == 2
    assert tokenizer.eos_token_ids == {2, 5, 6, 7, 8}


def test_without_a_tokenizer_config_the_ids_of_the_others_count(llama_like):
    (llama_like / "tokenizer_config.json").unlink()
    (llama_like / "config.json").write_text('{"eos_token_id": 2, "bos_token_id": 1}')
    tokenizer = from_directory(llama_like)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)


def test_tokenizer_json_wins_over_tokenizer_model(llama_like):
    shutil.copy(DATA / "tiny-spm" / "tokenizer.model", llama_like)
    assert from_directory(llama_like).vocab_size == len(dict.fromkeys(WORDS))


def test_a_directory_without_either_says_so(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        from_directory(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"model": 3}', '{"version": "1.0", "model": {"type": "BPE"}}', "\0" * 64]
)
def test_a_broken_tokenizer_json_is_refused(text, tmp_path):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        from_directory(tmp_path)


def test_a_broken_config_is_refused_by_name(llama_like):
    (llama_like / "generation_config.json").write_text("[1")
    with pytest.raises(FormatError, match=r"generation_config\.json"):
        from_directory(llama_like)


def test_added_tokens_extend_a_sentencepiece_model(tmp_path):
    shutil.copy(DATA / "tiny-spm" / "tokenizer.model", tmp_path)
    (tmp_path / "added_tokens.json").write_text('{"<|im_end|>": 514}')
    tokenizer = from_directory(tmp_path)
    assert tokenizer.vocab_size == 515
    assert tokenizer.encode("<|im_end|>") == [1, 514]
    assert 514 in tokenizer.eos_token_ids
    assert tokenizer.decode([513]) == ""


def test_a_sentencepiece_model_cut_anywhere_is_refused_or_smaller(tmp_path):
    data = (DATA / "tiny-spm" / "tokenizer.model").read_bytes()
    refused = 0
    for cut in range(0, len(data), 61):
        (tmp_path / "tokenizer.model").write_bytes(data[:cut])
        try:
            assert from_directory(tmp_path).vocab_size <= 512
        except BoostrError:
            refused += 1
    assert refused > 100, "only cuts between two fields leave a readable file"


def test_a_sentencepiece_model_of_another_kind_is_refused(tmp_path):
    piece = b"\x0a\x01a"
    (tmp_path / "tokenizer.model").write_bytes(b"\x0a" + bytes([len(piece)]) + piece + b"\x12\x02\x18\x01")
    with pytest.raises(TokenizerError, match="not a BPE model"):
        from_directory(tmp_path)
