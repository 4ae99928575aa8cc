"""The alphabet of byte-level BPE: every byte has one printable character, so any text is a string of known symbols.

Bytes that print keep their Latin-1 character; the other 68 take U+0100 and up, in byte order (GPT-2's table).
"""

from __future__ import annotations

__all__ = ["BYTE_OF", "decode_symbols"]


def _alphabet() -> dict[str, int]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


BYTE_OF = _alphabet()


def decode_symbols(text: str) -> bytes:
    """Bytes of a byte-level token; a token with a character outside the alphabet was added by hand and means itself."""
    try:
        return bytes([BYTE_OF[symbol] for symbol in text])
    except KeyError:
        return text.encode()
