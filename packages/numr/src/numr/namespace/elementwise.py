"""Elementwise functions. Binary ones take tensors or one tensor and one Python scalar, broadcast and promote.

Results have the standard's dtypes: comparisons and predicates give bool, the rest the promoted dtype.
"""

from __future__ import annotations

from typing import Any

from numr.backends import BACKENDS, array_of
from numr.namespace.operation import Operand, binary, explain, operands, unary
from numr.tensor import Tensor, wrap

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

abs = unary("abs", "Magnitude; of complex elements the real modulus.")
acos = unary("acos", "Inverse cosine in radians.")
acosh = unary("acosh", "Inverse hyperbolic cosine.")
asin = unary("asin", "Inverse sine in radians.")
asinh = unary("asinh", "Inverse hyperbolic sine.")
atan = unary("atan", "Inverse tangent in radians.")
atanh = unary("atanh", "Inverse hyperbolic tangent.")
bitwise_invert = unary("bitwise_invert", "Each bit inverted; of bool elements the logical not.")
ceil = unary("ceil", "Smallest integer not below each element, in the same dtype.")
conj = unary("conj", "Complex conjugate.")
cos = unary("cos", "Cosine of radians.")
cosh = unary("cosh", "Hyperbolic cosine.")
exp = unary("exp", "e to the power of each element.")
expm1 = unary("expm1", "exp(x) - 1, exact near 0.")
floor = unary("floor", "Largest integer not above each element, in the same dtype.")
imag = unary("imag", "Imaginary parts.")
isfinite = unary("isfinite", "True where an element is neither infinite nor NaN.")
isinf = unary("isinf", "True where an element is infinite.")
isnan = unary("isnan", "True where an element is NaN.")
log = unary("log", "Natural logarithm.")
log10 = unary("log10", "Logarithm of base 10.")
log1p = unary("log1p", "log(1 + x), exact near 0.")
log2 = unary("log2", "Logarithm of base 2.")
logical_not = unary("logical_not", "True where an element is False.")
negative = unary("negative", "-x.")
positive = unary("positive", "A copy of x.")
real = unary("real", "Real parts.")
reciprocal = unary("reciprocal", "1 / x.")
round = unary("round", "Nearest integer, halves to even, in the same dtype.")
sign = unary("sign", "-1, 0 or 1; of complex elements x / abs(x).")
signbit = unary("signbit", "True where the sign bit is set, also of -0.0 and NaN.")
sin = unary("sin", "Sine of radians.")
sinh = unary("sinh", "Hyperbolic sine.")
sqrt = unary("sqrt", "Principal square root.")
square = unary("square", "x * x.")
tan = unary("tan", "Tangent of radians.")
tanh = unary("tanh", "Hyperbolic tangent.")
trunc = unary("trunc", "Integer part, in the same dtype.")

add = binary("add", "x1 + x2.")
atan2 = binary("atan2", "Angle of the point (x2, x1) in radians, in [-pi, pi].")
bitwise_and = binary("bitwise_and", "x1 & x2 of integers or bools.")
bitwise_left_shift = binary("bitwise_left_shift", "x1 << x2 of integers.")
bitwise_or = binary("bitwise_or", "x1 | x2 of integers or bools.")
bitwise_right_shift = binary("bitwise_right_shift", "x1 >> x2 of integers, keeping the sign.")
bitwise_xor = binary("bitwise_xor", "x1 ^ x2 of integers or bools.")
copysign = binary("copysign", "Magnitude of x1 with the sign of x2.")
divide = binary("divide", "x1 / x2.")
equal = binary("equal", "x1 == x2.")
floor_divide = binary("floor_divide", "x1 / x2 rounded down.")
greater = binary("greater", "x1 > x2.")
greater_equal = binary("greater_equal", "x1 >= x2.")
hypot = binary("hypot", "sqrt(x1**2 + x2**2) without overflow on the way.")
less = binary("less", "x1 < x2.")
less_equal = binary("less_equal", "x1 <= x2.")
logaddexp = binary("logaddexp", "log(exp(x1) + exp(x2)) without overflow on the way.")
logical_and = binary("logical_and", "True where both are True.")
logical_or = binary("logical_or", "True where one is True.")
logical_xor = binary("logical_xor", "True where exactly one is True.")
maximum = binary("maximum", "The larger of two; NaN where one is NaN.")
minimum = binary("minimum", "The smaller of two; NaN where one is NaN.")
multiply = binary("multiply", "x1 * x2.")
nextafter = binary("nextafter", "The next representable number after x1 towards x2.")
not_equal = binary("not_equal", "x1 != x2.")
pow = binary("pow", "x1 to the power of x2.")
remainder = binary("remainder", "x1 modulo x2, with the sign of x2.")
subtract = binary("subtract", "x1 - x2.")


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Elements limited to [min, max], in the dtype of `x`; None is no limit and a NaN limit gives NaN.

    Limits are scalars or tensors that broadcast against `x`. Raises ShapeError where they do not.
    """
    a = array_of(x)
    limits: list[Any] = [None if limit is None else operands("clip", x, limit)[2] for limit in (min, max)]
    try:
        return wrap(BACKENDS[type(a)].clip(a, *limits))
    except (TypeError, ValueError) as error:
        explain("clip", error, a, *(limit for limit in limits if limit is not None))
