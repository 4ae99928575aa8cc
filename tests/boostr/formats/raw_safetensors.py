"""SafeTensors files byte by byte, so that tests can say things a proper writer would refuse to."""

import json
import struct
from pathlib import Path
from typing import Any


def entry(dtype: str = "F32", shape: Any = (2,), start: Any = 0, stop: Any = 8) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape) if isinstance(shape, tuple) else shape, "data_offsets": [start, stop]}


def safetensors(header: dict[str, Any] | str | bytes, data: bytes = b"", *, length: int | None = None) -> bytes:
    text = json.dumps(header) if isinstance(header, dict) else header
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def save(directory: Path, content: bytes, name: str = "model.safetensors") -> Path:
    path = directory / name
    path.write_bytes(content)
    return path
