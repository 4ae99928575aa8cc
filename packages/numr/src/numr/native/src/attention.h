/* One tile of attention: up to MAX_QUERIES query vectors of one key-value head against one range of keys. */
#ifndef NUMR_ATTENTION_H
#define NUMR_ATTENTION_H

#include "kv.h"
#include "simd.h"

#define MAX_QUERIES 64
#define KEYS 64 /* keys taken at a time; a multiple of KQ and VW on every level */

/* Query vector m of a span is head m % group of row m / group. */
typedef struct {
  const float *q;       /* the span's first query vector of this head group */
  int64_t q_row;        /* floats from one packed row to the next */
  int64_t first, count; /* query vectors [first, first + count) */
  int64_t group;
  int single;           /* the span has one row: see attend_tile */
  int64_t position;     /* of the span's first row */
  const segment *segments;
  int64_t n_segments;
  int64_t head;         /* of keys and values */
  int64_t lo, hi;       /* positions of the keys */
} tile;

typedef struct {
  float scale, softcap;
  int64_t window;
} scoring;

/* What a tile leaves: per query the unnormalised sum over values, and the maximum and the sum of its weights. */
typedef struct {
  float *values; /* [count][stride] */
  int64_t stride;
  float *most, *sum;
} partial;

/* Bytes of scratch that a tile needs besides its partial result. */
size_t tile_scratch(const layer *l);

/* What a query gets depends on its keys alone, not on the tile: keys are taken in blocks that end at multiples of KEYS, and
   how scores and sums are added up differs only for spans of one row. (So a prompt gives the same bits however it is cut
   into passes of two rows and more, as long as segments end at multiples of KEYS too.) */
void attend_tile(const tile *t, const layer *l, const scoring *s, void *scratch, partial *out);

static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

#endif
