/* Taking blocks apart: plain loops that compilers vectorise, one function per type. Layouts: blocks.h, dequant/*.py. */
#include "unpack.h"

#include <stddef.h>

#define UNPACK(name) static void name(const uint8_t *from, int8_t *restrict q, float *restrict scale, float *restrict offset)

/* A float16 at byte `at`. */
INLINE float half_at(const uint8_t *from, int at) {
  half_t h;
  memcpy(&h, from + at, 2);
  return half(h);
}

/* 16 bytes: element i in the low nibble of byte i, i + 16 in the high one; `minus` is taken from both. */
INLINE void nibbles(const uint8_t *p, int8_t *restrict q, int minus) {
  for (int i = 0; i < 16; i++) q[i] = (int8_t)((p[i] & 15) - minus);
  for (int i = 0; i < 16; i++) q[16 + i] = (int8_t)((p[i] >> 4) - minus);
}

/* The same with a fifth bit for each element in a word of 32. */
INLINE void nibbles5(const uint8_t *p, const uint8_t *bits, int8_t *restrict q, int minus) {
  uint32_t top;
  memcpy(&top, bits, 4);
  for (int i = 0; i < 16; i++) q[i] = (int8_t)(((p[i] & 15) | (top >> i & 1) << 4) - minus);
  for (int i = 0; i < 16; i++) q[16 + i] = (int8_t)(((p[i] >> 4) | (top >> (16 + i) & 1) << 4) - minus);
}

UNPACK(unpack_q4_0) {
  (void)offset;
  *scale = half_at(from, 0);
  nibbles(from + 2, q, 8);
}

UNPACK(unpack_q4_1) {
  *scale = half_at(from, 0);
  *offset = half_at(from, 2);
  nibbles(from + 4, q, 0);
}

UNPACK(unpack_q5_0) {
  (void)offset;
  *scale = half_at(from, 0);
  nibbles5(from + 6, from + 2, q, 16);
}

UNPACK(unpack_q5_1) {
  *scale = half_at(from, 0);
  *offset = half_at(from, 2);
  nibbles5(from + 8, from + 4, q, 0);
}

UNPACK(unpack_q8_0) {
  (void)offset;
  *scale = half_at(from, 0);
  memcpy(q, from + 2, 32);
}

/* 64 bytes of four 2-bit planes: plane p of byte i (of each run of 32) is element 32 p + i of its half. */
INLINE void planes2(const uint8_t *p, int8_t *restrict q, int minus) {
  for (int h = 0; h < 2; h++)
    for (int plane = 0; plane < 4; plane++)
      for (int i = 0; i < 32; i++) q[128 * h + 32 * plane + i] = (int8_t)((p[32 * h + i] >> 2 * plane & 3) - minus);
}

UNPACK(unpack_q2_K) {
  float d = half_at(from, 80), dmin = half_at(from, 82);
  for (int g = 0; g < 16; g++) {
    scale[g] = d * (float)(from[g] & 15);
    offset[g] = -(dmin * (float)(from[g] >> 4));
  }
  planes2(from + 16, q, 0);
}

UNPACK(unpack_q3_K) {
  (void)offset;
  float d = half_at(from, 108);
  for (int g = 0; g < 16; g++) {
    int low = from[96 + g % 8] >> 4 * (g / 8) & 15, high = from[104 + g % 4] >> 2 * (g / 4) & 3;
    scale[g] = d * (float)((low | high << 4) - 32);
  }
  planes2(from + 32, q, 4);
  for (int plane = 0; plane < 8; plane++) /* a set high bit takes the -4 back */
    for (int i = 0; i < 32; i++) q[32 * plane + i] = (int8_t)(q[32 * plane + i] + (from[i] >> plane & 1) * 4);
}

INLINE void scales_k(const uint8_t *from, float *restrict scale, float *restrict offset) {
  float d = half_at(from, 0), dmin = half_at(from, 2);
  uint64_t scales, minima;
  q4_K_scales(from + 4, &scales, &minima);
  for (int g = 0; g < 8; g++) {
    scale[g] = d * (float)(scales >> 8 * g & 255);
    offset[g] = -(dmin * (float)(minima >> 8 * g & 255));
  }
}

UNPACK(unpack_q4_K) {
  scales_k(from, scale, offset);
  for (int run = 0; run < 4; run++) {
    const uint8_t *p = from + 16 + 32 * run;
    for (int i = 0; i < 32; i++) q[64 * run + i] = (int8_t)(p[i] & 15);
    for (int i = 0; i < 32; i++) q[64 * run + 32 + i] = (int8_t)(p[i] >> 4);
  }
}

UNPACK(unpack_q5_K) {
  scales_k(from, scale, offset);
  const uint8_t *top = from + 16;
  for (int run = 0; run < 4; run++) {
    const uint8_t *p = from + 48 + 32 * run;
    for (int i = 0; i < 32; i++) q[64 * run + i] = (int8_t)((p[i] & 15) | (top[i] >> 2 * run & 1) << 4);
    for (int i = 0; i < 32; i++) q[64 * run + 32 + i] = (int8_t)((p[i] >> 4) | (top[i] >> (2 * run + 1) & 1) << 4);
  }
}

UNPACK(unpack_q6_K) {
  (void)offset;
  float d = half_at(from, 208);
  for (int g = 0; g < 16; g++) scale[g] = d * (float)(int8_t)from[192 + g];
  for (int h = 0; h < 2; h++) {
    const uint8_t *low = from + 64 * h, *high = from + 128 + 32 * h;
    int8_t *to = q + 128 * h;
    for (int i = 0; i < 32; i++) to[i] = (int8_t)(((low[i] & 15) | (high[i] & 3) << 4) - 32);
    for (int i = 0; i < 32; i++) to[32 + i] = (int8_t)(((low[32 + i] & 15) | (high[i] >> 2 & 3) << 4) - 32);
    for (int i = 0; i < 32; i++) to[64 + i] = (int8_t)(((low[i] >> 4) | (high[i] >> 4 & 3) << 4) - 32);
    for (int i = 0; i < 32; i++) to[96 + i] = (int8_t)(((low[32 + i] >> 4) | (high[i] >> 6) << 4) - 32);
  }
}

static const unpacking unpackings[] = {
    {2, 32, 18, 32, 0, unpack_q4_0},   {3, 32, 20, 32, 1, unpack_q4_1},    {6, 32, 22, 32, 0, unpack_q5_0},
    {7, 32, 24, 32, 1, unpack_q5_1},   {8, 32, 34, 32, 0, unpack_q8_0},    {10, 256, 84, 16, 1, unpack_q2_K},
    {11, 256, 110, 16, 0, unpack_q3_K}, {12, 256, 144, 32, 1, unpack_q4_K}, {13, 256, 176, 32, 1, unpack_q5_K},
    {14, 256, 210, 16, 0, unpack_q6_K},
};

const unpacking *unpacking_of(int64_t id) {
  for (size_t i = 0; i < sizeof unpackings / sizeof *unpackings; i++)
    if (unpackings[i].id == id) return unpackings + i;
  return NULL;
}
