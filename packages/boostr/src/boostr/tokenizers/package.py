"""Calls into the `tokenizers` package that leave other threads alone, and whose faults are errors like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boostr.errors import TokenizerError

__all__ = ["encode_ids", "package_faults"]

# Characters. `encode` holds the interpreter's lock, about 3 us a character of digits; a batch of one does not, but
# starts the package's own threads, which short texts need not pay for.
_LONG = 4096


def encode_ids(backend: Any, text: str, *, add_special_tokens: bool = False) -> list[int]:
    """Ids of `text` from a `tokenizers.Tokenizer`. Other Python threads run on while a long text is encoded.

    Raises TokenizerError where the package gives up, as on an expression of the file that backtracks without end.
    """
    with package_faults("the tokenizer cannot encode this text"):
        if len(text) < _LONG:
            ids: list[int] = backend.encode(text, add_special_tokens=add_special_tokens).ids
            return ids
        batch: list[int] = backend.encode_batch([text], add_special_tokens=add_special_tokens)[0].ids
        return batch


@contextmanager
def package_faults(what: str) -> Iterator[None]:
    """Turns what the package raises into TokenizerErrors that begin with `what`."""
    try:
        yield
    except BaseException as error:  # bare Exceptions, and a BaseException of its own where its Rust code panics
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise TokenizerError(f"{what}: {error}") from error
        raise
