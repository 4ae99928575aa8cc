/* Block layouts of the IQ, TQ and FP4 types, as ggml's files store them: little-endian, no padding.

   IQ2 and IQ3 elements are points of a codebook (grids.h) with a sign each, a set bit being negative, lowest bit first.
   Where seven sign bits serve eight elements, the eighth makes the number of negative ones even. Scales s of 4 bits
   (3 in IQ1) stand for 2 s + 1. */
#ifndef BOOSTR_BLOCKS_IQ_H
#define BOOSTR_BLOCKS_IQ_H

#include "blocks.h"

typedef struct PACKED { half_t d; uint8_t q[16]; } iq4_nl; /* w = d * value of nibble q */
typedef struct PACKED { uint8_t e; uint8_t q[16]; } mxfp4; /* w = 2^(e - 128) * value of nibble q */

/* w = d / 8 * scale * +-point; four points of 8, then four times 7 signs and, on top, the scale of the 32. */
typedef struct PACKED { uint8_t index[4]; uint32_t tail; } pair_xxs;
typedef struct PACKED { half_t d; pair_xxs pairs[8]; } iq2_xxs;

/* w = d / 8 * scale * +-point; 9 bits of index, 7 signs; a nibble of scale for each 16, low ones first. */
typedef struct PACKED { half_t d; uint16_t codes[32]; uint8_t scales[8]; } iq2_xs;

/* w = d / 8 * scale * +-point; 8 + 2 bits of index, 8 signs. */
typedef struct PACKED { half_t d; uint8_t low[32], signs[32], high[8], scales[8]; } iq2_s;

/* w = d / 4 * scale * +-point of 4; tails as in iq2_xxs. */
typedef struct PACKED { half_t d; uint8_t index[64]; uint32_t tails[8]; } iq3_xxs;

/* w = d * scale * +-point of 4; 8 + 1 bits of index, 8 signs; a nibble of scale for each 32. */
typedef struct PACKED { half_t d; uint8_t low[64], high[8], signs[32], scales[4]; } iq3_s;

/* w = d * scale * (point +- 1/8); a word for each 32: four times 3 high bits of index, scale, and the sign of 1/8. */
typedef struct PACKED { half_t d; uint8_t low[32]; uint16_t tails[8]; } iq1_s;

/* w = d * scale * (point +- 1/8); nibbles of 3 high bits of index and the sign of 1/8; words of four scales of 16
   elements, d in the top nibbles of the four words. */
typedef struct PACKED { uint8_t low[32], high[16]; uint16_t scales[4]; } iq1_m;

/* w = d * (scale - 32) * value of nibble q; each 32 elements as in iq4_nl; scales of 4 + 2 bits. */
typedef struct PACKED { half_t d; uint16_t high; uint8_t low[4], q[128]; } iq4_xs;

/* w = d * (digit - 1). A byte is a fraction in base 3, whose digit k comes to the top times 3^k: five digits of each of
   32 bytes (all first ones, then all second ones, ...), five of 16 more, four of the last 4. */
typedef struct PACKED { uint8_t q[32], r[16], last[4]; half_t d; } tq1_0;

/* w = d * (q - 1); two-bit planes as in q2_K. */
typedef struct PACKED { uint8_t q[64]; half_t d; } tq2_0;

/* What a nibble stands for: IQ4; and FP4 (E2M1) doubled, plus 12. */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t fp4_values[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

#endif
