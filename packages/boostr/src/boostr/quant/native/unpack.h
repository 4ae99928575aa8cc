/* Blocks taken apart into small integers, a scale and perhaps an offset for each `sub` of them: w = scale * q + offset.

   What the row-interleaved products read (tiles.c), made of decode.h. Dot products of few rows keep vectors of it in
   registers instead (dots.h), since there a block is used once or a few times. */
#ifndef BOOSTR_UNPACK_H
#define BOOSTR_UNPACK_H

#include <stdint.h>

/* `blocks` blocks, at most 256 elements: their integers, and per `sub` elements a scale and, where the type has them, an
   offset. */
typedef void unpack_fn(const uint8_t *from, int blocks, int8_t *restrict q, float *restrict scale,
                       float *restrict offset);

typedef struct {
  int block, bytes, sub, offsets;
  unpack_fn *unpack;
} unpacking;

/* How a type is taken apart; `unpack` is NULL where it cannot be. */
unpacking unpacking_of(int64_t id);

#endif
