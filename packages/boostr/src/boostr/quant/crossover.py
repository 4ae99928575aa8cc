"""Up to how many rows of activations the few-row kernels beat dequantized tiles and BLAS, per CPU level and type."""

__all__ = ["few_rows"]

_FEW: dict[str, dict[str, int]] = {}
_DEFAULT = {"fast": 128, "precise": 32}


def few_rows(level: str, name: str, precision: str) -> int:
    """The largest number of rows that goes to the kernels of `level` for weights of type `name`."""
    return _FEW.get(level, {}).get(name, _DEFAULT[precision])
