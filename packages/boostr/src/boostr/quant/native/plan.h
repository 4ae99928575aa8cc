/* A product as the caller describes it, and how the entry points answer. */
#ifndef BOOSTR_PLAN_H
#define BOOSTR_PLAN_H

#include <stdint.h>

enum { OK = 0, UNKNOWN_TYPE = 1, OUT_OF_MEMORY = 2, BAD_ROW = 3 };

#define MAX_PARTS 8

/* `bits` of the activations it meets: 8, 16, or 0: float32. */
typedef struct { int64_t id; const uint8_t *w; int64_t rows, bits; } weight;

/* A fixed head and `count` weights, of `columns` each. */
typedef struct { int64_t count, columns; weight weights[MAX_PARTS]; } product;

#endif
