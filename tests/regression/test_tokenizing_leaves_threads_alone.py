"""A long prompt once stopped every other thread, and with it a server's health checks, until it was tokenized."""

import gzip
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from boostr.formats.gguf.reader import GGUFFile
from boostr.tokenizers import Tokenizer, from_directory, from_gguf

DATA = Path(__file__).parents[1] / "data" / "tokenizers"


def tokenizer_of(kind: str, folder: Path) -> Tokenizer:
    if kind == "tokenizer.json":
        return from_directory(DATA / "tiny-llama3")
    path = folder / "gpt-2.gguf"
    path.write_bytes(gzip.decompress((DATA / "ggml-vocab-gpt-2.gguf.gz").read_bytes()))
    return from_gguf(GGUFFile.open(path).metadata)


@pytest.mark.parametrize("kind", ["gguf", "tokenizer.json"])
def test_another_thread_runs_while_a_long_text_is_encoded(kind: str, tmp_path: Path) -> None:
    tokenizer = tokenizer_of(kind, tmp_path)
    text = "a 1 b 2 " * 40_000
    turns: list[float] = []
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.005):
            turns.append(time.monotonic())

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    ids = tokenizer.encode(text)
    end = time.monotonic()
    done.set()
    thread.join()
    assert ids[:8] == tokenizer.encode(text[:64])[:8]
    # The list of ids is built under the lock, a small part of the whole.
    inside = [begin, *(t for t in turns if begin < t < end), end]
    assert max(b - a for a, b in pairwise(inside)) < 0.6 * (end - begin)


def test_long_and_short_texts_are_encoded_alike(tmp_path: Path) -> None:
    tokenizer = tokenizer_of("gguf", tmp_path)
    line = "Words, numbers 12345 and \U0001f979 stand here.\n"
    assert tokenizer.encode(line * 400) == tokenizer.encode(line) * 400
