/* The dot products of quantized rows, written once for all types, CPU levels and both widths of activations.

   dot(type, bits, count, row, columns, a, stride, sum): sum[t] becomes a vector whose lanes add up to row . token t,
   where token t lies rounded to `bits` at a + t * stride. type, bits and count are constants at every call, so that each
   weight is decoded once for all tokens and the loops over tokens disappear. What is computed for a token does not
   depend on count. */
#ifndef BOOSTR_DOTS_H
#define BOOSTR_DOTS_H

#include "activations.h"
#include "decode.h"

/* Software prefetch of the weight stream: 4 KiB ahead gained 16 to 55 % of decode speed where it was measured. */
#define AHEAD 4096
INLINE void prefetch_ahead(const uint8_t *p, int bytes) {
  for (int i = 0; i < bytes; i += 64) PREFETCH(p + AHEAD + i);
}

/* ---- 32-element blocks: a float scale for each run of 16 products ---- */

/* LANES blocks against a token whose quants for them begin at q. */
INLINE vs dot32_lanes(const int bits, const int is_signed, vb first, vb last, const uint8_t *q, const int32_t *correction) {
  if (bits == 16) {
    vs sum = vs_dot16(vs_zero(), vw_even(first, is_signed), vw_load(q));
    sum = vs_dot16(sum, vw_odd(first, is_signed), vw_load(q + VB));
    sum = vs_dot16(sum, vw_even(last, is_signed), vw_load(q + 2 * VB));
    return vs_dot16(sum, vw_odd(last, is_signed), vw_load(q + 3 * VB));
  }
  if (is_signed) return vs_dot_s8(vs_dot_s8(vs_begin_s8(correction), first, vb_load(q)), last, vb_load(q + VB));
  return vs_dot_u7(vs_dot_u7(vs_zero(), first, vb_load(q)), last, vb_load(q + VB));
}

/* Group k of LANES blocks, of which n are there, against all tokens; `scale` holds d of VW blocks for each. */
INLINE void dot32_group(const int type, const int bits, const int count, const uint8_t *w, int64_t group, int k, int n,
                        const act32_shape *shape, const uint8_t *a, int64_t stride, const vf *scale, vf *sum) {
  vb first, last;
  elements32(type, w, n, &first, &last);
  for (int t = 0; t < count; t++) {
    const uint8_t *row = a + t * stride;
    const int32_t *correction = (const int32_t *)(row + shape->correction) + group * VW;
    vs dot = dot32_lanes(bits, traits32_of(type).is_signed, first, last, row + group * 2 * VB * bits / 8, correction);
    sum[t] = vf_fma(vs_float(dot), vf_spread(scale[t], k), sum[t]);
  }
}

/* VW blocks or, at the end of a row, n of them; `b` is the index of the first. */
INLINE void dot32_some(const int type, const int bits, const int count, const int whole, const uint8_t *w, int64_t b,
                       int n, const act32_shape *shape, const uint8_t *a, int64_t stride, vf *sum) {
  const traits32 of = traits32_of(type);
  vf d, low, scale[TOKENS];
  prefetch_ahead(w, of.bytes * VW);
  scales32(type, w, n, &d, &low);
  for (int t = 0; t < count; t++) {
    const uint8_t *row = a + t * stride;
    scale[t] = vf_mul(d, vf_load((const float *)(row + shape->d) + b));
    if (of.has_low) sum[t] = vf_fma(low, vf_load((const float *)(row + shape->sum) + b), sum[t]);
  }
  const int step = LANES * of.bytes;
  int64_t group = b / LANES;
  if (whole) {
    UNROLL
    for (int k = 0; k < 4; k++)
      dot32_group(type, bits, count, w + k * step, group + k, k, LANES, shape, a, stride, scale, sum);
  } else {
    for (int k = 0; k * LANES < n; k++)
      dot32_group(type, bits, count, w + k * step, group + k, k, n - k * LANES, shape, a, stride, scale, sum);
  }
}

INLINE void dot32(const int type, const int bits, const int count, const uint8_t *w, int64_t columns, const uint8_t *a,
                  int64_t stride, vf *sum) {
  const int bytes = traits32_of(type).bytes;
  act32_shape shape = act32_of(bits, columns);
  int64_t blocks = columns / 32, b = 0;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (; b + VW <= blocks; b += VW) dot32_some(type, bits, count, 1, w + b * bytes, b, VW, &shape, a, stride, sum);
  if (b < blocks) dot32_some(type, bits, count, 0, w + b * bytes, b, (int)(blocks - b), &shape, a, stride, sum);
}

/* ---- 256-element blocks: integer scales of runs, one float scale a block ---- */

/* Vectors of products that fit an int32 sum: each adds four products of at most largest * 32767 to a lane. */
INLINE int vectors_within(const int bits, const int largest) {
  if (bits == 8 || VECTORS * largest <= 16384) return VECTORS;
  return VECTORS * largest <= 2 * 16384 ? VECTORS / 2 : VECTORS * largest <= 4 * 16384 ? VECTORS / 4 : VECTORS / 8;
}

INLINE const tail256 *tail_of(const int bits, const uint8_t *block) {
  return (const tail256 *)(block + 256 * bits / 8);
}

/* Adds vector j of a weight block, times its scales (for int16 activations those of even and of odd elements), to the sums of `count` tokens whose blocks begin at x. */
INLINE void dot256_vector(const int type, const int bits, const int count, const uint8_t *w, int j, scales_t scales,
                          scales_t odd_scales, const uint8_t *x, int64_t stride, vs *total) {
  const traits256 of = traits256_of(type);
  vb v = elements256(type, w, j);
  scale_t scale = of.width == 32 ? scales_pick8(scales, j) : scales_pick16(scales, j);
  if (bits == 16) {
    vw even = of.unscaled ? vw_even(v, of.is_signed) : vw_even_scaled(v, scale, of.is_signed);
    scale = of.width == 32 ? scales_pick8(odd_scales, j) : scales_pick16(odd_scales, j);
    vw odd = of.unscaled ? vw_odd(v, of.is_signed) : vw_odd_scaled(v, scale, of.is_signed);
    for (int t = 0; t < count; t++) {
      const uint8_t *q = x + t * stride + 2 * VB * j;
      total[t] = vs_dot16(vs_dot16(total[t], even, vw_load(q)), odd, vw_load(q + VB));
    }
    return;
  }
  for (int t = 0; t < count; t++) {
    vb q = vb_load(x + t * stride + VB * j);
    if (of.unscaled) total[t] = vs_dot_u7(total[t], v, q);
    else total[t] = of.is_signed ? vs_dot_scaled_s8(total[t], v, q, scale) : vs_dot_scaled(total[t], v, q, scale);
  }
}

INLINE void dot256(const int type, const int bits, const int count, const uint8_t *w, int64_t columns, const uint8_t *a,
                   int64_t stride, vf *sum) {
  const traits256 of = traits256_of(type);
  const int step = vectors_within(bits, of.largest), runs = 256 / of.width, lows = !of.has_minima ? 0 : runs < VW ? 1 : runs / VW;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (int64_t b = 0; b < columns / 256; b++, w += of.bytes, a += bits == 8 ? sizeof(act256) : sizeof(wide256)) {
    prefetch_ahead(w, of.bytes);
    const runs256 r = scales256(type, w);
    scales_t scales = of.width == 32 ? scales_s8x8(r.scale[0]) : scales_s8x16(r.scale[0], r.scale[1]);
    const scales_t odd = bits == 16 ? scales_for_odd(scales, of.is_signed) : scales;
    if (bits == 16) scales = scales_for_even(scales, of.is_signed);
    UNROLL
    for (int from = 0; from < VECTORS; from += step) {
      vs total[TOKENS];
      for (int t = 0; t < count; t++) total[t] = vs_zero();
      UNROLL
      for (int j = from; j < from + step; j++) dot256_vector(type, bits, count, w, j, scales, odd, a, stride, total);
      for (int t = 0; t < count; t++)
        sum[t] = vf_fma(vf_set1(r.d * tail_of(bits, a + t * stride)->d), vs_float(total[t]), sum[t]);
    }
    for (int i = 0; i < lows; i++) {
      vf low = vf_mul(vf_set1(r.low), vf_s8(r.minimum[0], r.minimum[1], i));
      for (int t = 0; t < count; t++) {
        const tail256 *tail = tail_of(bits, a + t * stride);
        sum[t] = vf_fma(low, vf_load((of.width == 32 ? tail->sum32 : tail->sum16) + i * VW), sum[t]);
      }
    }
  }
}

/* Int8 products of the two commonest types with their minima summed as integers. */

INLINE void dot_q4_K(const int count, const uint8_t *row, int64_t columns, const uint8_t *a, int64_t stride, vf *sum) {
  const q4_K *w = (const q4_K *)row;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (int64_t b = 0; b < columns / 256; b++) {
    uint64_t scales, minima;
    vs total[TOKENS];
    prefetch_ahead((const uint8_t *)(w + b), sizeof *w);
    q4_K_scales(w[b].scales, &scales, &minima);
    scales_t each = scales_s8x8(scales);
    for (int t = 0; t < count; t++) total[t] = vs_zero();
    UNROLL
    for (int j = 0; j < VECTORS; j++)
      dot256_vector(Q4_K, 8, count, (const uint8_t *)(w + b), j, each, each, a + b * (int64_t)sizeof(act256), stride, total);
    float d = half(w[b].d), dmin = half(w[b].dmin);
    for (int t = 0; t < count; t++) {
      const act256 *x = (const act256 *)(a + t * stride) + b;
      sum[t] = vf_fma(vf_set1(d * x->tail.d), vs_float(total[t]), sum[t]);
      sum[t] = vf_fnma(vf_set1(dmin * x->tail.d), vk_minima(minima, x->whole32), sum[t]);
    }
  }
}

INLINE void dot_q6_K(const int count, const uint8_t *row, int64_t columns, const uint8_t *a, int64_t stride, vf *sum) {
  const q6_K *w = (const q6_K *)row;
  for (int t = 0; t < count; t++) sum[t] = vf_zero();
  for (int64_t b = 0; b < columns / 256; b++) {
    vs total[TOKENS];
    prefetch_ahead((const uint8_t *)(w + b), sizeof *w);
    scales_t each = scales_s8x16(eight_bytes(w[b].scales), eight_bytes(w[b].scales + 8));
    for (int t = 0; t < count; t++)
      total[t] = vs_offset16(w[b].scales, ((const act256 *)(a + t * stride) + b)->whole16);
    UNROLL
    for (int j = 0; j < VECTORS; j++)
      dot256_vector(Q6_K, 8, count, (const uint8_t *)(w + b), j, each, each, a + b * (int64_t)sizeof(act256), stride, total);
    float d = half(w[b].d);
    for (int t = 0; t < count; t++) {
      const act256 *x = (const act256 *)(a + t * stride) + b;
      sum[t] = vf_fma(vf_set1(d * x->tail.d), vs_float(total[t]), sum[t]);
    }
  }
}

INLINE void dot(const int type, const int bits, const int count, const uint8_t *row, int64_t columns, const uint8_t *a,
                int64_t stride, vf *sum) {
  if (block_of(type) == 32) dot32(type, bits, count, row, columns, a, stride, sum);
  else if (bits == 8 && type == Q4_K) dot_q4_K(count, row, columns, a, stride, sum);
  else if (bits == 8 && type == Q6_K) dot_q6_K(count, row, columns, a, stride, sum);
  else dot256(type, bits, count, row, columns, a, stride, sum);
}

/* The numbers whose lanes add up in sum[0..count), `step` floats apart in y. */
INLINE void store_sums(const vf *sum, const int count, float *y, int64_t step) {
  float each[TOKENS];
  for (int t = 0; t + 4 <= count; t += 4) vf_sum4(sum[t], sum[t + 1], sum[t + 2], sum[t + 3], each + t);
  for (int t = count / 4 * 4; t < count; t++) each[t] = vf_sum(sum[t]);
  for (int t = 0; t < count; t++) y[t * step] = each[t];
}

#endif
