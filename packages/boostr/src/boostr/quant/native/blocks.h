/* Block layouts of the quantized types that have kernels, as ggml's files store them: little-endian, no padding. */
#ifndef BOOSTR_BLOCKS_H
#define BOOSTR_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "simd.h"

#define PACKED __attribute__((packed))

typedef uint16_t half_t; /* IEEE binary16; quants of byte i: element i in the low nibble, element i + 16 in the high */
typedef struct PACKED { half_t d; uint8_t q[16]; } q4_0;    /* w = d * (q - 8) */
typedef struct PACKED { half_t d, m; uint8_t q[16]; } q4_1; /* w = d * q + m */
typedef struct PACKED { half_t d; uint8_t high[4], q[16]; } q5_0;    /* w = d * (q - 16); bit i of high: element i */
typedef struct PACKED { half_t d, m; uint8_t high[4], q[16]; } q5_1; /* w = d * q + m */
typedef struct PACKED { half_t d; int8_t q[32]; } q8_0;     /* w = d * q */

/* Two-bit planes: byte i of 32 holds element i of four groups of 32, lowest bits first; two such runs. One-bit planes
   likewise, of eight groups. w = d * scale * q - dmin * minimum for each 16, low and high nibbles of scales. */
typedef struct PACKED { uint8_t scales[16], q[64]; half_t d, dmin; } q2_K;

/* w = d * scale * (q - 4) for each 16: two bits in q, the third in high; sixteen scales of 6 bits, less 32. */
typedef struct PACKED { uint8_t high[32], q[64], scales[12]; half_t d; } q3_K;

/* w = d * scale * q - dmin * minimum for each 32; 32 bytes of q hold 32 low nibbles, then 32 high ones. */
typedef struct PACKED { half_t d, dmin; uint8_t scales[12], q[128]; } q4_K;

/* As q4_K, with a plane of fifth bits. */
typedef struct PACKED { half_t d, dmin; uint8_t scales[12], high[32], q[128]; } q5_K;

/* w = d * scale * (q - 32) for each 16. Each half of 128: 64 bytes of low nibbles, 32 bytes of four 2-bit tops. */
typedef struct PACKED { uint8_t low[128], high[64]; int8_t scales[16]; half_t d; } q6_K;

INLINE float half(half_t h) {
#if defined(__F16C__)
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
#else
  float lanes[VW];
  vf_store(lanes, vh_load_n(&h, 1));
  return lanes[0];
#endif
}

INLINE float bhalf(uint16_t h) { /* bfloat16 */
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

/* Eight scales and eight minima of 6 bits, one per byte of the results. Bytes 0..3 and 4..7 hold numbers 0..3 in their
   low six bits; their top two bits complete the nibbles of bytes 8..11, which hold numbers 4..7. */
INLINE void q4_K_scales(const uint8_t packed[12], uint64_t *scales, uint64_t *minima) {
  uint32_t a, b, c;
  memcpy(&a, packed, 4);
  memcpy(&b, packed + 4, 4);
  memcpy(&c, packed + 8, 4);
  *scales = (a & 0x3f3f3f3fu) | (uint64_t)((c & 0x0f0f0f0fu) | ((a >> 2) & 0x30303030u)) << 32;
  *minima = (b & 0x3f3f3f3fu) | (uint64_t)(((c >> 4) & 0x0f0f0f0fu) | ((b >> 2) & 0x30303030u)) << 32;
}

/* Sixteen scales of 6 bits less 32, a signed byte each: low nibbles of bytes 0..7, then their high ones; the top two
   bits of numbers 0..3, 4..7, ... lie in bytes 8..11, lowest bits first. */
INLINE void q3_K_scales(const uint8_t packed[12], uint64_t scales[2]) {
  uint64_t nibbles;
  uint32_t tops;
  memcpy(&nibbles, packed, 8);
  memcpy(&tops, packed + 8, 4);
  for (int i = 0; i < 2; i++) {
    uint64_t top = (tops >> 4 * i & 0x03030303u) | (uint64_t)(tops >> (4 * i + 2) & 0x03030303u) << 32;
    uint64_t six = (nibbles >> 4 * i & 0x0f0f0f0f0f0f0f0fu) | top << 4;
    scales[i] = (six + 0x6060606060606060u) ^ 0x8080808080808080u; /* less 32, without borrows between bytes */
  }
}

INLINE uint64_t eight_bytes(const void *p) {
  uint64_t bytes;
  memcpy(&bytes, p, 8);
  return bytes;
}

/* ggml's numbers of the types, by which the products know them. */
enum type_id {
  F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q2_K = 10, Q3_K = 11, Q4_K = 12, Q5_K = 13, Q6_K = 14,
  IQ2_XXS = 16, IQ2_XS = 17, IQ3_XXS = 18, IQ1_S = 19, IQ4_NL = 20, IQ3_S = 21, IQ2_S = 22, IQ4_XS = 23, IQ1_M = 29, BF16 = 30,
  TQ1_0 = 34, TQ2_0 = 35, MXFP4 = 39
};

#endif
