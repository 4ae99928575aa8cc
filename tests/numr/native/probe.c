/* A library of another package, as the tests of the loader and the pool need one. */
#include <stdlib.h>
#include <string.h>

#include "numr_runtime.h"

static const numr_runtime *runtime;

NUMR_EXPORT int probe_bind(const numr_runtime *rt) {
  runtime = rt;
  return rt->abi == NUMR_RUNTIME_ABI && rt->size == sizeof(numr_runtime) ? 0 : 1;
}

NUMR_EXPORT int probe_answer(void) { return 42; }

typedef struct {
  int64_t *visits;
  int64_t grain, inner;
} visited;

static void count_one(void *ctx, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) __atomic_fetch_add((int64_t *)ctx, 1, __ATOMIC_RELAXED);
}

static void visit(void *ctx, int64_t lo, int64_t hi) {
  visited *v = ctx;
  for (int64_t i = lo; i < hi; i++) {
    if (v->inner) runtime->parallel_for(v->inner, 1, count_one, v->visits + i);
    else v->visits[i]++;
  }
}

/* Adds 1 (or `inner`, by a job inside the job) to each of visits[0..n). */
NUMR_EXPORT void probe_visit(int64_t *visits, int64_t n, int64_t grain, int64_t inner) {
  visited v = {visits, grain, inner};
  runtime->parallel_for(n, grain, visit, &v);
}

static void halve(void *ctx, int64_t lo, int64_t hi) {
  volatile float *x = ctx;
  for (int64_t i = lo; i < hi; i++) x[i] = x[i] * 0.5f;
}

NUMR_EXPORT void probe_halve(float *x, int64_t n, int64_t grain) { runtime->parallel_for(n, grain, halve, x); }

/* The address of a slot after asking for it. */
NUMR_EXPORT void *probe_scratch(size_t slot, size_t bytes) {
  void *p = runtime->scratch(slot, bytes);
  if (p && bytes < 1 << 24) memset(p, 1, bytes);
  return p;
}
