/* Products of few rows, y_i = x W_i^T for weights that share x: the table of types and the driver. */
#include <stdatomic.h>

#include "activations.h"
#include "blocks_iq.h"
#include "dequantize.h"
#include "plan.h"
#include "rows.h"
#include "runtime.h"

enum { SLOT_ROW = 4 }; /* scratch: rounded activations in slots 0..3, a widened weight row */

/* A type needs its rows on int8 and on int16 activations, rounded in blocks of `round` (0: dense, `rows` alone, on
   float32), and its dequantization. */
struct type {
  int id, block, bytes, round;
  rows_fn *rows, *rows16;
  dequantize_fn *dequantize;
};

#define QUANTIZED(ID, name, block) {ID, block, sizeof(name), block, rows8_##name, rows16_##name, dequantize_##name}

static const type types[] = {
    {F32, 1, 4, 0, rows_f32, NULL, dequantize_f32},
    {F16, 1, 2, 0, rows_f16, NULL, dequantize_f16},
    {BF16, 1, 2, 0, rows_bf16, NULL, dequantize_bf16},
    QUANTIZED(Q4_0, q4_0, 32),
    QUANTIZED(Q4_1, q4_1, 32),
    QUANTIZED(Q5_0, q5_0, 32),
    QUANTIZED(Q5_1, q5_1, 32),
    QUANTIZED(Q8_0, q8_0, 32),
    QUANTIZED(Q2_K, q2_K, 256),
    QUANTIZED(Q3_K, q3_K, 256),
    QUANTIZED(Q4_K, q4_K, 256),
    QUANTIZED(Q5_K, q5_K, 256),
    QUANTIZED(Q6_K, q6_K, 256),
    QUANTIZED(IQ1_S, iq1_s, 256),
    QUANTIZED(IQ1_M, iq1_m, 256),
    QUANTIZED(IQ2_XXS, iq2_xxs, 256),
    QUANTIZED(IQ2_XS, iq2_xs, 256),
    QUANTIZED(IQ2_S, iq2_s, 256),
    QUANTIZED(IQ3_XXS, iq3_xxs, 256),
    QUANTIZED(IQ3_S, iq3_s, 256),
    QUANTIZED(IQ4_NL, iq4_nl, 32),
    QUANTIZED(IQ4_XS, iq4_xs, 256),
    QUANTIZED(TQ1_0, tq1_0, 256),
    QUANTIZED(TQ2_0, tq2_0, 256),
    QUANTIZED(MXFP4, mxfp4, 32),
};

static const type *find(int64_t id) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].id == id) return types + i;
  return NULL;
}

/* ---- driver ---- */

#define WIDENED_FLOATS 16384 /* 64 KiB of a core's cache */
typedef struct {
  part parts[MAX_PARTS];
  int count;
  atomic_int failed;
} job;

/* Float32 activations for a quantized weight: a batch of rows is widened into the cache and multiplied there. */
static void rows_widened(const part *p, int64_t lo, int64_t hi, atomic_int *failed) {
  int64_t batch = WIDENED_FLOATS / p->columns + 1, row_bytes = p->columns * 4;
  float *rows = runtime()->scratch(SLOT_ROW, (size_t)(batch * row_bytes));
  if (!rows) {
    atomic_store(failed, 1);
    return;
  }
  for (int64_t r = lo; r < hi; r += batch) {
    int64_t end = hi - r < batch ? hi : r + batch;
    for (int64_t i = r; i < end; i++) p->of->dequantize(p->w + i * p->row_bytes, rows + (i - r) * p->columns, p->columns);
    part floats = *p;
    floats.w = (const uint8_t *)rows;
    floats.row_bytes = row_bytes;
    floats.y = p->y + r;
    rows_f32(&floats, 0, end - r);
  }
}

static void run_rows(void *ctx, int64_t lo, int64_t hi) {
  job *j = ctx;
  int64_t base = 0;
  for (int i = 0; i < j->count; i++) {
    const part *p = j->parts + i;
    int64_t a = lo - base, b = hi - base;
    base += p->rows;
    if (a < 0) a = 0;
    if (b > p->rows) b = p->rows;
    if (a >= b) continue;
    if (p->of->round && !p->bits) rows_widened(p, a, b, &j->failed);
    else if (p->bits == 16) p->of->rows16(p, a, b);
    else p->of->rows(p, a, b);
  }
}

typedef struct { int block, bits; const float *x; int64_t columns, stride; uint8_t *out; } rounding_job;

static void run_rounding(void *ctx, int64_t lo, int64_t hi) {
  const rounding_job *j = ctx;
  for (int64_t t = lo; t < hi; t++)
    round_row(j->block, j->bits, j->x + t * j->columns, j->columns, j->out + t * j->stride);
}

/* Every kind of rounding once, shared by the weights that need it. */
static int round_for(job *j, const float *x, int64_t m, int64_t columns) {
  const uint8_t *ready[4] = {NULL};
  int64_t stride[4] = {0};
  for (int i = 0; i < j->count; i++) {
    part *p = j->parts + i;
    if (!p->bits) continue;
    int block = p->of->round, slot = (block == 256) + 2 * (p->bits == 16);
    if (!ready[slot]) {
      stride[slot] = (rounded_bytes(block, p->bits, columns) + 63) / 64 * 64;
      rounding_job r = {block, p->bits, x, columns, stride[slot],
                        runtime()->scratch((size_t)slot, (size_t)(m * stride[slot]))};
      if (!r.out) return OUT_OF_MEMORY;
      runtime()->parallel_for(m, 1 + 16384 / columns, run_rounding, &r); /* under about 10 us a thread: not worth it */
      ready[slot] = r.out;
    }
    p->a = ready[slot];
    p->stride = stride[slot];
  }
  return OK;
}

/* Rows in one claim, a multiple of four: four claims a thread, but enough work to pay for a claim (about a
   microsecond); and where more than the `at_once` tokens that share a read come, so that rows are read again, no more
   than stay in a core's own cache. */
static int64_t grain_of(int64_t rows, int64_t bytes, int64_t m, int64_t at_once) {
  int64_t row_bytes = bytes / rows + 1;
  int64_t grain = rows / (4 * runtime()->threads()) + 1, least = 16384 / (row_bytes * (m > 4 ? m / 4 : 1)) + 1;
  if (m > at_once && grain > 131072 / row_bytes) grain = 131072 / row_bytes;
  return ((grain > least ? grain : least) + 3) / 4 * 4;
}

/* y holds the results one after another: m x rows_0, m x rows_1, ... x is m x columns float32. */
NUMR_EXPORT int boostr_product(const product *of, const float *x, int64_t m, float *y) {
  job j = {.count = (int)of->count};
  int64_t rows = 0, bytes = 0, at_once = 8;
  if (of->count < 1 || of->count > MAX_PARTS) return UNKNOWN_TYPE;
  for (int i = 0; i < j.count; i++) {
    const weight *w = of->weights + i;
    const type *t = find(w->id);
    if (!t || of->columns % t->block || (w->bits != 0 && w->bits != 8 && w->bits != 16)) return UNKNOWN_TYPE;
    int64_t row_bytes = of->columns / t->block * t->bytes;
    j.parts[i] = (part){t, w->w, (const uint8_t *)x, y + m * rows, w->rows, of->columns, row_bytes, m, of->columns * 4,
                        t->round ? (int)w->bits : 0};
    rows += w->rows;
    bytes += w->rows * row_bytes;
    if (!j.parts[i].bits) at_once = 4; /* a tile of rows_dense.c */
  }
  if (!rows || !m) return OK;
  int status = of->columns ? round_for(&j, x, m, of->columns) : OK;
  if (status != OK) return status;
  runtime()->parallel_for(rows, grain_of(rows, bytes, m, at_once), run_rows, &j);
  return atomic_load(&j.failed) ? OUT_OF_MEMORY : OK;
}

/* The block in which activations are rounded for `id` (0: they are not), or -1 where it has no kernels. */
NUMR_EXPORT int boostr_rounding(int64_t id) {
  const type *t = find(id);
  return t ? t->round : -1;
}

typedef struct { const type *of; const uint8_t *w; const int64_t *ids; float *out; int64_t columns, row_bytes; } widening;

static void run_widening(void *ctx, int64_t lo, int64_t hi) {
  const widening *j = ctx;
  for (int64_t i = lo; i < hi; i++) {
    int64_t row = j->ids ? j->ids[i] : i;
    j->of->dequantize(j->w + row * j->row_bytes, j->out + i * j->columns, j->columns);
  }
}

/* Rows ids[0..n) of a weight with `rows` rows as float32, or its first n rows where ids is NULL. */
NUMR_EXPORT int boostr_widen(int64_t id, const uint8_t *w, const int64_t *ids, int64_t n, int64_t rows, int64_t columns,
                             float *out) {
  const type *t = find(id);
  if (!t || columns % t->block) return UNKNOWN_TYPE;
  for (int64_t i = 0; ids && i < n; i++)
    if (ids[i] < 0 || ids[i] >= rows) return BAD_ROW;
  widening j = {t, w, ids, out, columns, columns / t->block * t->bytes};
  runtime()->parallel_for(n, 1 + 16384 / (columns + 1), run_widening, &j);
  return OK;
}

typedef struct { int block, bits; const float *x; int64_t columns; float *out; } trip;

static void run_trip(void *ctx, int64_t lo, int64_t hi) {
  const trip *j = ctx;
  for (int64_t t = lo; t < hi; t++)
    round_trip(j->block, j->bits, j->x + t * j->columns, j->columns, j->out + t * j->columns);
}

/* What products that round in `block` to `bits` see of x (m x columns), as float32. */
NUMR_EXPORT int boostr_round_trip(int block, int bits, const float *x, int64_t m, int64_t columns, float *out) {
  if ((block != 32 && block != 256) || (bits != 8 && bits != 16) || columns % block) return UNKNOWN_TYPE;
  trip j = {block, bits, x, columns, out};
  runtime()->parallel_for(m, 1 + 16384 / (columns + 1), run_trip, &j);
  return OK;
}
