/* Elements and scales of IQ4_NL and MXFP4; decode.h says what is asked of them. */
#ifndef BOOSTR_DECODE_SMALL_H
#define BOOSTR_DECODE_SMALL_H

#include <stddef.h>

#include "blocks_iq.h"
#include "decode_32.h"

INLINE void looked_up_32(const int8_t values[16], const uint8_t *q, int step, int n, vb *first, vb *last) {
  nibbles_32(q, step, n, first, last);
  *first = vb_lookup16(values, *first);
  *last = vb_lookup16(values, *last);
}

/* 2^(e - 128) as float bits; the two least are subnormal. */
INLINE uint32_t power_bits(uint8_t e) { return e < 2 ? 0x200000u << e : (uint32_t)(e - 1) << 23; }

#endif
