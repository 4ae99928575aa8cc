"""Which of the two native paths a thread's rounded products take: rows one by one, or row-interleaved tiles.

Both multiply the same integers and add them up in other orders. Left alone, a product goes by its number of rows.
Whoever packs sequences says it instead, so that a row's bits do not tell which rows ran beside it: rounding activations
again in the next layer turns a last bit into tenths of a logit.
"""

import threading

__all__ = ["path"]


class _Path(threading.local):
    """`many` True: tiles, False: rows, None: by the number of rows. Each thread has its own."""

    many: bool | None = None


path = _Path()
