/* Elements of the types with 32-element blocks; decode.h says what is asked of them. `step` is the size of a block. */
#ifndef BOOSTR_DECODE_32_H
#define BOOSTR_DECODE_32_H

#include "blocks.h"
#include "ints.h"

INLINE void nibbles_32(const uint8_t *q, int step, int n, vb *first, vb *last) {
  vb both = vb_load16(q, step, n);
  *first = vb_low(both);
  *last = vb_high(both);
}

INLINE void fives_32(const uint8_t *q, const uint8_t *high, int step, int n, vb *first, vb *last) {
  nibbles_32(q, step, n, first, last);
  *first = vb_or(*first, vb_bits16(high, step, n));
  *last = vb_or(*last, vb_bits16(high + 2, step, n));
}

INLINE void bytes_32(const uint8_t *q, int step, int n, vb *first, vb *last) {
  *first = vb_load16(q, step, n);
  *last = vb_load16(q + 16, step, n);
}

#endif
