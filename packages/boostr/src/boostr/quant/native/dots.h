/* The dot products: one function per type, written once for all CPU levels, over `count` tokens at a time.

   dot_<type>(count, row, columns, a, stride, sum): sum[t] becomes a vector whose lanes add up to row . token t, where
   token t lies at a + t * stride: a rounded row for quantized types, float32 for dense ones. `count` is a constant
   at every call, so that each weight is decoded once and the loops over tokens disappear. */
#ifndef BOOSTR_DOTS_H
#define BOOSTR_DOTS_H

#include "activations.h"
#include "blocks.h"

/* Software prefetch of the weight stream: 4 KiB ahead gained 16 to 55 % of decode speed where it was measured. */
#define AHEAD 4096
INLINE void prefetch_ahead(const uint8_t *p, int bytes) {
  for (int i = 0; i < bytes; i += 64) PREFETCH(p + AHEAD + i);
}

/* ---- 32-element blocks: a float scale for each run of 16 products ---- */

enum packing { NIBBLES, BYTES };
enum offset { NO_OFFSET, MINUS_EIGHT, MINIMUM }; /* added to d * q: nothing, -8 * d, or the block's second half */
typedef struct { int bytes, quants; enum packing packing; enum offset offset; } layout32;

/* VW blocks or, at the end of a row, n of them; `b` is the index of the first. */
INLINE void dot32_some(const int count, const layout32 of, const uint8_t *w, int64_t b, int n, const act32_shape *shape,
                       const uint8_t *a, int64_t stride, vf *sum) {
  vf d, second, scale[TOKENS];
  prefetch_ahead(w, of.bytes * VW);
  vh_gather2(w, of.bytes, n, &d, &second);
  if (of.offset == MINUS_EIGHT) second = vf_mul(d, vf_set1(-8.f));
  for (int t = 0; t < count; t++) {
    const uint8_t *row = a + t * stride;
    scale[t] = vf_mul(d, vf_load((const float *)(row + shape->d) + b));
    if (of.offset != NO_OFFSET) sum[t] = vf_fma(second, vf_load((const float *)(row + shape->sum) + b), sum[t]);
  }
  UNROLL
  for (int k = 0; k < 4; k++) {
    int left = n - k * LANES;
    if (left <= 0) break;
    const uint8_t *q = w + k * LANES * of.bytes + of.quants;
    vb first = vb_load16(q, of.bytes, left), last;
    if (of.packing == NIBBLES) {
      last = vb_high(first);
      first = vb_low(first);
    } else {
      last = vb_load16(q + 16, of.bytes, left);
    }
    for (int t = 0; t < count; t++) {
      const uint8_t *quants = a + t * stride + (b / LANES + k) * 2 * VB;
      vs dot;
      if (of.packing == NIBBLES) {
        dot = vs_dot_u7(vs_dot_u7(vs_zero(), first, vb_load(quants)), last, vb_load(quants + VB));
      } else {
        dot = vs_begin_s8((const int32_t *)(a + t * stride + shape->correction) + (b / LANES + k) * VW);
        dot = vs_dot_s8(vs_dot_s8(dot, first, vb_load(quants)), last, vb_load(quants + VB));
      }
      sum[t] = vf_fma(vs_float(dot), vf_spread(scale[t], k), sum[t]);
    }
  }
}

INLINE void dot32(const int count, const layout32 of, const uint8_t *w, int64_t columns, const uint8_t *a,
                  int64_t stride, vf *sum) {
  act32_shape shape = act32_of(columns);
  int64_t blocks = columns / 32, b = 0;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (; b + VW <= blocks; b += VW) dot32_some(count, of, w + b * of.bytes, b, VW, &shape, a, stride, sum);
  if (b < blocks) dot32_some(count, of, w + b * of.bytes, b, (int)(blocks - b), &shape, a, stride, sum);
}

#define DOT32(name, ...)                                                                                      \
  INLINE void dot_##name(const int count, const uint8_t *row, int64_t columns, const uint8_t *a, int64_t stride, \
                         vf *sum) {                                                                           \
    dot32(count, (layout32)__VA_ARGS__, row, columns, a, stride, sum);                                        \
  }
DOT32(q4_0, {sizeof(q4_0), offsetof(q4_0, q), NIBBLES, MINUS_EIGHT})
DOT32(q4_1, {sizeof(q4_1), offsetof(q4_1, q), NIBBLES, MINIMUM})
DOT32(q8_0, {sizeof(q8_0), offsetof(q8_0, q), BYTES, NO_OFFSET})

/* ---- 256-element blocks: integer sub-block scales, one float scale a block ---- */

INLINE void dot_q4_K(const int count, const uint8_t *row, int64_t columns, const uint8_t *a, int64_t stride, vf *sum) {
  const q4_K *w = (const q4_K *)row;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (int64_t b = 0; b < columns / 256; b++) {
    uint64_t scales, minima;
    vs total[TOKENS];
    prefetch_ahead((const uint8_t *)(w + b), sizeof *w);
    q4_K_scales(w[b].scales, &scales, &minima);
    scales_t each = scales_u8x8(scales);
    for (int t = 0; t < count; t++) total[t] = vs_zero();
    UNROLL
    for (int j = 0; j < VECTORS; j++) {
      vb u = vk_nibbles(w[b].q, j);
      for (int t = 0; t < count; t++) {
        const act256 *x = (const act256 *)(a + t * stride) + b;
        total[t] = vs_dot_scaled(total[t], u, vb_load(x->q + VB * j), scales_pick8(each, j));
      }
    }
    float d = half(w[b].d), dmin = half(w[b].dmin);
    for (int t = 0; t < count; t++) {
      const act256 *x = (const act256 *)(a + t * stride) + b;
      sum[t] = vf_fma(vf_set1(d * x->d), vs_float(total[t]), sum[t]);
      sum[t] = vf_fnma(vf_set1(dmin * x->d), vk_minima(minima, x->sum32), sum[t]);
    }
  }
}

INLINE void dot_q6_K(const int count, const uint8_t *row, int64_t columns, const uint8_t *a, int64_t stride, vf *sum) {
  const q6_K *w = (const q6_K *)row;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (int64_t b = 0; b < columns / 256; b++) {
    vs total[TOKENS];
    prefetch_ahead((const uint8_t *)(w + b), sizeof *w);
    scales_t each = scales_s8x16(w[b].scales);
    for (int t = 0; t < count; t++)
      total[t] = vs_offset16(w[b].scales, ((const act256 *)(a + t * stride) + b)->sum16);
    UNROLL
    for (int j = 0; j < VECTORS; j++) {
      vb u = vk_six(w[b].low, w[b].high, j);
      for (int t = 0; t < count; t++) {
        const act256 *x = (const act256 *)(a + t * stride) + b;
        total[t] = vs_dot_scaled(total[t], u, vb_load(x->q + VB * j), scales_pick16(each, j));
      }
    }
    float d = half(w[b].d);
    for (int t = 0; t < count; t++) {
      const act256 *x = (const act256 *)(a + t * stride) + b;
      sum[t] = vf_fma(vf_set1(d * x->d), vs_float(total[t]), sum[t]);
    }
  }
}

/* ---- dense weights on float32 activations ---- */

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

#endif
