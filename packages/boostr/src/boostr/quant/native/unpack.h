/* Blocks taken apart into small integers, a scale and an offset for each `sub` of them: w = scale * q + offset.

   The one description of a type that the row-interleaved products read (tiles.c). Dot products of few rows decode into
   registers instead (dots.h), since there a block is used once or a few times. */
#ifndef BOOSTR_UNPACK_H
#define BOOSTR_UNPACK_H

#include "blocks.h"

/* One block: `block` integers of q, block / sub scales, and as many offsets where the type has them. */
typedef void unpack_fn(const uint8_t *from, int8_t *restrict q, float *restrict scale, float *restrict offset);

typedef struct {
  int id, block, bytes, sub, offsets;
  unpack_fn *unpack;
} unpacking;

/* How a type is taken apart, or NULL. */
const unpacking *unpacking_of(int64_t id);

#endif
