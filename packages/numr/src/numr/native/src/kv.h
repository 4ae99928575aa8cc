/* The cache memory that attention reads: spans of packed rows, segments of a sequence, one layer's place in them.
   The structs are the rows of the structured arrays SPAN and SEGMENT of numr.nn.kv. */
#ifndef NUMR_KV_H
#define NUMR_KV_H

#include <stdint.h>

typedef struct {
  int64_t base, capacity; /* address of the buffer, tokens that fit */
  int64_t start, length;  /* position of its first token, tokens that hold values */
} segment;

typedef struct {
  int64_t row, rows;          /* of the packed batch */
  int64_t position;           /* of the first row */
  int64_t segment, segments;  /* its slice of the segment array */
} span;

typedef struct {
  int64_t k_offset, v_offset; /* bytes per token of capacity */
  int64_t heads, k_dim, v_dim;
  int half;                   /* elements are float16, else float32 */
} layer;

typedef struct {
  const span *spans;
  const segment *segments;
  int64_t n_spans, n_segments;
} table;

enum { KV_OK = 0, KV_SPAN = 1, KV_SEGMENT = 2, KV_COVER = 3, KV_MEMORY = 4 };

/* Refuses a span that leaves the batch of `rows` rows or the segments, segments that leave gaps in positions, and
   segments that do not cover the span's rows. Nothing is read from the segments themselves. */
int kv_check(const table *t, int64_t rows);

/* The address of head h's keys or values in a segment, [capacity][dim]. */
static inline char *kv_head(const segment *s, const layer *l, int64_t h, int values) {
  int64_t size = l->half ? 2 : 4, dim = values ? l->v_dim : l->k_dim;
  return (char *)(intptr_t)s->base + s->capacity * ((values ? l->v_offset : l->k_offset) + h * dim * size);
}

#endif
