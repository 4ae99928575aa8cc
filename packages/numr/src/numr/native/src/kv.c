/* Writing keys and values into the cache, and the checks that a table of spans fits its batch and segments. */
#include "kv.h"

#include "pool.h"
#include "simd.h"

#define MOST_TOKENS (INT64_C(1) << 40) /* keeps every sum and product of positions far from overflow */

static int check_span(const table *t, const span *s, int64_t rows) {
  if (s->row < 0 || s->rows < 0 || s->rows > rows || s->row > rows - s->rows) return KV_SPAN;
  if (s->segment < 0 || s->segments < 0 || s->segments > t->n_segments) return KV_SPAN;
  if (s->segment > t->n_segments - s->segments) return KV_SPAN;
  if (s->position < 0 || s->position > MOST_TOKENS) return KV_SPAN;
  const segment *g = t->segments + s->segment;
  int64_t begin = s->segments ? g->start : s->position, end = begin;
  for (int64_t i = 0; i < s->segments; i++, g++) {
    if (g->capacity > MOST_TOKENS || g->start < 0 || g->start > MOST_TOKENS) return KV_SEGMENT;
    if (!g->base || g->start != end || g->length < 0 || g->length > g->capacity) return KV_SEGMENT;
    end += g->length;
  }
  return s->rows && (s->position < begin || s->position + s->rows > end) ? KV_COVER : KV_OK;
}

int kv_check(const table *t, int64_t rows) {
  int code = KV_OK;
  for (int64_t i = 0; i < t->n_spans && code == KV_OK; i++) code = check_span(t, t->spans + i, rows);
  return code;
}

typedef struct {
  const float *k, *v;
  table where;
  layer at;
} written;

static void store(char *to, const float *from, int64_t n, int half) {
  if (!half) {
    memcpy(to, from, (size_t)n * 4);
    return;
  }
  uint16_t *h = (uint16_t *)to;
  int64_t i = 0;
  for (; i + VW <= n; i += VW) vh_store(h + i, vf_load(from + i));
  if (i < n) vh_store_n(h + i, vf_load_n(from + i, (int)(n - i)), (int)(n - i));
}

static void store_token(const written *w, const segment *g, int64_t slot, int64_t row) {
  const layer *l = &w->at;
  int64_t size = l->half ? 2 : 4;
  for (int64_t h = 0; h < l->heads; h++) {
    const float *k = w->k + (row * l->heads + h) * l->k_dim, *v = w->v + (row * l->heads + h) * l->v_dim;
    store(kv_head(g, l, h, 0) + slot * l->k_dim * size, k, l->k_dim, l->half);
    store(kv_head(g, l, h, 1) + slot * l->v_dim * size, v, l->v_dim, l->half);
  }
}

/* Rows lo .. hi of the packed batch, wherever their spans put them. */
static void append_range(void *ctx, int64_t lo, int64_t hi) {
  const written *w = ctx;
  for (int64_t i = 0; i < w->where.n_spans; i++) {
    const span *s = w->where.spans + i;
    int64_t first = s->row > lo ? s->row : lo, last = s->row + s->rows < hi ? s->row + s->rows : hi;
    const segment *g = w->where.segments + s->segment;
    for (int64_t row = first; row < last; row++) {
      int64_t position = s->position + row - s->row;
      while (position >= g->start + g->length) g++;
      store_token(w, g, position - g->start, row);
    }
  }
}

NUMR_EXPORT int numr_kv_append(const float *k, const float *v, int64_t rows, const span *spans, int64_t n_spans,
                               const segment *segments, int64_t n_segments, int64_t k_offset, int64_t v_offset,
                               int64_t heads, int64_t k_dim, int64_t v_dim, int half) {
  written w = {k, v, {spans, segments, n_spans, n_segments}, {k_offset, v_offset, heads, k_dim, v_dim, half}};
  int code = kv_check(&w.where, rows);
  if (code == KV_OK) numr_parallel_for(rows, 1 + 32768 / (heads * (k_dim + v_dim)), append_range, &w);
  return code;
}
