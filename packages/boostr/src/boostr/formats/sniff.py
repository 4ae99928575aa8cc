"""What the first bytes of a file are, for messages about files that are not what their name says."""

from __future__ import annotations

__all__ = ["looks_like", "not_this_format"]

_LFS_POINTER = b"version https://git-lfs"


def looks_like(head: bytes) -> str | None:
    """ "gguf" or "safetensors" by the first 16 bytes, None for anything else."""
    if head[:4] in (b"GGUF", b"FUGG"):
        return "gguf"
    # u64 header length (below 2^40, so three zero bytes), then the JSON object itself.
    if len(head) >= 9 and head[5:8] == b"\0\0\0" and head[8:9] == b"{":
        return "safetensors"
    return None


def not_this_format(path: object, wanted: str, head: bytes) -> str:
    """A message that shows how the file starts and what to do about it."""
    shown = "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in head[:16])
    return f"{path}: not a {wanted} file (starts with '{shown}'); {_remedy(head)}"


def _remedy(head: bytes) -> str:
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "this is a web page, not the model: download the file again from its direct link"
    if text.startswith(_LFS_POINTER):
        return "this is a Git LFS pointer, not the model: run `git lfs pull`, or download the file again"
    if text.startswith(b"{"):
        return "this is JSON, probably an error message of the server: download the file again"
    if head.startswith(b"PK\x03\x04"):
        return "this is a zip archive (a PyTorch .bin or .pt?): use the SafeTensors or GGUF release of the model"
    return "the download may be damaged or incomplete: download the file again"
