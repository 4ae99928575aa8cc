"""JSON of a downloaded model, read with bounds: size, nesting, no duplicate keys, an object at the top."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from boostr.errors import FormatError, ModelNotFoundError

__all__ = ["MAX_JSON_BYTES", "parse_json_object", "read_json_object"]

# The largest files read this way (index files of several hundred thousand tensors) stay below this.
MAX_JSON_BYTES = 64 << 20
MAX_DEPTH = 64


def read_json_object(path: str | os.PathLike[str], limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in `path`, of at most `limit` bytes. Raises ModelNotFoundError or FormatError naming the file."""
    path = Path(path)
    if not path.exists():
        raise ModelNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise FormatError(f"{path} is not a regular file")
    try:
        with path.open("rb") as file:
            text = file.read(limit + 1)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > limit:
        raise FormatError(f"{path} is larger than {limit} bytes; this is not what a model ships under that name")
    return parse_json_object(text, path)


def parse_json_object(text: bytes, source: object) -> dict[str, Any]:
    """The object in `text`; NaN and Infinity are let through, as published configs carry them."""
    try:
        value = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise FormatError(f"{source}: nested more than {MAX_DEPTH} deep") from error
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, _DuplicateKeyError, integers of absurd length
        raise FormatError(f"{source}: not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(f"{source}: holds a JSON {_kind(value)} where an object is expected")
    if _deeper_than(value, MAX_DEPTH):
        raise FormatError(f"{source}: nested more than {MAX_DEPTH} deep")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} appears twice")
    return found


def _deeper_than(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Any) -> list[Any]:
    children = node.values() if isinstance(node, dict) else node
    return [child for child in children if isinstance(child, dict | list)]


def _kind(value: Any) -> str:
    names = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
