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
#include "decode_k.h"

typedef struct { int bytes, is_signed, has_low; } traits32;

INLINE traits32 traits32_of(const int type) {
  switch (type) {
    case Q4_0: return (traits32){sizeof(q4_0), 0, 1};
    case Q4_1: return (traits32){sizeof(q4_1), 0, 1};
    case Q5_0: return (traits32){sizeof(q5_0), 0, 1};
    case Q5_1: return (traits32){sizeof(q5_1), 0, 1};
    default: return (traits32){sizeof(q8_0), 1, 0};
  }
}

/* d and low of n blocks from w on (1 <= n <= VW), the other lanes zero. */
INLINE void scales32(const int type, const uint8_t *w, int n, vf *d, vf *low) {
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
    default: return bytes_32(w + offsetof(q8_0, q), sizeof(q8_0), n, first, last);
  }
}

/* `largest` is the greatest |scale * v| that any bits of a file can give: it bounds how many products an int32 holds. */
typedef struct { int bytes, width, is_signed, has_minima, largest; } traits256;

INLINE traits256 traits256_of(const int type) {
  switch (type) {
    case Q2_K: return (traits256){sizeof(q2_K), 16, 0, 1, 15 * 3};
    case Q3_K: return (traits256){sizeof(q3_K), 16, 0, 1, 32 * 7};
    case Q4_K: return (traits256){sizeof(q4_K), 32, 0, 1, 63 * 15};
    case Q5_K: return (traits256){sizeof(q5_K), 32, 0, 1, 63 * 31};
    default: return (traits256){sizeof(q6_K), 16, 0, 1, 128 * 63};
  }
}

INLINE runs256 scales256(const int type, const uint8_t *w) {
  switch (type) {
    case Q2_K: return scales_of_q2_K((const q2_K *)w);
    case Q3_K: return scales_of_q3_K((const q3_K *)w);
    case Q4_K: return scales_of_q4_K(w);
    case Q5_K: return scales_of_q4_K(w);
    default: return scales_of_q6_K((const q6_K *)w);
  }
}

INLINE vb elements256(const int type, const uint8_t *w, int j) {
  switch (type) {
    case Q2_K: return vk_two(((const q2_K *)w)->q, j);
    case Q3_K: return vb_or(vk_two(((const q3_K *)w)->q, j), vk_bit(((const q3_K *)w)->high, j, 2));
    case Q4_K: return vk_nibbles(((const q4_K *)w)->q, j);
    case Q5_K: return vb_or(vk_nibbles(((const q5_K *)w)->q, j), vk_bit(((const q5_K *)w)->high, j, 4));
    default: return vk_six(((const q6_K *)w)->low, ((const q6_K *)w)->high, j);
  }
}

INLINE int block_of(const int type) { return type <= Q8_0 || type == IQ4_NL || type == MXFP4 ? 32 : 256; }

#endif
