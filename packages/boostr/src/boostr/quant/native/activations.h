/* Rows of float32 activations rounded to int8 or int16, in the order the products read them. A row is one run of bytes.

   A vector of VB weights is LANES runs of 16. Int8 activations lie like the weights. Int16 ones take two vectors: the
   elements with even numbers of each run, then those with odd ones, for there the bytes of a weight vector go when they
   are masked and shifted into words.

   Blocks of 32: groups of LANES blocks: the first 16 elements of each block, then the last 16. Then a scale d and a sum
   d * sum(q) per block, padded with zeros to whole vectors of floats, and for int8 where UNSIGNED_DOT the correction
   -128 * sum(q) of each lane.
   Blocks of 256: structs act256 or wide256. */
#ifndef BOOSTR_ACTIVATIONS_H
#define BOOSTR_ACTIVATIONS_H

#include <stddef.h>

#include "ints.h"

/* Scale of a block of 256 and d * sum(q) of its runs of 16 and of 32; what follows is zero, so that sums may be read as
   whole vectors. */
typedef struct { float sum16[16], sum32[8], d, zero[7]; } tail256;

typedef struct {
  int8_t q[256];
  tail256 tail;
  int16_t whole16[16], whole32[8], unused[8]; /* sum(q) of runs of 16 and of 32 */
} act256;

typedef struct { int16_t q[256]; tail256 tail; } wide256;

/* Byte offsets within a row of blocks of 32. `blocks` counts the padding. */
typedef struct { int64_t blocks, d, sum, correction, bytes; } act32_shape;

INLINE act32_shape act32_of(const int bits, int64_t columns) {
  int64_t blocks = (columns / 32 + VW - 1) / VW * VW, quants = blocks * 4 * bits, floats = blocks * 4;
  return (act32_shape){
      .blocks = blocks,
      .d = quants,
      .sum = quants + floats,
      .correction = quants + 2 * floats,
      .bytes = quants + 2 * floats + (UNSIGNED_DOT && bits == 8 ? blocks * 16 : 0),
  };
}

/* `block` is 32 or 256, `bits` 8 or 16. */

/* Integers q of n floats and, returned, their scale: the largest magnitude becomes 127 or 32767. A block with an infinite
   or NaN element becomes NaN: zeros times a NaN scale. */
float round_block(int bits, const float *x, int n, int16_t *restrict q);


/* Bytes of one rounded row, a multiple of 16. */
int64_t rounded_bytes(int block, int bits, int64_t columns);

/* Rounds one row of `columns` floats (a multiple of the block) into rounded_bytes of memory. */
void round_row(int block, int bits, const float *x, int64_t columns, uint8_t *out);

/* What round_row keeps of x, as floats again. */
void round_trip(int block, int bits, const float *x, int64_t columns, float *out);

#endif
