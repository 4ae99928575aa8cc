/* Rounding of activations. The same float operations on every CPU level, so all levels multiply the same integers:
   the largest magnitude is taken on the bits, and adding 1.5 * 2^23 rounds to the nearest even integer. */
#include "activations.h"

#define MAGIC 12582912.f
#define MAGIC_BITS 0x4b400000
#define INFINITE 0x7f800000u
#define TINY 1e-30f /* most / top overflows for subnormal maxima: blocks below this are zero */

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

float round_block(int bits, const float *x, int n, int16_t *restrict q) {
  const float most = bits == 8 ? 127.f : 32767.f;
  uint32_t largest = largest_bits(x, n);
  float top, inverse, scale;
  memcpy(&top, &largest, 4);
  if (largest >= INFINITE || top < TINY) {
    memset(q, 0, (size_t)n * 2);
    largest = largest >= INFINITE ? 0x7fc00000u : 0;
    memcpy(&scale, &largest, 4);
    return scale;
  }
  inverse = most / top;
  scale = top / most;
  for (int i = 0; i < n; i++) {
    float shifted = x[i] * inverse + MAGIC;
    int32_t whole;
    memcpy(&whole, &shifted, 4);
    q[i] = (int16_t)(whole - MAGIC_BITS);
  }
  return scale;
}

static int sum_of(const int16_t *q, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += q[i];
  return sum;
}

INLINE void narrow(const int16_t *q, int n, int8_t *restrict out) {
  for (int i = 0; i < n; i++) out[i] = (int8_t)q[i];
}

/* Sixteen elements as run `lane` of two vectors. */
INLINE void part_run(const int16_t *q, int lane, int16_t *restrict vectors) {
  for (int i = 0; i < 8; i++) vectors[8 * lane + i] = q[2 * i];
  for (int i = 0; i < 8; i++) vectors[VB / 2 + 8 * lane + i] = q[2 * i + 1];
}

/* -128 * sum(q) of lane i % VW of group i / VW: four quants of each half. */
static void correct(const int8_t *q, int64_t lanes, int32_t *out) {
  for (int64_t i = 0; i < lanes; i++) {
    const int8_t *four = q + i / VW * 2 * VB + i % VW * 4;
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += four[k] + four[VB + k];
    out[i] = -128 * sum;
  }
}

static void round_row_32(int bits, const float *x, int64_t columns, uint8_t *out) {
  act32_shape shape = act32_of(bits, columns);
  float *scale = (float *)(out + shape.d), *sum = (float *)(out + shape.sum);
  int64_t blocks = columns / 32, group = 2 * VB * bits / 8;
  memset(out + blocks / LANES * group, 0, (size_t)(shape.d - blocks / LANES * group));
  memset(scale + blocks, 0, (size_t)(shape.blocks - blocks) * 4);
  memset(sum + blocks, 0, (size_t)(shape.blocks - blocks) * 4);
  for (int64_t b = 0; b < blocks; b++) {
    int16_t q[32];
    uint8_t *at = out + b / LANES * group;
    int lane = (int)(b % LANES);
    scale[b] = round_block(bits, x + 32 * b, 32, q);
    sum[b] = scale[b] * (float)sum_of(q, 32);
    if (bits == 8) {
      narrow(q, 16, (int8_t *)at + 16 * lane);
      narrow(q + 16, 16, (int8_t *)at + VB + 16 * lane);
    } else {
      part_run(q, lane, (int16_t *)at);
      part_run(q + 16, lane, (int16_t *)at + VB);
    }
  }
  if (UNSIGNED_DOT && bits == 8) correct((const int8_t *)out, shape.blocks * 4, (int32_t *)(out + shape.correction));
}

static void round_row_256(int bits, const float *x, int64_t columns, uint8_t *out) {
  for (int64_t b = 0; b < columns / 256; b++) {
    int16_t q[256], whole[16];
    act256 *small = (act256 *)out + b;
    wide256 *wide = (wide256 *)out + b;
    tail256 *tail = bits == 8 ? &small->tail : &wide->tail;
    *tail = (tail256){.d = round_block(bits, x + 256 * b, 256, q)};
    for (int i = 0; i < 16; i++) tail->sum16[i] = tail->d * (float)sum_of(q + 16 * i, 16);
    for (int i = 0; i < 8; i++) tail->sum32[i] = tail->d * (float)sum_of(q + 32 * i, 32);
    if (bits == 16) {
      for (int i = 0; i < 16; i++) part_run(q + 16 * i, i % LANES, wide->q + i / LANES * VB);
      continue;
    }
    narrow(q, 256, small->q);
    for (int i = 0; i < 16; i++) small->whole16[i] = whole[i] = (int16_t)sum_of(q + 16 * i, 16);
    for (int i = 0; i < 8; i++) small->whole32[i] = (int16_t)(whole[2 * i] + whole[2 * i + 1]);
  }
}

int64_t rounded_bytes(int block, int bits, int64_t columns) {
  if (block == 32) return act32_of(bits, columns).bytes;
  return columns / 256 * (int64_t)(bits == 8 ? sizeof(act256) : sizeof(wide256));
}

void round_row(int block, int bits, const float *x, int64_t columns, uint8_t *out) {
  if (block == 32) round_row_32(bits, x, columns, out);
  else round_row_256(bits, x, columns, out);
}

void round_trip(int block, int bits, const float *x, int64_t columns, float *out) {
  int16_t q[256];
  for (int64_t at = 0; at < columns; at += block) {
    float scale = round_block(bits, x + at, block, q);
    for (int i = 0; i < block; i++) out[at + i] = scale * (float)q[i];
  }
}
