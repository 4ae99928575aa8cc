/* Products of few rows, y_i = x W_i^T for weights that share x: the table of types and the driver. */
#include <stdatomic.h>

#include "dequantize.h"
#include "dots.h"
#include "runtime.h"

enum { OK = 0, UNKNOWN_TYPE = 1, OUT_OF_MEMORY = 2, BAD_ROW = 3 };
enum { SLOT_ROUND_32 = 0, SLOT_ROUND_256 = 1, SLOT_ROW = 2 }; /* scratch: rounded activations, a widened weight row */

/* One weight of a product and its tokens. y[t * rows + r]. */
typedef struct type type;
typedef struct {
  const type *of;
  const uint8_t *w, *a;
  float *y;
  int64_t rows, columns, row_bytes, tokens, stride;
} part;
typedef void rows_fn(const part *p, int64_t lo, int64_t hi);

INLINE void store_sums(const vf *sum, const int count, float *y, int64_t step) {
  float each[TOKENS];
  for (int t = 0; t + 4 <= count; t += 4) vf_sum4(sum[t], sum[t + 1], sum[t + 2], sum[t + 3], each + t);
  for (int t = count / 4 * 4; t < count; t++) each[t] = vf_sum(sum[t]);
  for (int t = 0; t < count; t++) y[t * step] = each[t];
}

/* Rows lo..hi against all tokens: TOKENS at a time while the chunk of rows stays in the cache. One token: the
   sums of four rows are folded together. */
#define DEFINE_ROWS(name)                                                                                        \
  static void rows_##name(const part *p, int64_t lo, int64_t hi) {                                               \
    int64_t t = 0;                                                                                               \
    vf sum[TOKENS];                                                                                                   \
    for (; TOKENS == 8 && t + 8 <= p->tokens; t += 8) ROWS_STEP(name, TOKENS)                                                      \
    for (; t + 4 <= p->tokens; t += 4) ROWS_STEP(name, 4)                                                        \
    if (t + 2 <= p->tokens) { ROWS_STEP(name, 2) t += 2; }                                                       \
    if (t == p->tokens) return;                                                                                  \
    int64_t r = lo;                                                                                              \
    const uint8_t *a = p->a + t * p->stride;                                                                     \
    for (; r + 4 <= hi; r += 4) {                                                                                \
      for (int i = 0; i < 4; i++) dot_##name(1, p->w + (r + i) * p->row_bytes, p->columns, a, p->stride, sum + i); \
      vf_sum4(sum[0], sum[1], sum[2], sum[3], p->y + t * p->rows + r);                                           \
    }                                                                                                            \
    for (; r < hi; r++) {                                                                                        \
      dot_##name(1, p->w + r * p->row_bytes, p->columns, a, p->stride, sum);                                     \
      p->y[t * p->rows + r] = vf_sum(sum[0]);                                                                    \
    }                                                                                                            \
  }
#define ROWS_STEP(name, count)                                                                                   \
  for (int64_t r = lo; r < hi; r++) {                                                                            \
    dot_##name(count, p->w + r * p->row_bytes, p->columns, p->a + t * p->stride, p->stride, sum);                \
    store_sums(sum, count, p->y + t * p->rows + r, p->rows);                                                     \
  }

DEFINE_ROWS(q4_0)
DEFINE_ROWS(q4_1)
DEFINE_ROWS(q8_0)
DEFINE_ROWS(q4_K)
DEFINE_ROWS(q6_K)

/* Dense rows lo..hi against `count` tokens from t on, `high` rows at a time. */
INLINE void dense_rows(const part *p, const enum dense kind, const int high, const int count, int64_t t, int64_t lo,
                       int64_t hi) {
  const uint8_t *a = p->a + t * p->stride;
  vf sum[16];
  int64_t r = lo;
  for (; r + high <= hi; r += high) {
    float *y = p->y + t * p->rows + r;
    dense_tile(kind, high, count, p->w + r * p->row_bytes, p->row_bytes, p->columns, a, p->stride, sum);
    for (int k = 0; k < count; k++) store_sums(sum + k * high, high, y + k * p->rows, 1);
  }
  for (; r < hi; r++) {
    dense_tile(kind, 1, count, p->w + r * p->row_bytes, p->row_bytes, p->columns, a, p->stride, sum);
    store_sums(sum, count, p->y + t * p->rows + r, p->rows);
  }
}

INLINE void dense_tokens(const part *p, const enum dense kind, int64_t lo, int64_t hi) {
  int64_t t = 0;
  for (; t + 4 <= p->tokens; t += 4) dense_rows(p, kind, TILE_ROWS, 4, t, lo, hi);
  if (t + 2 <= p->tokens) {
    dense_rows(p, kind, 4, 2, t, lo, hi);
    t += 2;
  }
  if (t < p->tokens) dense_rows(p, kind, 4, 1, t, lo, hi);
}

static void rows_f32(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_F32, lo, hi); }
static void rows_f16(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_F16, lo, hi); }
static void rows_bf16(const part *p, int64_t lo, int64_t hi) { dense_tokens(p, DENSE_BF16, lo, hi); }

/* ---- the table: a type needs a dot product, its rounding of activations and its dequantization ---- */

struct type {
  int id, block, bytes;
  enum rounding rounding;
  rows_fn *rows;
  dequantize_fn *dequantize;
};

static const type types[] = {
    {0, 1, 4, ROUND_NONE, rows_f32, dequantize_f32},
    {1, 1, 2, ROUND_NONE, rows_f16, dequantize_f16},
    {2, 32, sizeof(q4_0), ROUND_32, rows_q4_0, dequantize_q4_0},
    {3, 32, sizeof(q4_1), ROUND_32, rows_q4_1, dequantize_q4_1},
    {8, 32, sizeof(q8_0), ROUND_32, rows_q8_0, dequantize_q8_0},
    {12, 256, sizeof(q4_K), ROUND_256, rows_q4_K, dequantize_q4_K},
    {14, 256, sizeof(q6_K), ROUND_256, rows_q6_K, dequantize_q6_K},
    {30, 1, 2, ROUND_NONE, rows_bf16, dequantize_bf16},
};

static const type *find(int64_t id) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].id == id) return types + i;
  return NULL;
}

/* ---- driver ---- */

#define MAX_PARTS 8
#define WIDENED_FLOATS 16384 /* 64 KiB of a core's cache */
typedef struct {
  part parts[MAX_PARTS];
  int count, precise;
  atomic_int failed;
} job;

/* The caller's description of a product: a fixed head and `count` weights. */
typedef struct { int64_t id; const uint8_t *w; int64_t rows; } weight;
typedef struct { int64_t count, columns, precise; weight weights[MAX_PARTS]; } product;

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
    if (j->precise && p->of->rounding != ROUND_NONE) rows_widened(p, a, b, &j->failed);
    else p->of->rows(p, a, b);
  }
}

typedef struct { enum rounding kind; const float *x; int64_t columns, stride; uint8_t *out; } rounding_job;

static void run_rounding(void *ctx, int64_t lo, int64_t hi) {
  const rounding_job *j = ctx;
  for (int64_t t = lo; t < hi; t++) round_row(j->kind, j->x + t * j->columns, j->columns, j->out + t * j->stride);
}

/* Every kind of rounding once, shared by the weights that need it. */
static int round_for(job *j, const float *x, int64_t m, int64_t columns) {
  const uint8_t *ready[2] = {NULL, NULL};
  int64_t stride[2] = {0, 0};
  for (int i = 0; i < j->count; i++) {
    part *p = j->parts + i;
    enum rounding kind = j->precise ? ROUND_NONE : p->of->rounding;
    if (kind == ROUND_NONE) continue;
    int slot = kind == ROUND_32 ? SLOT_ROUND_32 : SLOT_ROUND_256;
    if (!ready[slot]) {
      stride[slot] = (rounded_bytes(kind, columns) + 63) / 64 * 64;
      rounding_job r = {kind, x, columns, stride[slot], runtime()->scratch((size_t)slot, (size_t)(m * stride[slot]))};
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
   microsecond); and where every group of tokens reads them again, no more than stay in a core's own cache. */
static int64_t grain_of(int64_t rows, int64_t bytes, int64_t m) {
  int64_t row_bytes = bytes / rows + 1;
  int64_t grain = rows / (4 * runtime()->threads()) + 1, least = 16384 / (row_bytes * (m > 4 ? m / 4 : 1)) + 1;
  if (m > TOKENS && grain > 131072 / row_bytes) grain = 131072 / row_bytes;
  return ((grain > least ? grain : least) + 3) / 4 * 4;
}

/* y holds the results one after another: m x rows_0, m x rows_1, ... x is m x columns float32. */
NUMR_EXPORT int boostr_product(const product *of, const float *x, int64_t m, float *y) {
  job j = {.count = (int)of->count, .precise = (int)of->precise};
  int64_t rows = 0, bytes = 0;
  if (of->count < 1 || of->count > MAX_PARTS) return UNKNOWN_TYPE;
  for (int i = 0; i < j.count; i++) {
    const weight *w = of->weights + i;
    const type *t = find(w->id);
    if (!t || of->columns % t->block) return UNKNOWN_TYPE;
    int64_t row_bytes = of->columns / t->block * t->bytes;
    j.parts[i] = (part){t, w->w, (const uint8_t *)x, y + m * rows, w->rows, of->columns, row_bytes, m, of->columns * 4};
    rows += w->rows;
    bytes += w->rows * row_bytes;
  }
  if (!rows || !m) return OK;
  int status = of->columns ? round_for(&j, x, m, of->columns) : OK;
  if (status != OK) return status;
  runtime()->parallel_for(rows, grain_of(rows, bytes, m), run_rows, &j);
  return atomic_load(&j.failed) ? OUT_OF_MEMORY : OK;
}

/* The block in which `id` rounds activations (0: not at all), or -1 where it has no kernels. */
NUMR_EXPORT int boostr_rounding(int64_t id) {
  const type *t = find(id);
  return t ? (int)t->rounding : -1;
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

typedef struct { enum rounding kind; const float *x; int64_t columns; float *out; } trip;

static void run_trip(void *ctx, int64_t lo, int64_t hi) {
  const trip *j = ctx;
  for (int64_t t = lo; t < hi; t++) round_trip(j->kind, j->x + t * j->columns, j->columns, j->out + t * j->columns);
}

/* What the products of `kind` see of x (m x columns), as float32. */
NUMR_EXPORT int boostr_round_trip(int kind, const float *x, int64_t m, int64_t columns, float *out) {
  if ((kind != ROUND_32 && kind != ROUND_256) || columns % kind) return UNKNOWN_TYPE;
  trip j = {(enum rounding)kind, x, columns, out};
  runtime()->parallel_for(m, 1 + 16384 / (columns + 1), run_trip, &j);
  return OK;
}
