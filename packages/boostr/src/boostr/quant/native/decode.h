/* How the blocks of each type turn into vectors of bytes and scales: all that a product needs to know of a type.

   A type of 32-element blocks gives, for LANES blocks at once, the first 16 elements v of each block and the last 16,
   and for VW blocks d and low: w = d * v + low.

   A type of 256-element blocks gives vector j of the VECTORS vectors of its elements v, in their order, and the scales
   of its runs of `width` elements: w = d * scale * v + low * minimum.

   v is a byte: 0..127, or signed where the traits say so. All functions are inlined with a constant type, so that only
   one case of each switch remains. */
#ifndef BOOSTR_DECODE_H
#define BOOSTR_DECODE_H

#include "decode_32.h"
#include "decode_iq.h"
#include "decode_k.h"
#include "decode_small.h"

typedef struct { int bytes, is_signed, has_low; } traits32;

INLINE traits32 traits32_of(const int type) {
  switch (type) {
    case Q4_0: return (traits32){sizeof(q4_0), 0, 1};
    case Q4_1: return (traits32){sizeof(q4_1), 0, 1};
    case Q5_0: return (traits32){sizeof(q5_0), 0, 1};
    case Q5_1: return (traits32){sizeof(q5_1), 0, 1};
    case IQ4_NL: return (traits32){sizeof(iq4_nl), 1, 0};
    case MXFP4: return (traits32){sizeof(mxfp4), 0, 1};
    default: return (traits32){sizeof(q8_0), 1, 0};
  }
}

/* d and low of n blocks from w on (1 <= n <= VW), the other lanes zero. */
INLINE void scales32(const int type, const uint8_t *w, int n, vf *d, vf *low) {
  if (type == MXFP4) {
    *d = vf_powers(w, sizeof(mxfp4), n);
    *low = vf_mul(*d, vf_set1(-12.f));
    return;
  }
  vh_gather2(w, traits32_of(type).bytes, n, d, low);
  if (type == Q4_0) *low = vf_mul(*d, vf_set1(-8.f));
  if (type == Q5_0) *low = vf_mul(*d, vf_set1(-16.f));
}

/* Elements 0..15 and 16..31 of n blocks from w on (1 <= n <= LANES); lanes beyond hold anything. */
INLINE void elements32(const int type, const uint8_t *w, int n, vb *first, vb *last) {
  switch (type) {
    case Q4_0: return nibbles_32(w + offsetof(q4_0, q), sizeof(q4_0), n, first, last);
    case Q4_1: return nibbles_32(w + offsetof(q4_1, q), sizeof(q4_1), n, first, last);
    case Q5_0: return fives_32(w + offsetof(q5_0, q), w + offsetof(q5_0, high), sizeof(q5_0), n, first, last);
    case Q5_1: return fives_32(w + offsetof(q5_1, q), w + offsetof(q5_1, high), sizeof(q5_1), n, first, last);
    case IQ4_NL: return looked_up_32(iq4_values, w + offsetof(iq4_nl, q), sizeof(iq4_nl), n, first, last);
    case MXFP4: return looked_up_32(fp4_values, w + offsetof(mxfp4, q), sizeof(mxfp4), n, first, last);
    default: return bytes_32(w + offsetof(q8_0, q), sizeof(q8_0), n, first, last);
  }
}

/* `largest` is the greatest |scale * v| that any bits of a file can give: it bounds how many products an int32 holds.
   Where `unscaled`, all scales are 1. */
typedef struct { int bytes, width, is_signed, has_minima, largest, unscaled; } traits256;

INLINE traits256 traits256_of(const int type) {
  switch (type) {
    case Q2_K: return (traits256){sizeof(q2_K), 16, 0, 1, 15 * 3, 0};
    case Q3_K: return (traits256){sizeof(q3_K), 16, 0, 1, 32 * 7, 0};
    case Q4_K: return (traits256){sizeof(q4_K), 32, 0, 1, 63 * 15, 0};
    case Q5_K: return (traits256){sizeof(q5_K), 32, 0, 1, 63 * 31, 0};
    case IQ1_S: return (traits256){sizeof(iq1_s), 32, 0, 1, 15 * 18, 0};
    case IQ1_M: return (traits256){sizeof(iq1_m), 16, 0, 1, 15 * 18, 0};
    case IQ2_XXS: return (traits256){sizeof(iq2_xxs), 32, 0, 1, 31 * 86, 0};
    case IQ2_XS: return (traits256){sizeof(iq2_xs), 16, 0, 1, 31 * 86, 0};
    case IQ2_S: return (traits256){sizeof(iq2_s), 16, 0, 1, 31 * 86, 0};
    case IQ3_XXS: return (traits256){sizeof(iq3_xxs), 32, 0, 1, 31 * 124, 0};
    case IQ3_S: return (traits256){sizeof(iq3_s), 32, 0, 1, 31 * 30, 0};
    case IQ4_XS: return (traits256){sizeof(iq4_xs), 32, 1, 0, 32 * 127, 0};
    case TQ1_0: return (traits256){sizeof(tq1_0), 32, 0, 1, 2 * TRIT, 1};
    case TQ2_0: return (traits256){sizeof(tq2_0), 32, 0, 1, 3, 1};
    default: return (traits256){sizeof(q6_K), 16, 0, 1, 128 * 63, 0};
  }
}

INLINE runs256 scales256(const int type, const uint8_t *w) {
  switch (type) {
    case Q2_K: return scales_of_q2_K((const q2_K *)w);
    case Q3_K: return scales_of_q3_K((const q3_K *)w);
    case Q4_K: return scales_of_q4_K(w);
    case Q5_K: return scales_of_q4_K(w);
    case IQ1_S: return scales_of_iq1_s((const iq1_s *)w);
    case IQ1_M: return scales_of_iq1_m((const iq1_m *)w);
    case IQ2_XXS: return scales_of_iq2_xxs((const iq2_xxs *)w);
    case IQ2_XS: return scales_of_iq2_xs((const iq2_xs *)w);
    case IQ2_S: return scales_of_iq2_s((const iq2_s *)w);
    case IQ3_XXS: return scales_of_iq3_xxs((const iq3_xxs *)w);
    case IQ3_S: return scales_of_iq3_s((const iq3_s *)w);
    case IQ4_XS: return scales_of_iq4_xs((const iq4_xs *)w);
    case TQ1_0: return scales_of_ternary(half(((const tq1_0 *)w)->d), TRIT);
    case TQ2_0: return scales_of_ternary(half(((const tq2_0 *)w)->d), 1);
    default: return scales_of_q6_K((const q6_K *)w);
  }
}

INLINE vb elements256(const int type, const uint8_t *w, int j) {
  switch (type) {
    case Q2_K: return vk_two(((const q2_K *)w)->q, j);
    case Q3_K: return vb_or(vk_two(((const q3_K *)w)->q, j), vk_bit(((const q3_K *)w)->high, j, 2));
    case Q4_K: return vk_nibbles(((const q4_K *)w)->q, j);
    case Q5_K: return vb_or(vk_nibbles(((const q5_K *)w)->q, j), vk_bit(((const q5_K *)w)->high, j, 4));
    case IQ1_S: return elements_of_iq1_s((const iq1_s *)w, j);
    case IQ1_M: return elements_of_iq1_m((const iq1_m *)w, j);
    case IQ2_XXS: return elements_of_iq2_xxs((const iq2_xxs *)w, j);
    case IQ2_XS: return elements_of_iq2_xs((const iq2_xs *)w, j);
    case IQ2_S: return elements_of_iq2_s((const iq2_s *)w, j);
    case IQ3_XXS: return elements_of_iq3_xxs((const iq3_xxs *)w, j);
    case IQ3_S: return elements_of_iq3_s((const iq3_s *)w, j);
    case IQ4_XS: return elements_of_iq4_xs((const iq4_xs *)w, j);
    case TQ1_0: return elements_of_tq1_0((const tq1_0 *)w, j);
    case TQ2_0: return vk_two(((const tq2_0 *)w)->q, j);
    default: return vk_six(((const q6_K *)w)->low, ((const q6_K *)w)->high, j);
  }
}

INLINE int block_of(const int type) { return type <= Q8_0 || type == IQ4_NL || type == MXFP4 ? 32 : 256; }

#endif
