/* Rounding of activations. The same float operations on every CPU level, so all levels multiply the same integers:
   the largest magnitude is taken on the bits, and adding 1.5 * 2^23 rounds to the nearest even integer. */
#include "activations.h"

#define MAGIC 12582912.f
#define MAGIC_BITS 0x4b400000
#define INFINITE 0x7f800000u
#define TINY 1e-30f /* 127 / max overflows for subnormal maxima: blocks below this are zero */

static uint32_t largest_bits(const float *x, int n) {
  uint32_t largest = 0;
  for (int i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

/* Quants of one block and its scale; a block with an infinite or NaN element becomes NaN: zeros times a NaN scale. */
static float round_block(const float *x, int8_t *q, int n) {
  uint32_t bits = largest_bits(x, n);
  float top, inverse, scale;
  memcpy(&top, &bits, 4);
  if (bits >= INFINITE || top < TINY) {
    memset(q, 0, (size_t)n);
    bits = bits >= INFINITE ? 0x7fc00000u : 0;
    memcpy(&scale, &bits, 4);
    return scale;
  }
  inverse = 127.f / top;
  scale = top / 127.f;
  for (int i = 0; i < n; i++) {
    float shifted = x[i] * inverse + MAGIC;
    int32_t whole;
    memcpy(&whole, &shifted, 4);
    q[i] = (int8_t)(whole - MAGIC_BITS);
  }
  return scale;
}

static int sum_of(const int8_t *q, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += q[i];
  return sum;
}

static void round_row_32(const float *x, int64_t columns, uint8_t *out) {
  act32_shape shape = act32_of(columns);
  float *scale = (float *)(out + shape.d), *sum = (float *)(out + shape.sum);
  int64_t blocks = columns / 32;
  memset(out + blocks / LANES * 2 * VB, 0, (size_t)(shape.d - blocks / LANES * 2 * VB));
  memset(scale + blocks, 0, (size_t)(shape.blocks - blocks) * 4);
  memset(sum + blocks, 0, (size_t)(shape.blocks - blocks) * 4);
  for (int64_t b = 0; b < blocks; b++) {
    int8_t q[32];
    uint8_t *run = out + b / LANES * 2 * VB + b % LANES * 16;
    scale[b] = round_block(x + 32 * b, q, 32);
    sum[b] = scale[b] * (float)sum_of(q, 32);
    memcpy(run, q, 16);
    memcpy(run + VB, q + 16, 16);
  }
  if (!UNSIGNED_DOT) return;
  int32_t *correction = (int32_t *)(out + shape.correction);
  const int8_t *q = (const int8_t *)out;
  for (int64_t i = 0; i < shape.blocks * 4; i++) { /* lane i % VW of group i / VW: four quants of each half */
    const int8_t *four = q + i / VW * 2 * VB + i % VW * 4;
    correction[i] = -128 * (sum_of(four, 4) + sum_of(four + VB, 4));
  }
}

static void round_row_256(const float *x, int64_t columns, uint8_t *out) {
  act256 *a = (act256 *)out;
  for (int64_t b = 0; b < columns / 256; b++) {
    a[b].d = round_block(x + 256 * b, a[b].q, 256);
    for (int i = 0; i < 16; i++) a[b].sum16[i] = (int16_t)sum_of(a[b].q + 16 * i, 16);
    for (int i = 0; i < 8; i++) a[b].sum32[i] = (int16_t)(a[b].sum16[2 * i] + a[b].sum16[2 * i + 1]);
  }
}

int64_t rounded_bytes(enum rounding kind, int64_t columns) {
  return kind == ROUND_32 ? act32_of(columns).bytes : columns / 256 * (int64_t)sizeof(act256);
}

void round_row(enum rounding kind, const float *x, int64_t columns, uint8_t *out) {
  if (kind == ROUND_32) round_row_32(x, columns, out);
  else round_row_256(x, columns, out);
}

void round_trip(enum rounding kind, const float *x, int64_t columns, float *out) {
  int8_t q[256];
  int block = kind == ROUND_32 ? 32 : 256;
  for (int64_t at = 0; at < columns; at += block) {
    float scale = round_block(x + at, q, block);
    for (int i = 0; i < block; i++) out[at + i] = scale * (float)q[i];
  }
}
