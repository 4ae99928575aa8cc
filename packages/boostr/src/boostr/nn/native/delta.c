/* The gated delta rule: per value head a matrix S [k_dim][v_dim], which each row decays, reads and corrects:

     S <- exp(g) S;   u = beta (v - S'k);   S <- S + k u';   out = S'q

   and then the gated norm out <- out / rms(out) * weight * silu(z). Columns of S do not meet, so a head runs in blocks of
   columns that stay in the first-level cache for all rows of a span. S + k u' of one row is carried out in the sweep of
   the next, so that a row costs one sweep: S'q of the corrected S is S'q before it plus (k.q) u. A single row reads S
   twice instead, in wider blocks, and needs no copy of it. Sums go over k in order, and both do the same operations, so
   that a result does not depend on how a sequence is cut into passes. */
#include <math.h>

#include "memory.h"
#include "vmath.h"

/* Vectors of a block, two sums each: enough chains of additions, and registers for all. */
#define COLUMNS 4
#define COLUMNS_OF_ONE (VW == 16 ? 8 : 4) /* for a single row, whose blocks are read in the order of memory */
#define AHEAD 1024 /* floats of S that are fetched ahead */
#define SMALL 4   /* rows below which normalising does not cross threads */
#define SLOT 2    /* scratch of whoever runs a head */

typedef struct {
  int64_t k_heads, v_heads, k_dim, v_dim;
  int64_t tiled;        /* value head h reads key head h % k_heads, else h / (v_heads / k_heads) */
  const float *a;       /* [v_heads], below zero */
  const float *dt_bias; /* [v_heads] */
  const float *norm;    /* [v_dim] */
  double eps;
} delta_net;

typedef struct {
  const delta_net *net;
  float *qkv;     /* [rows][q heads | k heads | v heads] */
  const float *z; /* [rows][v_heads * v_dim] */
  float *beta, *decay, *out;
  const memory_span *spans;
  int64_t offset, channels;
  int failed;
} delta_job;

typedef struct {
  const float *q, *k, *v, *beta, *decay; /* of the span's first row, at the head */
  float *out;
  const float *source;
  float *target;
  int64_t rows, k_dim, v_dim, channels, heads;
} head_job;

static float dot(const float *x, const float *y, int64_t n) {
  vf sum = vf_zero();
  int64_t i = 0;
  for (; i + VW <= n; i += VW) sum = vf_fma(vf_load(x + i), vf_load(y + i), sum);
  if (i < n) sum = vf_fma(vf_load_n(x + i, (int)(n - i)), vf_load_n(y + i, (int)(n - i)), sum);
  return vf_sum(sum);
}

/* x <- x / |x| * scale; 1e-6 is the published epsilon, whatever that of the norms. */
static void unit(float *x, int64_t n, float scale) {
  float factor = scale / sqrtf(dot(x, x, n) + 1e-6f);
  for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

static void prepare_rows(void *ctx, int64_t lo, int64_t hi) {
  const delta_job *j = ctx;
  const delta_net *net = j->net;
  float scale = 1.f / sqrtf((float)net->k_dim);
  for (int64_t row = lo; row < hi; row++) {
    float *heads = j->qkv + row * j->channels;
    for (int64_t h = 0; h < net->k_heads; h++) unit(heads + h * net->k_dim, net->k_dim, scale);
    for (int64_t h = net->k_heads; h < 2 * net->k_heads; h++) unit(heads + h * net->k_dim, net->k_dim, 1.f);
    for (int64_t h = 0; h < net->v_heads; h++) {
      float *beta = j->beta + row * net->v_heads + h, *decay = j->decay + row * net->v_heads + h;
      float x = *decay + net->dt_bias[h];
      *beta = 1.f / (1.f + expf(-*beta));
      *decay = expf(net->a[h] * (x > 20.f ? x : log1pf(expf(x)))); /* softplus */
    }
  }
}

INLINE vf load_some(const float *p, int lanes) { return lanes == VW ? vf_load(p) : vf_load_n(p, lanes); }

INLINE void store_some(float *p, vf v, int lanes) {
  if (lanes == VW) vf_store(p, v);
  else vf_store_n(p, v, lanes);
}

typedef struct {
  vf v[8];
} block;

/* Rows of q, k and v lie a page or more apart, where no processor looks ahead by itself. */
INLINE void fetch(const float *p, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(p + i);
}

INLINE void fetch_row(const head_job *h, int64_t t, int64_t column, int n) {
  if (t >= h->rows) return;
  fetch(h->k + t * h->channels, h->k_dim);
  fetch(h->q + t * h->channels, h->k_dim);
  fetch(h->v + t * h->channels + column, n * VW);
}

/* S at k = i and the block's column c before the pass; zero at the beginning of a sequence. */
INLINE vf before(const head_job *h, int64_t i, int64_t column, int c, int lanes) {
  return h->source ? load_some(h->source + i * h->v_dim + column + c * VW, lanes) : vf_zero();
}

/* One row over a block: corrects S by the row before (k_before, u), decays it, and adds up S'k and S'q.
   `first`: S is that before the pass, and there is no row before. */
INLINE void sweep(const head_job *h, int64_t t, int64_t column, int n, int lanes, int first, float *s, const block *u,
                  block *read, block *seen) {
  const float *k = h->k + t * h->channels, *q = h->q + t * h->channels, *k_before = k - h->channels;
  vf decay = vf_set1(h->decay[t * h->heads]);
  for (int c = 0; c < n; c++) read->v[c] = seen->v[c] = vf_zero();
  for (int64_t i = 0; i < h->k_dim; i++) {
    vf ki = vf_set1(k[i]), qi = vf_set1(q[i]);
    for (int c = 0; c < n; c++) {
      float *at = s + (i * n + c) * VW;
      vf x = first ? before(h, i, column, c, lanes) : vf_fma(vf_set1(k_before[i]), u->v[c], vf_load(at));
      x = vf_mul(x, decay);
      vf_store(at, x);
      read->v[c] = vf_fma(ki, x, read->v[c]);
      seen->v[c] = vf_fma(qi, x, seen->v[c]);
    }
  }
}

/* The correction u of row t, and its result. */
INLINE void finish(const head_job *h, int64_t t, int64_t column, int n, int lanes, const block *read, const block *seen,
                   block *u) {
  vf beta = vf_set1(h->beta[t * h->heads]);
  vf match = vf_set1(dot(h->k + t * h->channels, h->q + t * h->channels, h->k_dim));
  for (int c = 0; c < n; c++) {
    vf v = load_some(h->v + t * h->channels + column + c * VW, lanes);
    u->v[c] = vf_mul(beta, vf_sub(v, read->v[c]));
    store_some(h->out + t * h->heads * h->v_dim + column + c * VW, vf_fma(match, u->v[c], seen->v[c]), lanes);
  }
}

/* All rows over `n` vectors of columns, of which each has `lanes` (fewer than VW only with n = 1). */
INLINE void run_rows(const head_job *h, int64_t column, int n, int lanes, float *s) {
  block u, read, seen;
  for (int64_t t = 0; t < h->rows; t++) {
    fetch_row(h, t + 1, column, n);
    if (t) sweep(h, t, column, n, lanes, 0, s, &u, &read, &seen);
    else sweep(h, t, column, n, lanes, 1, s, &u, &read, &seen);
    finish(h, t, column, n, lanes, &read, &seen, &u);
  }
  const float *k = h->k + (h->rows - 1) * h->channels;
  for (int64_t i = 0; i < h->k_dim; i++)
    for (int c = 0; c < n; c++) {
      vf x = vf_fma(vf_set1(k[i]), u.v[c], vf_load(s + (i * n + c) * VW));
      store_some(h->target + i * h->v_dim + column + c * VW, x, lanes);
    }
}

/* The same for a single row. */
INLINE void run_row(const head_job *h, int64_t column, int n, int lanes) {
  block u, read, seen;
  vf decay = vf_set1(*h->decay);
  for (int c = 0; c < n; c++) read.v[c] = seen.v[c] = vf_zero();
  for (int64_t i = 0; i < h->k_dim; i++) {
    if (h->source) fetch(h->source + i * h->v_dim + column + AHEAD, n * VW);
    for (int c = 0; c < n; c++) {
      vf x = vf_mul(before(h, i, column, c, lanes), decay);
      read.v[c] = vf_fma(vf_set1(h->k[i]), x, read.v[c]);
      seen.v[c] = vf_fma(vf_set1(h->q[i]), x, seen.v[c]);
    }
  }
  finish(h, 0, column, n, lanes, &read, &seen, &u);
  for (int64_t i = 0; i < h->k_dim; i++)
    for (int c = 0; c < n; c++) {
      vf x = vf_fma(vf_set1(h->k[i]), u.v[c], vf_mul(before(h, i, column, c, lanes), decay));
      store_some(h->target + i * h->v_dim + column + c * VW, x, lanes);
    }
}

INLINE void run_block(const head_job *h, int64_t column, int n, int lanes, int one, float *s) {
  if (one) run_row(h, column, n, lanes);
  else run_rows(h, column, n, lanes, s);
}

INLINE void run_blocks(const head_job *h, int n, int one, float *s) {
  int64_t column = 0;
  for (; column + n * VW <= h->v_dim; column += n * VW) run_block(h, column, n, VW, one, s);
  for (; column + VW <= h->v_dim; column += VW) run_block(h, column, 1, VW, one, s);
  if (column < h->v_dim) run_block(h, column, 1, (int)(h->v_dim - column), one, s);
}

static void run_head(const head_job *h, float *s) {
  if (h->rows == 1) run_blocks(h, COLUMNS_OF_ONE, 1, s);
  else run_blocks(h, COLUMNS, 0, s);
}

/* out <- out / rms(out) * weight * silu(z) */
static void gated_norm(const delta_net *net, float *out, const float *z) {
  float factor = 1.f / sqrtf(dot(out, out, net->v_dim) / (float)net->v_dim + (float)net->eps);
  for (int64_t i = 0; i < net->v_dim; i += VW) {
    int n = net->v_dim - i < VW ? (int)(net->v_dim - i) : VW;
    vf x = vf_mul(vf_mul(load_some(out + i, n), vf_set1(factor)), load_some(net->norm + i, n));
    store_some(out + i, vf_mul(x, vf_silu(load_some(z + i, n))), n);
  }
}

static void run_heads(void *ctx, int64_t lo, int64_t hi) {
  delta_job *j = ctx;
  const delta_net *net = j->net;
  float *s = runtime()->scratch(SLOT, (size_t)(net->k_dim * COLUMNS * VW) * sizeof(float));
  if (!s) {
    __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  for (int64_t item = lo; item < hi; item++) {
    const memory_span *span = j->spans + item / net->v_heads;
    int64_t head = item % net->v_heads, width = net->v_heads * net->v_dim, size = net->k_dim * net->v_dim;
    int64_t k_head = net->tiled ? head % net->k_heads : head / (net->v_heads / net->k_heads);
    const float *row = j->qkv + span->row * j->channels, *source = source_of(span, j->offset);
    head_job h = {
        .q = row + k_head * net->k_dim,
        .k = row + (net->k_heads + k_head) * net->k_dim,
        .v = row + 2 * net->k_heads * net->k_dim + head * net->v_dim,
        .beta = j->beta + span->row * net->v_heads + head,
        .decay = j->decay + span->row * net->v_heads + head,
        .out = j->out + span->row * width + head * net->v_dim,
        .source = source ? source + head * size : 0,
        .target = target_of(span, j->offset) + head * size,
        .rows = span->rows, .k_dim = net->k_dim, .v_dim = net->v_dim, .channels = j->channels, .heads = net->v_heads,
    };
    run_head(&h, s);
    const float *z = j->z + span->row * width + head * net->v_dim;
    for (int64_t t = 0; t < span->rows; t++) {
      if (t + 2 < span->rows) fetch(z + (t + 2) * width, net->v_dim);
      gated_norm(net, h.out + t * width, z + t * width);
    }
  }
}

/* qkv [rows][channels] after its convolution, b and a [rows][v_heads] as they were projected; all three are changed. */
NUMR_EXPORT int boostr_gated_delta(const delta_net *net, float *qkv, const float *z, float *b, float *a, float *out,
                                   int64_t rows, const memory_span *spans, int64_t n_spans, int64_t offset) {
  delta_job j = {.net = net, .qkv = qkv, .z = z, .beta = b, .decay = a, .out = out, .spans = spans, .offset = offset};
  j.channels = 2 * net->k_heads * net->k_dim + net->v_heads * net->v_dim;
  runtime()->parallel_for(rows, SMALL, prepare_rows, &j);
  runtime()->parallel_for(n_spans * net->v_heads, 1, run_heads, &j);
  return j.failed ? OUT_OF_MEMORY : 0;
}
