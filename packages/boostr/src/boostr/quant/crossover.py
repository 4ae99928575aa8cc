"""How many rows of activations which kernels take, per CPU level. Data with its measurements."""

__all__ = ["MANY_ROWS", "few_rows", "tiled_from"]

# GFLOP/s of kernels / tiles with BLAS, best of interleaved runs of benchmarks/matmul.py --paths on two cores with
# AVX-512 VNNI (Sapphire Rapids, a shared machine), weights 4096x2048:
#   Q4_1 fast     M=8: 140/2   M=64: 135/11   M=256: 92/45    M=1024: 125/105
#   Q8_0 fast     M=8: 134/8   M=64: 90/11    M=256: 107/45   M=1024: 127/107
#   Q4_K fast     M=8: 198/23  M=64: 67/20    M=256: 66/47    M=1024: 91/100
#   Q6_K fast     M=8: 113/2   M=64: 89/11    M=256: 79/54    M=1024: 129/121
#   Q4_1 precise  M=8: 46/21   M=32: 125/58   M=64: 110/91    M=128: 105/124
#   F16           M=8: 105/21  M=32: 98/20    M=64: 83/79     M=128: 129/113
#   F32           M=8: 70/36   M=32: 87/78    M=64: 94/107    M=128: 82/103
# So with VNNI the integer products win up to about a thousand rows, products of floats up to about 64.
# Without VNNI (Skylake-AVX512, Q4_K): 91 against 78 ms at M=128, 66 against 80 GFLOP/s at M=512.
#
# Integer products stay with the kernels for any number of rows all the same. Their sums have the same bits whatever M
# is, and BLAS's do not: a last bit that differs becomes another rounded activation in the next layer, and logits of a
# small model then move by almost one. A tenth of prefill speed is less than an answer that depends on its company.
_FLOAT = {"avx512vnni": 64, "avx512": 64, "avx2": 16, "neon": 16, "baseline": 4}
ANY = 1 << 62


# Rounded products of this many rows and more run on row-interleaved tiles where the CPU multiplies bytes. GFLOP/s, int8
# tiles / rows, int16 tiles / rows, medians of five interleaved runs on the same machine, busy with other work:
#   Q4_K 8192x2048  M=16: 53/61, 47/62   M=64: 85/67, 61/61    M=128: 93/59, 68/61    M=512: 126/62, 77/66
#   Q4_K 2048x8192  M=16: 110/123, 67/96 M=64: 139/83, 87/61   M=128: 127/70, 67/52   M=512: 148/72, 143/56
#   Q8_0 8192x2048  M=16: 42/72, 34/63   M=64: 94/87, 61/67    M=128: 114/92, 74/69   M=512: 144/87, 102/65
#   Q8_0 2048x8192  M=16: 99/200, 78/54  M=64: 154/82, 84/80   M=128: 169/75, 92/57   M=512: 260/106, 151/91
# One number for all types and levels: whoever packs sequences can then keep each row on one path (see Batch).
MANY_ROWS = 64
_TILED = {"avx512vnni": MANY_ROWS}


def tiled_from(level: str) -> int:
    """The smallest number of rows that the tiles take; ANY where they do not pay."""
    return _TILED.get(level, ANY)


def few_rows(level: str, rounds: bool) -> int:
    """The largest number of rows for the kernels of `level`; `rounds`: whether they multiply rounded activations."""
    return ANY if rounds else _FLOAT.get(level, 0)
