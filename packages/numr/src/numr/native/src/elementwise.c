/* Activations and their gated forms, the residual add. Vectors need no alignment. */
#include "pool.h"
#include "vmath.h"

#define GRAIN 16384 /* elements: about 2 us of work, so that small tensors never cross threads */

typedef struct {
  const float *x, *y;
  float *out;
} operands;

/* One loop per operation: V is its value for the vectors a (of x) and b (of y). */
#define LOOP(NAME, V)                                                                    \
  static void NAME##_range(void *ctx, int64_t lo, int64_t hi) {                          \
    const operands *o = ctx;                                                             \
    const float *y = o->y ? o->y : o->x;                                                 \
    int64_t i = lo;                                                                      \
    for (; i + VW <= hi; i += VW) {                                                      \
      vf a = vf_load(o->x + i), b = vf_load(y + i);                                      \
      (void)b;                                                                           \
      vf_store(o->out + i, V);                                                           \
    }                                                                                    \
    if (i < hi) {                                                                        \
      int n = (int)(hi - i);                                                             \
      vf a = vf_load_n(o->x + i, n), b = vf_load_n(y + i, n);                            \
      (void)b;                                                                           \
      vf_store_n(o->out + i, V, n);                                                      \
    }                                                                                    \
  }                                                                                      \
  NUMR_EXPORT void numr_##NAME(const float *x, const float *y, float *out, int64_t n) {  \
    operands o = {x, y, out};                                                            \
    numr_parallel_for(n, GRAIN, NAME##_range, &o);                                       \
  }

LOOP(add, vf_add(a, b))
LOOP(silu, vf_silu(a))
LOOP(gelu_tanh, vf_gelu_tanh(a))
LOOP(gelu_erf, vf_gelu_erf(a))
LOOP(silu_mul, vf_mul(vf_silu(a), b))
LOOP(gelu_tanh_mul, vf_mul(vf_gelu_tanh(a), b))
LOOP(gelu_erf_mul, vf_mul(vf_gelu_erf(a), b))
