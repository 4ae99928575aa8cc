/* Rows of float32 activations rounded to int8, in the order the products read them. One row is one run of bytes.

   ROUND_32: a scale per 32 elements. Groups of LANES blocks: VB bytes with the first 16 quants of each block, VB bytes
   with the last 16. Then a scale d and a sum d * sum(q) per block, padded with zeros to whole vectors of floats, and
   where UNSIGNED_DOT the correction -128 * sum(q) of each lane.
   ROUND_256: a scale per 256 elements, blocks as struct act256. */
#ifndef BOOSTR_ACTIVATIONS_H
#define BOOSTR_ACTIVATIONS_H

#include <stddef.h>

#include "ints.h"

enum rounding { ROUND_NONE = 0, ROUND_32 = 32, ROUND_256 = 256 };

typedef struct {
  int8_t q[256];
  int16_t sum16[16], sum32[8]; /* sums of 16 and of 32 quants */
  float d;
  int32_t unused[3];
} act256;

/* Byte offsets within a ROUND_32 row. `blocks` counts the padding. */
typedef struct {
  int64_t blocks, d, sum, correction, bytes;
} act32_shape;

INLINE act32_shape act32_of(int64_t columns) {
  int64_t blocks = (columns / 32 + VW - 1) / VW * VW, quants = blocks * 32, floats = blocks * 4;
  return (act32_shape){
      .blocks = blocks,
      .d = quants,
      .sum = quants + floats,
      .correction = quants + 2 * floats,
      .bytes = quants + 2 * floats + (UNSIGNED_DOT ? blocks * 16 : 0),
  };
}

/* Bytes of one rounded row, a multiple of 16. */
int64_t rounded_bytes(enum rounding kind, int64_t columns);

/* Rounds one row of `columns` floats (a multiple of the block) into rounded_bytes of memory. */
void round_row(enum rounding kind, const float *x, int64_t columns, uint8_t *out);

/* What round_row keeps of x, as floats again. */
void round_trip(enum rounding kind, const float *x, int64_t columns, float *out);

#endif
