/* Ranges of weight rows against all tokens of a product: what a type's entry in the table of products.c runs. */
#ifndef BOOSTR_ROWS_H
#define BOOSTR_ROWS_H

#include <stdint.h>

/* One weight of a product and its tokens, `stride` bytes apart: rounded rows, or float32 ones. y[t * rows + r]. */
typedef struct type type;
typedef struct {
  const type *of;
  const uint8_t *w, *a;
  float *y;
  int64_t rows, columns, row_bytes, tokens, stride;
  int bits;
} part;
typedef void rows_fn(const part *p, int64_t lo, int64_t hi);

rows_fn rows_f32, rows_f16, rows_bf16;

/* With int8 activations, and with int16 ones. */
#define DECLARE_ROWS(name) rows_fn rows8_##name, rows16_##name;
DECLARE_ROWS(q4_0)
DECLARE_ROWS(q4_1)
DECLARE_ROWS(q5_0)
DECLARE_ROWS(q5_1)
DECLARE_ROWS(q8_0)
DECLARE_ROWS(q2_K)
DECLARE_ROWS(q3_K)
DECLARE_ROWS(q4_K)
DECLARE_ROWS(q5_K)
DECLARE_ROWS(q6_K)
DECLARE_ROWS(iq1_s)
DECLARE_ROWS(iq1_m)
DECLARE_ROWS(iq2_xxs)
DECLARE_ROWS(iq2_xs)
DECLARE_ROWS(iq2_s)
DECLARE_ROWS(iq3_xxs)
DECLARE_ROWS(iq3_s)
DECLARE_ROWS(iq4_nl)
DECLARE_ROWS(iq4_xs)
DECLARE_ROWS(tq1_0)
DECLARE_ROWS(tq2_0)
DECLARE_ROWS(mxfp4)

#endif
