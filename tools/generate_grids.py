"""Writes the codebooks of the IQ types as a C header, from the tables that the NumPy dequantizers read.

    python tools/generate_grids.py

The elements of a point take few values, so a point is kept as their numbers, 2 or 3 bits each, and a macro makes bytes
of them: the header stays small, and the compiler does the rest.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from boostr.quant.dequant.iq import grid

HEADER = Path(__file__).parents[1] / "packages/boostr/src/boostr/quant/native/grids.h"
PER_LINE = 16


@dataclass(frozen=True)
class Codebook:
    """A grid, the bits of an element's number, and the macro that makes bytes of numbers."""

    type: str
    bits: int
    macro: str


CODEBOOKS = (
    Codebook("IQ2_XXS", 2, "GRID_2"),
    Codebook("IQ2_XS", 2, "GRID_2"),
    Codebook("IQ2_S", 2, "GRID_2"),
    Codebook("IQ1_S", 2, "GRID_1"),
    Codebook("IQ3_XXS", 3, "GRID_3X"),
    Codebook("IQ3_S", 3, "GRID_3"),
)

OPENING = """\
/* Codebooks of the IQ types, made by tools/generate_grids.py. A point is 8 or 4 bytes, its first element the lowest:
   IQ2: 8, 25, 43; IQ3_XXS: 4, 12 .. 52, 62; IQ3_S: 1, 3 .. 15; IQ1 (IQ1_M has the grid of IQ1_S): 0, 8, 16, which stand
   for -1, 0, 1. Stored are the numbers of these values, 2 or 3 bits each. */
#ifndef BOOSTR_GRIDS_H
#define BOOSTR_GRIDS_H

#include <stdint.h>

#define GRID_BYTES8(x) \\
  ((uint64_t)((x) & 3) | (uint64_t)((x) >> 2 & 3) << 8 | (uint64_t)((x) >> 4 & 3) << 16 | \\
   (uint64_t)((x) >> 6 & 3) << 24 | (uint64_t)((x) >> 8 & 3) << 32 | (uint64_t)((x) >> 10 & 3) << 40 | \\
   (uint64_t)((x) >> 12 & 3) << 48 | (uint64_t)((x) >> 14 & 3) << 56)
#define GRID_BYTES4(x) \\
  ((uint32_t)((x) & 7) | (uint32_t)((x) >> 3 & 7) << 8 | (uint32_t)((x) >> 6 & 7) << 16 | \\
   (uint32_t)((x) >> 9 & 7) << 24)
#define GRID_TOP4(x) \\
  ((uint32_t)(((x) & 7) == 7) | (uint32_t)(((x) >> 3 & 7) == 7) << 8 | (uint32_t)(((x) >> 6 & 7) == 7) << 16 | \\
   (uint32_t)(((x) >> 9 & 7) == 7) << 24)
#define GRID_1(x) (GRID_BYTES8(x) * 8)
#define GRID_2(x) (0x0808080808080808u + GRID_BYTES8(x) * 17 + (GRID_BYTES8(x) >> 1 & 0x0101010101010101u))
#define GRID_3(x) (0x01010101u + GRID_BYTES4(x) * 2)
#define GRID_3X(x) (0x04040404u + GRID_BYTES4(x) * 8 + GRID_TOP4(x) * 2)
#define GRID_LINE(of, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \\
  of(a), of(b), of(c), of(d), of(e), of(f), of(g), of(h), of(i), of(j), of(k), of(l), of(m), of(n), of(o), of(p)
"""


def numbers(book: Codebook) -> list[int]:
    """Each point of a codebook as one integer of its elements' numbers, the first lowest."""
    points = grid(book.type).astype(np.int64)
    _, places = np.unique(points, return_inverse=True)
    shifts = np.arange(points.shape[1]) * book.bits
    return [int(point) for point in (places.reshape(points.shape) << shifts).sum(axis=1)]


def table(book: Codebook) -> str:
    points = numbers(book)
    kind = "uint64_t" if book.bits == 2 else "uint32_t"
    lines = ["  L(" + ",".join(map(str, points[at : at + PER_LINE])) + "),\n" for at in range(0, len(points), PER_LINE)]
    head = f"\n#define L(...) GRID_LINE({book.macro}, __VA_ARGS__)\n"
    return f"{head}static const {kind} grid_{book.type.lower()}[{len(points)}] = {{\n{''.join(lines)}}};\n#undef L\n"


def header() -> str:
    return OPENING + "".join(table(book) for book in CODEBOOKS) + "\n#endif\n"


def main() -> int:
    HEADER.write_text(header(), encoding="utf-8")
    print(f"{HEADER}: {len(header().splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
