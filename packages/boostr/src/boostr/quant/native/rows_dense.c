/* Rows of dense weights on float32 activations. */
#include "dots.h"
#include "rows.h"

enum dense { DENSE_F32, DENSE_F16, DENSE_BF16 };

INLINE vf dense_load(const enum dense kind, const uint8_t *row, int64_t i) {
  if (kind == DENSE_F32) return vf_load((const float *)row + i);
  return kind == DENSE_F16 ? vh_load((const uint16_t *)row + i) : vbf_load((const uint16_t *)row + i);
}

INLINE vf dense_load_n(const enum dense kind, const uint8_t *row, int64_t i, int n) {
  uint8_t some[VB] = {0};
  size_t size = kind == DENSE_F32 ? 4 : 2;
  memcpy(some, row + (size_t)i * size, (size_t)n * size);
  return dense_load(kind, some, 0);
}

/* `high` rows, row_bytes apart, against `count` tokens: sum[t * high + r]. Eight rows of activations outgrow the first
   cache where eight rows of int8 do not, so each loaded activation serves several weight rows. */
INLINE void dense_tile(const enum dense kind, const int high, const int count, const uint8_t *w, int64_t row_bytes,
                       int64_t columns, const uint8_t *a, int64_t stride, vf *sum) {
  const int size = kind == DENSE_F32 ? 4 : 2;
  int64_t i = 0;
  for (int k = 0; k < high * count; k++) sum[k] = vf_zero();
  for (; i + VW <= columns; i += VW) {
    vf x[4];
    for (int t = 0; t < count; t++) x[t] = vf_load((const float *)(a + t * stride) + i);
    for (int r = 0; r < high; r++) {
      prefetch_ahead(w + r * row_bytes + i * size, VW * size);
      vf row = dense_load(kind, w + r * row_bytes, i);
      for (int t = 0; t < count; t++) sum[t * high + r] = vf_fma(row, x[t], sum[t * high + r]);
    }
  }
  if (i == columns) return;
  int n = (int)(columns - i);
  for (int r = 0; r < high; r++) {
    vf row = dense_load_n(kind, w + r * row_bytes, i, n);
    for (int t = 0; t < count; t++)
      sum[t * high + r] = vf_fma(row, vf_load_n((const float *)(a + t * stride) + i, n), sum[t * high + r]);
  }
}

/* Rows of a tile of four tokens: four where there are 32 vector registers, two where there are 16. */
#define TILE_ROWS (VW == 16 || (VW == 4 && TOKENS == 8) ? 4 : 2)

/* Dense rows lo..hi against `count` tokens from t on, `high` rows at a time. */
INLINE void dense_rows(const part *p, const enum dense kind, const int high, const int count, int64_t t, int64_t lo,
                       int64_t hi) {
  const uint8_t *a = p->a + t * p->stride;
  vf sum[16];
  int64_t r = lo;
  for (; r + high <= hi; r += high) {
    float *y = p->y + t * p->rows + r;
    dense_tile(kind, high, count, p->w + r * p->row_bytes, p->row_bytes, p->columns, a, p->stride, sum);
    for (int k = 0; k < count; k++) store_sums(sum + k * high, high, y + k * p->rows, 1);
  }
  for (; r < hi; r++) {
    dense_tile(kind, 1, count, p->w + r * p->row_bytes, p->row_bytes, p->columns, a, p->stride, sum);
    store_sums(sum, count, p->y + t * p->rows + r, p->rows);
  }
}

INLINE void dense_tokens(const part *p, const enum dense kind, int64_t lo, int64_t hi) {
  int64_t t = 0;
  for (; t + 4 <= p->tokens; t += 4) dense_rows(p, kind, TILE_ROWS, 4, t, lo, hi);
  if (t + 2 <= p->tokens) {
    dense_rows(p, kind, 4, 2, t, lo, hi);
    t += 2;
  }
  if (t < p->tokens) dense_rows(p, kind, 4, 1, t, lo, hi);
}

void rows_f32(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_F32, lo, hi); }
void rows_f16(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_F16, lo, hi); }
void rows_bf16(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_BF16, lo, hi); }
