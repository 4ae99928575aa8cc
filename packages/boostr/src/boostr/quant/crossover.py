"""Up to how many rows of activations the few-row kernels beat dequantized tiles and BLAS, per CPU level and type."""

__all__ = ["few_rows"]

# GFLOP/s of kernels / tiles with BLAS, best of interleaved runs on two busy cores with AVX-512 VNNI, weights 4096x2048:
#   Q4_1 fast     M=16: 344/13   M=64: 128/49   M=256: 156/54    M=512: 104/57
#   Q8_0 fast     M=16: 154/37   M=64: 119/83   M=256: 106/58    M=512: 135/57
#   Q6_K fast     M=16: 231/2    M=64: 87/22    M=256: 95/37     M=512: 119/50
#   Q8_0 precise  M=16: 46/22    M=32: 39/39    M=64: 14/84      (float32 activations, weights widened in the cache)
#   F16           M=16: 63/27    M=32: 109/49   M=128: 61/110
# So with VNNI the integer products win at any length, and products of floats give way to BLAS at about 32 rows.
# Without VNNI (an earlier machine, AVX-512 and AVX2): 91 against 78 ms at M=128, 66 against 80 GFLOP/s at M=512.
_INTEGER = {"avx512vnni": 1024, "avx512": 128, "avx2": 128, "neon": 128, "baseline": 8}
_FLOAT = {"avx512vnni": 32, "avx512": 32, "avx2": 16, "neon": 16, "baseline": 4}


def few_rows(level: str, rounds: bool) -> int:
    """The largest number of rows for the kernels of `level`; `rounds`: whether they multiply int8 activations."""
    return (_INTEGER if rounds else _FLOAT).get(level, 0)
