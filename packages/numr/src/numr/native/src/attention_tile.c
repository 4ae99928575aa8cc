/* Scores, softmax and the weighted sum of values for one tile, in one pass over the keys (online softmax).

   Two layouts of the same arithmetic. Few query vectors of one row (a decode step): keys are read once, as stored, and each is
   dotted with every query. Many: vectors run across queries, so that neither scores nor softmax need horizontal
   sums; keys and values are widened to float32 first, a block at a time. Knows nothing of threads. */
#include "attention.h"

#include <math.h>

#include "vmath.h"

#define FEW (VW / 2) /* up to here half-empty vectors of queries would cost more than horizontal sums */
#define UNROLL _Pragma("GCC unroll 8")
#define AHEAD 4096 /* bytes between a load and the prefetch that serves it */

typedef struct {
  const char *k, *v; /* of the block's first key */
  int64_t first;     /* its position */
  int64_t n;         /* keys in the block, <= KEYS */
} block;

typedef struct {
  float *qt;      /* many: [k_dim][width] */
  float *k, *v;   /* many, float16 cache: [KEYS][k_dim], [KEYS][v_dim] */
  float *weights; /* few: [queries][KEYS]; many: [KEYS][width] */
  float *decay;   /* [width]: what the sums so far are worth under the new maximum */
  float *limit;   /* [width]: position of the query's row minus that of the tile's first row */
} buffers;

INLINE vf load(const char *p, int64_t i, int half) {
  return half ? vh_load((const uint16_t *)p + i) : vf_load((const float *)p + i);
}

INLINE vf load_n(const char *p, int64_t i, int n, int half) {
  return half ? vh_load_n((const uint16_t *)p + i, n) : vf_load_n((const float *)p + i, n);
}

/* ---- few queries: one dot product per query and key -------------------------------------------------------------- */

/* nq queries against all keys of a block, four keys at a time; scores[q * KEYS + key], padded to a multiple of four. */
INLINE void dot_block(int nq, int half, const float *const *q, const block *b, int64_t dim, float *scores) {
  int64_t bytes = dim * (half ? 2 : 4);
  for (int64_t j = 0; j < b->n; j += 4) {
    const char *k[4];
    vf acc[DOTQ][4];
    UNROLL for (int c = 0; c < 4; c++) {
      k[c] = b->k + (j + c < b->n ? j + c : b->n - 1) * bytes;
      UNROLL for (int i = 0; i < nq; i++) acc[i][c] = vf_zero();
    }
    for (int64_t byte = 0; byte < 4 * bytes; byte += 64) PREFETCH(k[0] + AHEAD + byte);
    int64_t d = 0;
    for (; d + VW <= dim; d += VW)
      UNROLL for (int c = 0; c < 4; c++) {
        vf key = load(k[c], d, half);
        UNROLL for (int i = 0; i < nq; i++) acc[i][c] = vf_fma(key, vf_load(q[i] + d), acc[i][c]);
      }
    if (d < dim)
      UNROLL for (int c = 0; c < 4; c++) {
        vf key = load_n(k[c], d, (int)(dim - d), half);
        UNROLL for (int i = 0; i < nq; i++) acc[i][c] = vf_fma(key, vf_load_n(q[i] + d, (int)(dim - d)), acc[i][c]);
      }
    UNROLL for (int i = 0; i < nq; i++) vf_sum4(acc[i][0], acc[i][1], acc[i][2], acc[i][3], scores + i * KEYS + j);
  }
}

INLINE void dot_queries(int half, const float *const *q, int64_t n, const block *b, int64_t dim, float *scores) {
  for (int64_t i = 0; i < n; i += DOTQ, q += DOTQ, scores += DOTQ * KEYS)
    switch (n - i < DOTQ ? n - i : DOTQ) {
      case 1: dot_block(1, half, q, b, dim, scores); break;
      case 2: dot_block(2, half, q, b, dim, scores); break;
#if DOTQ > 2
      case 3: dot_block(3, half, q, b, dim, scores); break;
      default: dot_block(4, half, q, b, dim, scores); break;
#endif
    }
}

INLINE vf scored(vf s, const scoring *c) {
  s = vf_mul(s, vf_set1(c->scale));
  if (c->softcap > 0.f) s = vf_mul(vf_set1(c->softcap), vf_tanh(vf_div(s, vf_set1(c->softcap))));
  return s;
}

/* Scores of one query become weights; keys outside [a, b) of the block get none. Returns the decay. A maximum of
   -inf (nothing visible yet, or only -inf) counts as 0, so that no weight becomes NaN that was not. */
static float soften_row(float *s, int64_t n, int64_t a, int64_t b, const scoring *c, float *most, float *sum) {
  int64_t padded = round_up(n, VW);
  vf top = vf_set1(-INFINITY), total = vf_zero();
  for (int64_t j = 0; j < padded; j += VW) vf_store(s + j, scored(vf_load(s + j), c));
  for (int64_t j = 0; j < a; j++) s[j] = -INFINITY;
  for (int64_t j = b; j < padded; j++) s[j] = -INFINITY;
  for (int64_t j = 0; j < padded; j += VW) top = vf_max(top, vf_load(s + j));
  float here = vf_most(top), high = *most > here ? *most : here;
  vf base = vf_set1(high == -INFINITY ? 0.f : high);
  for (int64_t j = 0; j < padded; j += VW) {
    vf e = vf_exp(vf_sub(vf_load(s + j), base));
    total = vf_add(total, e);
    vf_store(s + j, e);
  }
  float decay[VW];
  vf_store(decay, vf_exp(vf_sub(vf_set1(*most), base)));
  *most = high;
  *sum = *sum * decay[0] + vf_sum(total);
  return decay[0];
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

static void soften_rows(const tile *t, const block *b, const scoring *c, const buffers *w, partial *out) {
  for (int64_t i = 0; i < t->count; i++) {
    int64_t at = t->position + (t->first + i) / t->group - b->first; /* index in the block of the query's own key */
    int64_t from = c->window ? clamp(at - c->window + 1, 0, b->n) : 0;
    w->decay[i] = soften_row(w->weights + i * KEYS, b->n, from, clamp(at + 1, from, b->n), c, out->most + i, out->sum + i);
  }
}

/* ---- many queries: vectors run across them ----------------------------------------------------------------------- */

static void transpose_queries(const tile *t, int64_t dim, int64_t width, float *qt) {
  for (int64_t i = 0; i < t->count; i++) {
    int64_t m = t->first + i;
    const float *q = t->q + m / t->group * t->q_row + m % t->group * dim;
    for (int64_t d = 0; d < dim; d++) qt[d * width + i] = q[d];
  }
  for (int64_t i = t->count; i < width; i++)
    for (int64_t d = 0; d < dim; d++) qt[d * width + i] = 0.f;
}

/* KQ keys against nv vectors of queries: scores[key * width + query]. */
INLINE void score_panel(int nv, const float *qt, int64_t width, const float *const *k, int64_t dim, float *scores) {
  vf acc[KQ][MQ];
  UNROLL for (int c = 0; c < KQ; c++) UNROLL for (int v = 0; v < nv; v++) acc[c][v] = vf_zero();
  for (int64_t d = 0; d < dim; d++, qt += width) {
    vf q[MQ];
    UNROLL for (int v = 0; v < nv; v++) q[v] = vf_load(qt + v * VW);
    UNROLL for (int c = 0; c < KQ; c++) {
      vf key = vf_set1(k[c][d]);
      UNROLL for (int v = 0; v < nv; v++) acc[c][v] = vf_fma(q[v], key, acc[c][v]);
    }
  }
  UNROLL for (int c = 0; c < KQ; c++) UNROLL for (int v = 0; v < nv; v++) vf_store(scores + c * width + v * VW, acc[c][v]);
}

static void score_block(const float *keys, int64_t n, int64_t dim, int64_t width, const buffers *w) {
  for (int64_t j = 0; j < n; j += KQ) {
    const float *k[KQ];
    for (int c = 0; c < KQ; c++) k[c] = keys + (j + c < n ? j + c : n - 1) * dim;
    float *scores = w->weights + j * width;
    int64_t m = 0;
    for (; m + MQ * VW <= width; m += MQ * VW) score_panel(MQ, w->qt + m, width, k, dim, scores + m);
    switch ((width - m) / VW) {
      case 1: score_panel(1, w->qt + m, width, k, dim, scores + m); break;
#if MQ > 2
      case 2: score_panel(2, w->qt + m, width, k, dim, scores + m); break;
#endif
#if MQ > 3
      case 3: score_panel(3, w->qt + m, width, k, dim, scores + m); break;
#endif
    }
  }
}

/* One vector of queries: scores of the block become weights. `last` is the index in the block of the last visible key
   per query, `from` that of the first. Both are only looked at where `edge` says that the block is cut. */
INLINE void soften_lanes(float *s, int64_t n, int64_t width, int edge, vf last, vf from, const scoring *c, float *most,
                         float *sum, float *decay) {
  vf none = vf_set1(-INFINITY), old = vf_load(most), high = old, total = vf_zero();
  for (int64_t j = 0; j < n; j++) {
    vf x = scored(vf_load(s + j * width), c);
    if (edge) {
      vf at = vf_set1((float)j);
      x = vf_below(at, from, none, vf_below(last, at, none, x));
    }
    vf_store(s + j * width, x);
    high = vf_max(high, x);
  }
  vf base = vf_below(high, vf_set1(-3.4e38f), vf_zero(), high); /* as in soften_row */
  for (int64_t j = 0; j < n; j++) {
    vf e = vf_exp(vf_sub(vf_load(s + j * width), base));
    total = vf_add(total, e);
    vf_store(s + j * width, e);
  }
  vf factor = vf_exp(vf_sub(old, base));
  vf_store(decay, factor);
  vf_store(most, high);
  vf_store(sum, vf_fma(vf_load(sum), factor, total));
}

static void soften_block(const tile *t, const block *b, const scoring *c, int64_t width, const buffers *w, partial *out) {
  int64_t first = t->position + t->first / t->group - b->first; /* of the tile's first row, as an index in the block */
  int64_t final = t->position + (t->first + t->count - 1) / t->group - b->first;
  int edge = b->n - 1 > first || (c->window && final - c->window + 1 > 0);
  vf own = vf_set1((float)clamp(first, -KEYS, 4 * KEYS)), back = vf_set1((float)(c->window - 1));
  for (int64_t m = 0; m < width; m += VW) {
    vf last = vf_add(own, vf_load(w->limit + m)), from = vf_set1(-1.f);
    if (edge && c->window) from = vf_sub(vf_add(vf_set1((float)first), vf_load(w->limit + m)), back);
    if (edge) soften_lanes(w->weights + m, b->n, width, 1, last, from, c, out->most + m, out->sum + m, w->decay + m);
    else soften_lanes(w->weights + m, b->n, width, 0, last, from, c, out->most + m, out->sum + m, w->decay + m);
  }
}

/* ---- both: sums over values -------------------------------------------------------------------------------------- */

typedef struct {
  const float *weights;
  int64_t by_query, by_key; /* strides of weights */
  const char *v;
  int64_t n, dim;
  const float *decay;
  float *out;
  int64_t stride;
} weighted;

/* nq queries x nv vectors of value dims from dim d on; `lanes` < VW for a last, partial vector. */
INLINE void sum_panel(int nq, int nv, int half, int lanes, const weighted *w, int64_t d) {
  vf acc[4][MQ];
  UNROLL for (int i = 0; i < nq; i++) UNROLL for (int v = 0; v < nv; v++)
    acc[i][v] = vf_mul(vf_load(w->out + i * w->stride + d + v * VW), vf_set1(w->decay[i]));
  const float *p = w->weights;
  for (int64_t j = 0; j < w->n; j++, p += w->by_key) {
    vf value[MQ];
    UNROLL for (int v = 0; v < nv; v++)
      value[v] = lanes < VW ? load_n(w->v, j * w->dim + d, lanes, half) : load(w->v, j * w->dim + d + v * VW, half);
    UNROLL for (int i = 0; i < nq; i++) {
      vf weight = vf_set1(p[i * w->by_query]);
      UNROLL for (int v = 0; v < nv; v++) acc[i][v] = vf_fma(weight, value[v], acc[i][v]);
    }
  }
  UNROLL for (int i = 0; i < nq; i++) UNROLL for (int v = 0; v < nv; v++)
    vf_store(w->out + i * w->stride + d + v * VW, acc[i][v]);
}

INLINE void sum_queries(int nq, int half, const weighted *w) {
  int64_t d = 0;
  for (; d + MQ * VW <= w->dim; d += MQ * VW) sum_panel(nq, MQ, half, VW, w, d);
  for (; d + VW <= w->dim; d += VW) sum_panel(nq, 1, half, VW, w, d);
  if (d < w->dim) sum_panel(nq, 1, half, (int)(w->dim - d), w, d);
}

static void sum_few(weighted w, int64_t queries, int half) {
  for (int64_t i = 0; i < queries; i += 4) {
    switch ((queries - i < 4 ? queries - i : 4) * 2 + half) {
      case 2: sum_queries(1, 0, &w); break;
      case 3: sum_queries(1, 1, &w); break;
      case 4: sum_queries(2, 0, &w); break;
      case 5: sum_queries(2, 1, &w); break;
      case 6: sum_queries(3, 0, &w); break;
      case 7: sum_queries(3, 1, &w); break;
      case 8: sum_queries(4, 0, &w); break;
      default: sum_queries(4, 1, &w); break;
    }
    w.weights += 4 * w.by_query;
    w.decay += 4;
    w.out += 4 * w.stride;
  }
}

/* ---- the tile ---------------------------------------------------------------------------------------------------- */

static void widen(const char *from, float *to, int64_t n) {
  int64_t i = 0;
  for (; i + VW <= n; i += VW) vf_store(to + i, load(from, i, 1));
  if (i < n) vf_store_n(to + i, load_n(from, i, (int)(n - i), 1), (int)(n - i));
}

static void take_few(const tile *t, const block *b, const layer *l, const scoring *c, buffers *w, partial *out) {
  const float *q[FEW];
  for (int64_t i = 0; i < t->count; i++)
    q[i] = t->q + (t->first + i) / t->group * t->q_row + (t->first + i) % t->group * l->k_dim;
  if (l->half) dot_queries(1, q, t->count, b, l->k_dim, w->weights);
  else dot_queries(0, q, t->count, b, l->k_dim, w->weights);
  soften_rows(t, b, c, w, out);
  sum_few((weighted){w->weights, KEYS, 1, b->v, b->n, l->v_dim, w->decay, out->values, out->stride}, t->count, l->half);
}

static void take_many(const tile *t, const block *b, const layer *l, const scoring *c, buffers *w, partial *out) {
  int64_t width = round_up(t->count, VW);
  const float *keys = (const float *)b->k, *values = (const float *)b->v;
  if (l->half) {
    widen(b->k, w->k, b->n * l->k_dim);
    widen(b->v, w->v, b->n * l->v_dim);
    keys = w->k;
    values = w->v;
  }
  score_block(keys, b->n, l->k_dim, width, w);
  soften_block(t, b, c, width, w, out);
  weighted sums = {w->weights, 1, width, (const char *)values, b->n, l->v_dim, w->decay, out->values, out->stride};
  for (int64_t i = 0; i < width; i += 4) {
    sum_queries(4, 0, &sums);
    sums.weights += 4;
    sums.decay += 4;
    sums.out += 4 * out->stride;
  }
}

size_t tile_scratch(const layer *l) {
  int64_t wide = MAX_QUERIES + KEYS;
  return sizeof(float) * (size_t)(wide * l->k_dim + KEYS * l->v_dim + KEYS * MAX_QUERIES + 2 * MAX_QUERIES + 5 * 16);
}

static buffers cut(const layer *l, float *memory) {
  buffers w;
  w.qt = memory;
  w.k = w.qt + round_up(MAX_QUERIES * l->k_dim, 16);
  w.v = w.k + round_up(KEYS * l->k_dim, 16);
  w.weights = w.v + round_up(KEYS * l->v_dim, 16);
  w.decay = w.weights + KEYS * MAX_QUERIES;
  w.limit = w.decay + MAX_QUERIES;
  return w;
}

void attend_tile(const tile *t, const layer *l, const scoring *c, void *scratch, partial *out) {
  buffers w = cut(l, scratch);
  int64_t width = round_up(t->count, VW), size = l->half ? 2 : 4;
  int few = t->single && t->count <= FEW;
  memset(out->values, 0, sizeof(float) * (size_t)(width * out->stride));
  for (int64_t i = 0; i < width; i++) {
    out->most[i] = -INFINITY;
    out->sum[i] = 0.f;
    w.limit[i] = (float)((t->first + i) / t->group - t->first / t->group);
  }
  if (!few) transpose_queries(t, l->k_dim, width, w.qt);
  for (const segment *s = t->segments, *end = s + t->n_segments; s < end; s++) {
    int64_t lo = s->start > t->lo ? s->start : t->lo, hi = s->start + s->length < t->hi ? s->start + s->length : t->hi;
    for (int64_t next; lo < hi; lo = next) {
      next = (lo / KEYS + 1) * KEYS;
      if (next > hi) next = hi;
      block b = {kv_head(s, l, t->head, 0) + (lo - s->start) * l->k_dim * size,
                 kv_head(s, l, t->head, 1) + (lo - s->start) * l->v_dim * size, lo, next - lo};
      if (few) take_few(t, &b, l, c, &w, out);
      else take_many(t, &b, l, c, &w, out);
    }
  }
}
