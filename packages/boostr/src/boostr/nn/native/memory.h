/* The spans of a packed batch with each sequence's recurrent memory, as boostr.state.memory lays it out. */
#ifndef BOOSTR_MEMORY_H
#define BOOSTR_MEMORY_H

#include <stdint.h>

#include "runtime.h"

#define OUT_OF_MEMORY 2

typedef struct {
  int64_t row, rows; /* rows [row, row + rows) of the batch */
  int64_t source;    /* address of the memory before the first row; 0: the sequence begins here */
  int64_t target;    /* address of the memory after the last row; may be the same */
} memory_span;

/* A layer's part of both memories, `offset` bytes from their beginnings. */
static inline const float *source_of(const memory_span *s, int64_t offset) {
  return s->source ? (const float *)(intptr_t)(s->source + offset) : 0;
}
static inline float *target_of(const memory_span *s, int64_t offset) {
  return (float *)(intptr_t)(s->target + offset);
}

#endif
