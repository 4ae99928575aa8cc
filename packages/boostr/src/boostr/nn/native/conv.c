/* A causal depthwise convolution over packed rows, then silu. Its window, the last kernel - 1 input rows, goes from one
   pass to the next in each sequence's memory. A row's sum is the same however its sequence is cut into passes. */
#include "memory.h"
#include "vmath.h"

#define BLOCK 512 /* channels of one work item: its rows and weights stay in the first-level cache */
#define MOST 16   /* rows a kernel may span; checked where kernels are bound */

typedef struct {
  const float *x, *weight;
  float *out;
  int64_t channels, kernel, blocks, offset;
  const memory_span *spans;
} convolution;

static const float zeros[BLOCK];

/* weight: [kernel][channels], oldest tap first. taps[j]: the row j taps after the oldest. */
static void convolve_row(const convolution *c, const float *const *taps, int64_t first, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i += VW) {
    int n = count - i < VW ? (int)(count - i) : VW;
    vf sum = vf_zero();
    for (int64_t j = 0; j < c->kernel; j++) {
      const float *w = c->weight + j * c->channels + first + i;
      sum = n == VW ? vf_fma(vf_load(taps[j] + i), vf_load(w), sum)
                    : vf_fma(vf_load_n(taps[j] + i, n), vf_load_n(w, n), sum);
    }
    if (n == VW) vf_store(out + i, vf_silu(sum));
    else vf_store_n(out + i, vf_silu(sum), n);
  }
}

/* Row t of the span, or of the window before it where t < 0. */
static const float *input_row(const convolution *c, const memory_span *s, const float *window, int64_t t, int64_t first) {
  if (t >= 0) return c->x + (s->row + t) * c->channels + first;
  return window ? window + (c->kernel - 1 + t) * c->channels + first : zeros;
}

static void convolve(void *ctx, int64_t lo, int64_t hi) {
  const convolution *c = ctx;
  for (int64_t item = lo; item < hi; item++) {
    const memory_span *s = c->spans + item / c->blocks;
    int64_t first = item % c->blocks * BLOCK;
    int64_t count = c->channels - first < BLOCK ? c->channels - first : BLOCK, past = c->kernel - 1;
    const float *window = source_of(s, c->offset);
    for (int64_t t = 0; t < s->rows; t++) {
      const float *taps[MOST];
      for (int64_t j = 0; j < c->kernel; j++) taps[j] = input_row(c, s, window, t - past + j, first);
      convolve_row(c, taps, first, count, c->out + (s->row + t) * c->channels + first);
    }
    float *left = target_of(s, c->offset) + first; /* ascending: where it is the source, rows move down */
    for (int64_t j = 0; j < past; j++)
      memmove(left + j * c->channels, input_row(c, s, window, s->rows - past + j, first), (size_t)count * sizeof(float));
  }
}

NUMR_EXPORT void boostr_causal_conv(const float *x, const float *weight, float *out, int64_t channels, int64_t kernel,
                                    const memory_span *spans, int64_t n_spans, int64_t offset) {
  convolution c = {x, weight, out, channels, kernel, (channels + BLOCK - 1) / BLOCK, offset, spans};
  runtime()->parallel_for(n_spans * c.blocks, 1, convolve, &c);
}
