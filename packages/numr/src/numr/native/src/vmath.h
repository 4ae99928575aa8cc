/* exp, sigmoid, Phi and tanh on vectors, to about 1e-7 relative; NaN stays NaN. Coefficients: own minimax fits. */
#ifndef NUMR_VMATH_H
#define NUMR_VMATH_H

#include "simd.h"

/* x = k ln 2 + r, |r| <= ln 2 / 2; exp(r) by a polynomial. ln 2 in two parts, the first short enough that k times it
   is exact. Below -104 the result is 0, above 88.8 infinity. */
INLINE vf vf_exp(vf x) {
  x = vf_min(vf_set1(89.f), vf_max(vf_set1(-104.f), x));
  vf k = vf_round(vf_mul(x, vf_set1(1.44269504f)));
  vf r = vf_fnma(k, vf_set1(-2.12194440e-4f), vf_fnma(k, vf_set1(0.693359375f), x));
  vf p = vf_fma(vf_set1(0.00138144707f), r, vf_set1(0.00836878177f));
  p = vf_fma(p, r, vf_set1(0.0416683927f));
  p = vf_fma(p, r, vf_set1(0.166665196f));
  p = vf_fma(p, r, vf_set1(0.49999994f));
  p = vf_add(vf_set1(1.f), vf_fma(vf_mul(r, r), p, r));
  return vf_scale2(p, k);
}

/* x / (1 + exp(-y)) */
INLINE vf vf_gate(vf x, vf y) { return vf_div(x, vf_add(vf_set1(1.f), vf_exp(vf_sub(vf_zero(), y)))); }

INLINE vf vf_silu(vf x) { return vf_gate(x, x); }

/* 0.5 x (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): no cancellation for negative x. */
INLINE vf vf_gelu_tanh(vf x) {
  vf cubic = vf_fma(vf_mul(vf_mul(x, x), x), vf_set1(0.044715f), x);
  return vf_gate(x, vf_mul(vf_set1(1.59576912f), cubic));
}

/* x Phi(x) with Phi(-|x|) = exp(-z^2) t P(t), z = |x| / sqrt 2, t = 1 / (1 + 0.3 z), P fitted for z <= 10. */
INLINE vf vf_gelu_erf(vf x) {
  static const float c[] = {-0.064759016f, 0.242769882f,  -0.25611499f, 0.273832649f, -0.0473065004f,
                            0.107454978f,  0.0741716623f, 0.0853573158f, 0.0845940188f};
  vf z = vf_mul(vf_abs(x), vf_set1(0.707106781f));
  vf t = vf_div(vf_set1(1.f), vf_fma(vf_set1(0.3f), z, vf_set1(1.f)));
  vf p = vf_set1(c[0]);
  for (int i = 1; i < 9; i++) p = vf_fma(p, t, vf_set1(c[i]));
  vf tail = vf_mul(vf_mul(p, t), vf_exp(vf_mul(vf_sub(vf_zero(), z), z)));
  return vf_mul(x, vf_below(x, vf_zero(), tail, vf_sub(vf_set1(1.f), tail)));
}

/* An odd polynomial where 1 - 2 / (exp(2u) + 1) would lose digits. */
INLINE vf vf_tanh(vf u) {
  vf a = vf_abs(u), s = vf_mul(u, u);
  vf p = vf_fma(vf_set1(-0.00571698695f), s, vf_set1(0.0206505097f));
  p = vf_fma(p, s, vf_set1(-0.053743463f));
  p = vf_fma(p, s, vf_set1(0.133314908f));
  p = vf_fma(p, s, vf_set1(-0.333332837f));
  vf inner = vf_fma(vf_mul(p, s), u, u);
  vf e = vf_exp(vf_add(a, a));
  vf outer = vf_sub(vf_set1(1.f), vf_div(vf_set1(2.f), vf_add(e, vf_set1(1.f))));
  return vf_below(a, vf_set1(0.625f), inner, vf_sign_of(outer, u));
}

#endif
