/* Attention over a packed batch: cuts the spans into tiles and the keys into ranges, runs them on the pool and puts ranges
   together again. The ranges of a long context of few rows run in parallel, those of other tiles one after another: the
   same arithmetic, so that a row's result does not tell which rows ran beside it. */
#include "attention.h"

#include <math.h>
#include <string.h>

#include "pool.h"
#include "vmath.h"

#define SPLIT 512       /* keys per range, at multiples of this position */
#define SMALL 400000    /* multiply-adds, about 20 us: below this other threads do not pay */
#define PLAN_SLOT 0     /* scratch of the caller */
#define TILE_SLOT 1     /* scratch of whoever runs a tile */

typedef struct {
  int64_t item;          /* the span's first work item */
  int64_t tiles, splits; /* items: tiles x heads x splits; splits > 1 only with one tile */
  int64_t first_split;   /* position / SPLIT of its first range */
  int64_t record;        /* floats into `partials`, where splits > 1 */
} plan;

typedef struct {
  const float *q;
  float *out;
  table where;
  layer at;
  scoring how;
  int64_t n_heads, group, stride;
  plan *plans; /* [n_spans + 1] */
  float *partials;
  int failed;
} job;

static int64_t first_key(const job *j, const span *s, int64_t row) {
  int64_t begin = j->where.segments[s->segment].start;
  int64_t lo = (s->position + row - j->how.window + 1) / KEYS * KEYS; /* of the whole block: the mask does the rest */
  return j->how.window && lo > begin ? lo : begin;
}

/* Floats of one range's result: values [padded][stride], then maxima and sums. */
static int64_t record_size(const job *j, int64_t queries) { return round_up(queries, VW) * (j->stride + 2); }

static partial record_at(const job *j, const plan *p, int64_t queries, int64_t head, int64_t split) {
  float *values = j->partials + p->record + (head * p->splits + split) * record_size(j, queries);
  float *most = values + round_up(queries, VW) * j->stride;
  return (partial){values, j->stride, most, most + round_up(queries, VW)};
}

static void write_query(const job *j, const span *s, int64_t head, int64_t m, const float *values, float sum) {
  float *out = j->out + ((s->row + m / j->group) * j->n_heads + head * j->group + m % j->group) * j->at.v_dim;
  float inverse = 1.f / sum;
  for (int64_t d = 0; d < j->at.v_dim; d++) out[d] = values[d] * inverse;
}

static float exp1(float x) {
  float all[VW];
  vf_store(all, vf_exp(vf_set1(x)));
  return all[0];
}

/* Query i of `more` is added to query i of `total`: both are sums of weights relative to their own maximum. */
static void fold(partial total, partial more, int64_t i, int64_t dim) {
  float high = total.most[i] > more.most[i] ? total.most[i] : more.most[i];
  float base = high == -INFINITY ? 0.f : high; /* as in soften_row */
  float old = exp1(total.most[i] - base), new = exp1(more.most[i] - base);
  float *values = total.values + i * total.stride;
  const float *added = more.values + i * more.stride;
  for (int64_t d = 0; d < dim; d++) values[d] = values[d] * old + added[d] * new;
  total.sum[i] = total.sum[i] * old + more.sum[i] * new;
  total.most[i] = high;
}

/* All keys of a tile, range by range. `scratch` holds the tile's own and, behind it, two results. */
static partial attend_ranges(const job *j, const tile *whole, char *scratch) {
  partial results[2];
  float *memory = (float *)(scratch + round_up((int64_t)tile_scratch(&j->at), 64));
  for (int k = 0; k < 2; k++, memory += MAX_QUERIES * (j->stride + 2)) {
    float *most = memory + MAX_QUERIES * j->stride;
    results[k] = (partial){memory, j->stride, most, most + MAX_QUERIES};
  }
  tile t = *whole;
  for (int64_t lo = whole->lo; lo == whole->lo || lo < whole->hi; lo = t.hi) {
    int64_t end = (lo / SPLIT + 1) * SPLIT;
    t.lo = lo;
    t.hi = end < whole->hi ? end : whole->hi;
    attend_tile(&t, &j->at, &j->how, scratch, results + (lo > whole->lo));
    for (int64_t i = 0; lo > whole->lo && i < t.count; i++) fold(results[0], results[1], i, j->stride);
  }
  return results[0];
}

static void run_item(job *j, const span *s, const plan *p, int64_t item, char *scratch) {
  int64_t queries = s->rows * j->group, heads = j->at.heads;
  int64_t split = item % p->splits, head = item / p->splits % heads;
  int64_t index = p->tiles - 1 - item / p->splits / heads; /* the longest first */
  int64_t first = index * MAX_QUERIES, count = queries - first < MAX_QUERIES ? queries - first : MAX_QUERIES;
  tile t = {.q = j->q + s->row * j->n_heads * j->at.k_dim + head * j->group * j->at.k_dim,
            .q_row = j->n_heads * j->at.k_dim,
            .first = first,
            .count = count,
            .group = j->group,
            .single = s->rows == 1,
            .position = s->position,
            .segments = j->where.segments + s->segment,
            .n_segments = s->segments,
            .head = head,
            .lo = first_key(j, s, first / j->group),
            .hi = s->position + (first + count - 1) / j->group + 1};
  if (p->splits > 1) {
    int64_t lo = (p->first_split + split) * SPLIT;
    t.lo = t.lo > lo ? t.lo : lo;
    t.hi = t.hi < lo + SPLIT ? t.hi : lo + SPLIT;
    partial range = record_at(j, p, queries, head, split);
    attend_tile(&t, &j->at, &j->how, scratch, &range);
    return;
  }
  partial all = attend_ranges(j, &t, scratch);
  for (int64_t i = 0; i < count; i++) write_query(j, s, head, first + i, all.values + i * j->stride, all.sum[i]);
}

static void run_items(void *ctx, int64_t lo, int64_t hi) {
  job *j = ctx;
  size_t result = sizeof(float) * (size_t)(2 * MAX_QUERIES * (j->stride + 2));
  char *scratch = numr_scratch(TILE_SLOT, (size_t)round_up((int64_t)tile_scratch(&j->at), 64) + result);
  if (!scratch) {
    __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  int64_t below = 0, above = j->where.n_spans; /* the span of item lo: plans[below].item <= lo < plans[above].item */
  while (above - below > 1) {
    int64_t middle = (below + above) / 2;
    if (j->plans[middle].item <= lo) below = middle;
    else above = middle;
  }
  for (int64_t item = lo; item < hi; item++) {
    while (j->plans[below + 1].item <= item) below++;
    run_item(j, j->where.spans + below, j->plans + below, item - j->plans[below].item, scratch);
  }
}

static void merge_query(const job *j, const span *s, const plan *p, int64_t head, int64_t m) {
  int64_t queries = s->rows * j->group;
  partial total = record_at(j, p, queries, head, 0);
  for (int64_t i = 1; i < p->splits; i++) fold(total, record_at(j, p, queries, head, i), m, j->stride);
  write_query(j, s, head, m, total.values + m * j->stride, total.sum[m]);
}

static void merge_heads(void *ctx, int64_t lo, int64_t hi) {
  const job *j = ctx;
  for (int64_t i = lo; i < hi; i++) {
    int64_t which = i / j->at.heads, head = i % j->at.heads;
    const span *s = j->where.spans + which;
    const plan *p = j->plans + which;
    for (int64_t m = 0; p->splits > 1 && m < s->rows * j->group; m++) merge_query(j, s, p, head, m);
  }
}

/* Fills plans; returns the multiply-adds of the whole call. */
static double make_plans(job *j, int64_t *floats) {
  double work = 0;
  int64_t item = 0;
  *floats = 0;
  for (int64_t i = 0; i < j->where.n_spans; i++) {
    const span *s = j->where.spans + i;
    plan *p = j->plans + i;
    *p = (plan){.item = item, .splits = 1};
    if (!s->rows) continue;
    int64_t queries = s->rows * j->group, end = s->position + s->rows, lo = first_key(j, s, 0);
    p->tiles = (queries + MAX_QUERIES - 1) / MAX_QUERIES;
    if (p->tiles == 1) {
      p->first_split = lo / SPLIT;
      p->splits = (end - 1) / SPLIT - p->first_split + 1;
    }
    if (p->splits > 1) {
      p->record = *floats;
      *floats += p->splits * j->at.heads * record_size(j, queries);
    }
    item += p->tiles * p->splits * j->at.heads;
    work += (double)queries * (double)j->at.heads * (double)(end - lo) * (double)(j->at.k_dim + j->at.v_dim);
  }
  j->plans[j->where.n_spans] = (plan){.item = item};
  return work;
}

static void clear_uncovered(const job *j, int64_t rows) {
  int64_t covered = 0;
  for (int64_t i = 0; i < j->where.n_spans && j->where.spans[i].row == covered; i++) covered += j->where.spans[i].rows;
  if (covered != rows) memset(j->out, 0, sizeof(float) * (size_t)(rows * j->n_heads * j->at.v_dim));
}

NUMR_EXPORT int numr_attention(const float *q, float *out, int64_t rows, const span *spans, int64_t n_spans,
                               const segment *segments, int64_t n_segments, int64_t k_offset, int64_t v_offset,
                               int64_t heads, int64_t k_dim, int64_t v_dim, int half, int64_t n_heads, float scale,
                               int64_t window, float softcap) {
  job j = {.q = q,
           .out = out,
           .where = {spans, segments, n_spans, n_segments},
           .at = {k_offset, v_offset, heads, k_dim, v_dim, half},
           .how = {scale, softcap, window},
           .n_heads = n_heads,
           .group = n_heads / heads,
           .stride = round_up(v_dim, VW)};
  int code = kv_check(&j.where, rows);
  if (code != KV_OK) return code;
  size_t bytes = (size_t)round_up((n_spans + 1) * (int64_t)sizeof(plan), 64);
  int64_t floats = 0;
  j.plans = numr_scratch(PLAN_SLOT, bytes);
  if (!j.plans) return KV_MEMORY;
  double work = make_plans(&j, &floats);
  if (floats) { /* the scratch may move: plan again in the larger one */
    j.plans = numr_scratch(PLAN_SLOT, bytes + sizeof(float) * (size_t)floats);
    if (!j.plans) return KV_MEMORY;
    j.partials = (float *)((char *)j.plans + bytes);
    make_plans(&j, &floats);
  }
  clear_uncovered(&j, rows);
  int64_t items = j.plans[n_spans].item;
  int64_t grain = work < SMALL ? items : 1 + (int64_t)(SMALL / 4 * (double)items / work);
  numr_parallel_for(items, grain, run_items, &j);
  if (floats && !j.failed) numr_parallel_for(n_spans * heads, work < 16 * SMALL ? n_spans * heads : 8, merge_heads, &j);
  return j.failed ? KV_MEMORY : KV_OK;
}
