"""GGUF files byte by byte, so that tests can say things a proper writer would refuse to."""

import struct
from collections.abc import Sequence
from pathlib import Path

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str | bytes, kind: int, payload: bytes) -> bytes:
    return string(key) + struct.pack("<I", kind) + payload


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def array(kind: int, count: int, payload: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + payload


def tensor(name: str | bytes, ne: Sequence[int], kind: int = 0, offset: int = 0, rank: int | None = None) -> bytes:
    dims = struct.pack(f"<{len(ne)}Q", *ne)
    return string(name) + struct.pack("<I", len(ne) if rank is None else rank) + dims + struct.pack("<IQ", kind, offset)


def gguf(
    pairs: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    n_pairs: int | None = None,
    n_tensors: int | None = None,
    alignment: int = 32,
) -> bytes:
    head = magic + struct.pack(
        "<IQQ",
        version,
        len(tensors) if n_tensors is None else n_tensors,
        len(pairs) if n_pairs is None else n_pairs,
    )
    head += b"".join(pairs) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data if data else head


def save(directory: Path, content: bytes, name: str = "model.gguf") -> Path:
    path = directory / name
    path.write_bytes(content)
    return path
