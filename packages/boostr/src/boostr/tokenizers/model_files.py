"""What a model directory says of its special tokens outside tokenizer.json: the three JSON files that name them.

Reads tokenizer_config.json, config.json and generation_config.json; a file that is not there says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostr.formats.json_file import read_json_object

__all__ = ["DeclaredTokens", "read_declared_tokens", "read_json"]


@dataclass(frozen=True, slots=True)
class DeclaredTokens:
    """Texts of tokenizer_config.json, and the ids of the other two files."""

    bos: str | None
    eos: str | None
    add_bos: bool | None
    add_eos: bool | None
    bos_id: int | None
    eos_ids: tuple[int, ...]

    def end_ids(self, vocab_size: int) -> frozenset[int]:
        """The declared end ids that the vocabulary has."""
        return frozenset(token for token in self.eos_ids if 0 <= token < vocab_size)


def read_declared_tokens(directory: Path) -> DeclaredTokens:
    """What the directory's files declare. Raises FormatError for a file that is not a JSON object."""
    tokenizer = read_json(directory / "tokenizer_config.json")
    generation = read_json(directory / "generation_config.json")
    config = read_json(directory / "config.json")
    text_config = config.get("text_config")
    sources = [generation, config, text_config if isinstance(text_config, dict) else {}]
    bos_ids = [token for source in sources for token in _ids(source.get("bos_token_id"))]
    return DeclaredTokens(
        bos=_text(tokenizer.get("bos_token")),
        eos=_text(tokenizer.get("eos_token")),
        add_bos=_flag(tokenizer.get("add_bos_token")),
        add_eos=_flag(tokenizer.get("add_eos_token")),
        bos_id=bos_ids[0] if bos_ids else None,
        eos_ids=tuple(token for source in sources for token in _ids(source.get("eos_token_id"))),
    )


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} without the file. Raises FormatError."""
    return read_json_object(path) if path.exists() else {}


def _text(value: object) -> str | None:
    # Either the text, or an AddedToken object with its text as `content`.
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _ids(value: object) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [token for token in values if isinstance(token, int) and not isinstance(token, bool)]
