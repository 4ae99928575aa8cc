/* Rows of a quantized weight on rounded activations; included by the units that define them. */
#ifndef BOOSTR_ROWS_QUANTIZED_H
#define BOOSTR_ROWS_QUANTIZED_H

#include "dots.h"
#include "rows.h"

INLINE void rows_together(const int type, const int bits, const int count, const part *p, int64_t t, int64_t lo,
                          int64_t hi) {
  vf sum[TOKENS];
  for (int64_t r = lo; r < hi; r++) {
    dot(type, bits, count, p->w + r * p->row_bytes, p->columns, p->a + t * p->stride, p->stride, sum);
    store_sums(sum, count, p->y + t * p->rows + r, p->rows);
  }
}

/* One token: the sums of four rows are folded together. */
INLINE void rows_alone(const int type, const int bits, const part *p, int64_t t, int64_t lo, int64_t hi) {
  const uint8_t *a = p->a + t * p->stride;
  for (int64_t r = lo; r < hi; r += 4) {
    int n = hi - r < 4 ? (int)(hi - r) : 4;
    vf sum[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
    float each[4];
    for (int i = 0; i < n; i++) dot(type, bits, 1, p->w + (r + i) * p->row_bytes, p->columns, a, p->stride, sum + i);
    vf_sum4(sum[0], sum[1], sum[2], sum[3], each);
    memcpy(p->y + t * p->rows + r, each, (size_t)n * 4);
  }
}

/* Rows lo..hi against all tokens: TOKENS at a time while the chunk of rows stays in the cache. */
INLINE void rows_of(const int type, const int bits, const part *p, int64_t lo, int64_t hi) {
  int64_t t = 0;
  for (; TOKENS == 8 && t + 8 <= p->tokens; t += 8) rows_together(type, bits, TOKENS, p, t, lo, hi);
  for (; t + 4 <= p->tokens; t += 4) rows_together(type, bits, 4, p, t, lo, hi);
  for (; t < p->tokens; t++) rows_alone(type, bits, p, t, lo, hi);
}

#define DEFINE_ROWS(name, type)                                                              \
  void rows8_##name(const part *p, int64_t lo, int64_t hi) { rows_of(type, 8, p, lo, hi); }  \
  void rows16_##name(const part *p, int64_t lo, int64_t hi) { rows_of(type, 16, p, lo, hi); }

#endif
