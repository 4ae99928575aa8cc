"""Which files of a release are the model. Works on names alone, so that hub repositories and wheels share the rules.

Everything else stays where it is: other quantizations, ONNX copies, pickles, images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from blazr.errors import PullError

__all__ = ["INDEX", "companions", "gguf_files", "has_safetensors", "safetensors_files"]

INDEX = "model.safetensors.index.json"
# Good quality for its size first. A file of none of these kinds is taken when it is the only one.
PREFERENCE = ("Q4_K_M", "Q4_K_S", "Q5_K_M", "Q5_K_S", "Q8_0", "Q6_K", "Q3_K_M", "Q2_K", "Q4_1", "Q4_0", "BF16", "F16")
COMPANIONS = {
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "quantize_config.json",
    "quant_config.json",
}
_LICENCE = re.compile(r"(licen[sc]e|copying|notice)([._-].*)?", re.IGNORECASE)
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def companions(names: Iterable[str]) -> list[str]:
    """Configuration, tokenizer, template and licence files among plain names."""
    return sorted(name for name in names if name in COMPANIONS or _LICENCE.fullmatch(name))


def has_safetensors(names: Iterable[str]) -> bool:
    return any(name == INDEX or name.endswith(".safetensors") for name in names)


def safetensors_files(names: Iterable[str], source: str) -> list[str]:
    """The weights of a release without an index: model.safetensors, or the only file there is."""
    found = sorted(name for name in names if name.endswith(".safetensors"))
    if "model.safetensors" in found:
        return ["model.safetensors"]
    if len(found) != 1:
        raise PullError(f"{source} has several .safetensors files and no {INDEX}: choose with --file: {_list(found)}")
    return found


def gguf_files(names: Iterable[str], source: str, file: str | None = None) -> list[str]:
    """One GGUF model, all parts of it when it is split: `file`, else by PREFERENCE, else the only one."""
    parts: dict[str, list[str]] = {}
    for name in sorted(name for name in names if name.endswith(".gguf")):
        parts.setdefault(_PART.sub(r"-00001-of-\2.gguf", name), []).append(name)
    if not parts:
        raise PullError(f"{source} holds no model files (.safetensors or .gguf)")
    if file is not None:
        first = _PART.sub(r"-00001-of-\2.gguf", file)
        if first not in parts:
            raise PullError(f"{source} has no file {file} (--file); it has {_list(parts)}")
        return _complete(first, parts[first], source)
    chosen = _preferred(parts)
    if chosen is None:
        raise PullError(f"{source} has several GGUF files: choose with --file: {_list(parts)}")
    return _complete(chosen, parts[chosen], source)


def _preferred(names: Iterable[str]) -> str | None:
    listed = list(names)
    if len(listed) == 1:
        return listed[0]
    for kind in PREFERENCE:
        pattern = re.compile(rf"(^|[._-]){kind}([._-]|$)", re.IGNORECASE)
        for name in listed:
            if pattern.search(name.removesuffix(".gguf")) and "mmproj" not in name.lower():
                return name
    return None


def _complete(first: str, parts: list[str], source: str) -> list[str]:
    match = _PART.search(first)
    if match is not None and len(parts) != int(match[2]):
        raise PullError(f"{source}: {first} should have {int(match[2])} parts and {len(parts)} are there")
    return parts


def _list(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else "")
