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
typedef struct PACKED { half_t d; int8_t q[32]; } q8_0;     /* w = d * q */

/* w = d * scale * q - dmin * minimum for each 32; 32 bytes of q hold 32 low nibbles, then 32 high ones. */
typedef struct PACKED { half_t d, dmin; uint8_t scales[12], q[128]; } q4_K;

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

#endif
