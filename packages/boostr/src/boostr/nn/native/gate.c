/* Sigmoid gates of packed rows. */
#include "memory.h"
#include "vmath.h"

#define SMALL 4096 /* elements below which other threads do not pay */

typedef struct {
  float *x;
  const float *gate;
  int64_t width, x_stride, gate_stride;
} gating;

static void gate_pieces(void *ctx, int64_t lo, int64_t hi) {
  const gating *g = ctx;
  for (int64_t p = lo; p < hi; p++) {
    float *x = g->x + p * g->x_stride;
    const float *gate = g->gate + p * g->gate_stride;
    for (int64_t i = 0; i < g->width; i += VW) {
      int n = g->width - i < VW ? (int)(g->width - i) : VW;
      if (n == VW) vf_store(x + i, vf_gate(vf_load(x + i), vf_load(gate + i)));
      else vf_store_n(x + i, vf_gate(vf_load_n(x + i, n), vf_load_n(gate + i, n)), n);
    }
  }
}

/* x[p][i] *= sigmoid(gate[p][i]) for `pieces` pieces of `width` elements, whose beginnings are a stride apart. */
NUMR_EXPORT void boostr_sigmoid_gate(float *x, const float *gate, int64_t pieces, int64_t width, int64_t x_stride,
                                     int64_t gate_stride) {
  gating g = {x, gate, width, x_stride, gate_stride};
  runtime()->parallel_for(pieces, width ? SMALL / width + 1 : 1, gate_pieces, &g);
}
