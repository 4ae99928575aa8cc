"""Ids of real vocabularies against llama.cpp, live. BOOSTR_VOCAB_DIR names a folder of vocabulary-only GGUF files.

llama.cpp's source tree has such files under models/ (also inside the source distribution of llama-cpp-python). Part of
the parity session.
"""

import os
import random
from pathlib import Path

import pytest

from boostr.formats.gguf.reader import GGUFFile
from boostr.tokenizers import from_gguf

llama_cpp = pytest.importorskip("llama_cpp")

FOLDER = os.environ.get("BOOSTR_VOCAB_DIR")
SUPPORTED = ("gpt2", "llama")
FILES = sorted(Path(FOLDER).glob("*.gguf")) if FOLDER else []

FIXED = [
    "",
    " ",
    "   a",
    "\t\n \r\n x",
    "I'm he'll WE'VE 'Tis don’t",
    "1 12 123 1234 12345678 3.14 ٣٤٥ ½ Ⅷ x²",
    "def f(a, b=None):\n\treturn a**2 if b else [a]*3  # ok\n",
    "naïve café “quotes” … ﬁ 日本語、中文 한국어 हिन्दी ไทย مرحبا нещо",
    "🚀👨‍👩‍👧‍👦 \U0001fae0 e\u0301 \u00a0\u2003\u200b\ufeff",
    "<s>hi</s> <|im_start|>user\nhi<|im_end|> <|endoftext|>  x",
    "camelCase HTTPServer ПриветМир",
    "<0x41> <0x-1> ▁▁ ▁a",
    "\0\x01\x7f",
]
ALPHABET = list("aAbzZ019 \n\t\r'.,!<>|_-=é日한🚀²½\u00a0\u3000ßЖ")


def texts() -> list[str]:
    chance = random.Random(1)
    made = ["".join(chance.choice(ALPHABET) for _ in range(chance.randint(1, 60))) for _ in range(300)]
    return FIXED + made


@pytest.mark.skipif(not FILES, reason="BOOSTR_VOCAB_DIR names no folder with GGUF files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ids_are_those_of_llama_cpp(path: Path) -> None:
    metadata = GGUFFile.open(path).metadata
    if metadata.get("tokenizer.ggml.model") not in SUPPORTED:
        pytest.skip(f"a {metadata.get('tokenizer.ggml.model')} vocabulary")
    ours = from_gguf(metadata)
    theirs = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    for text in texts():
        for special in (False, True):
            expected = theirs.tokenize(text.encode(), add_bos=special, special=special)
            assert ours.encode(text, add_special=special, parse_special=special) == expected, (text, special)
    is_end = llama_cpp.llama_vocab_is_eog
    vocabulary = llama_cpp.llama_model_get_vocab(theirs.model)
    assert ours.eos_token_ids == {token for token in range(ours.vocab_size) if is_end(vocabulary, token)}
