/* Checks libnumr's operations and pool against plain C in double precision, without Python: for emulators and for
   machines that have nothing else.

       cc -std=gnu11 -O1 -fno-fast-math -pthread -I <numr/native/src> check.c <libnumr-level.so> -lm -o check && ./check

   Ends with 0 and one line, or with the number of what failed. The bounds are those of the Python tests: a few units
   in the last place of float32, grown by the length of a sum. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "numr_runtime.h"

typedef void elementwise(const float *, const float *, float *, int64_t);
elementwise numr_add, numr_silu, numr_gelu_tanh, numr_gelu_erf, numr_silu_mul, numr_gelu_tanh_mul, numr_gelu_erf_mul;
void numr_rms_norm(float *, const float *, float *, int64_t, int64_t, float);
void numr_add_rms_norm(float *, const float *, const float *, float *, int64_t, int64_t, float);
void numr_layer_norm(float *, const float *, const float *, float *, int64_t, int64_t, float);
void numr_softmax(float *, float *, int64_t, int64_t);
int numr_rope(float *, const int64_t *, const float *, const float *, int64_t, int64_t, int64_t, int64_t, int64_t, int);
int numr_kv_append(const float *, const float *, int64_t, const span *, int64_t, const segment *, int64_t, int64_t,
                   int64_t, int64_t, int64_t, int64_t, int);
int numr_attention(const float *, float *, int64_t, const span *, int64_t, const segment *, int64_t, int64_t, int64_t,
                   int64_t, int64_t, int64_t, int, int64_t, float, int64_t, float);
void numr_set_threads(int);

static int failures, checks;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void expect(int holds, const char *what, int64_t n) {
  pthread_mutex_lock(&counting);
  checks++;
  if (!holds && ++failures <= 20) printf("FAILED: %s (%lld)\n", what, (long long)n);
  pthread_mutex_unlock(&counting);
}

/* Equal up to `bound` of the reference or of 1, whichever is larger; NaN and infinity must be what they are. */
static int near(const float *got, const double *want, int64_t n, double bound) {
  for (int64_t i = 0; i < n; i++) {
    double w = want[i], most = fabs(w) > 1 ? fabs(w) : 1;
    if (isnan(w) || isinf(w) ? !(isnan(w) ? isnan(got[i]) : got[i] == w) : !(fabs(got[i] - w) <= bound * most)) {
      printf("  item %lld: got %.9g, expected %.9g\n", (long long)i, got[i], w);
      return 0;
    }
  }
  return 1;
}

static float random_float(uint64_t *state) { /* in -4 .. 4 */
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (float)((int64_t)(*state >> 33) - (INT64_C(1) << 30)) / (float)(1 << 28);
}

static float *floats(int64_t n, uint64_t seed) {
  float *x = malloc((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = random_float(&seed);
  return x;
}

static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu_erf(double x) { return x / 2 * erfc(-x * sqrt(0.5)); }
static double gelu_tanh(double x) { return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

static void check_elementwise(int64_t n) {
  static const struct {
    const char *name;
    elementwise *run;
    double (*of)(double);
    int times;
  } all[] = {{"silu", numr_silu, silu, 0},          {"silu_mul", numr_silu_mul, silu, 1},
             {"gelu_erf", numr_gelu_erf, gelu_erf, 0}, {"gelu_erf_mul", numr_gelu_erf_mul, gelu_erf, 1},
             {"gelu_tanh", numr_gelu_tanh, gelu_tanh, 0}, {"gelu_tanh_mul", numr_gelu_tanh_mul, gelu_tanh, 1}};
  float *x = floats(n, 1), *y = floats(n, 2), *out = floats(n, 3);
  double *want = malloc((size_t)n * sizeof *want);
  x[n / 2] = 200.f, x[n - 1] = n % 2 ? NAN : -200.f;
  for (unsigned f = 0; f < sizeof all / sizeof *all; f++) {
    for (int64_t i = 0; i < n; i++) want[i] = all[f].of(x[i]) * (all[f].times ? y[i] : 1);
    all[f].run(x, all[f].times ? y : NULL, out, n);
    expect(near(out, want, n, 2e-6), all[f].name, n);
  }
  for (int64_t i = 0; i < n; i++) want[i] = (double)x[i] + y[i];
  numr_add(x, y, x, n);
  expect(near(x, want, n, 1e-7), "add", n);
  free(x), free(y), free(out), free(want);
}

static void norm(const float *x, const float *w, const float *b, int centred, double *want, int64_t width, double eps) {
  double mean = 0, square = 0;
  for (int64_t i = 0; i < width; i++) mean += centred ? x[i] / (double)width : 0;
  for (int64_t i = 0; i < width; i++) square += (x[i] - mean) * (x[i] - mean) / (double)width;
  for (int64_t i = 0; i < width; i++) want[i] = (x[i] - mean) / sqrt(square + eps) * w[i] + (b ? b[i] : 0);
}

static void check_rows(int64_t n, int64_t width) {
  float *x = floats(n * width, 4), *y = floats(n * width, 5), *w = floats(width, 6), *b = floats(width, 7);
  float *out = floats(n * width, 8), *sum = floats(n * width, 9);
  double *want = malloc((size_t)(n * width) * sizeof *want);
  for (int centred = 0; centred < 3; centred++) { /* 2: with a bias */
    for (int64_t r = 0; r < n; r++)
      norm(x + r * width, w, centred == 2 ? b : NULL, centred > 0, want + r * width, width, 1e-5);
    if (centred) numr_layer_norm(x, w, centred == 2 ? b : NULL, out, n, width, 1e-5f);
    else numr_rms_norm(x, w, out, n, width, 1e-5f);
    expect(near(out, want, n * width, 5e-6), centred ? "layer_norm" : "rms_norm", width);
  }
  for (int64_t i = 0; i < n * width; i++) sum[i] = x[i] + y[i];
  for (int64_t r = 0; r < n; r++) norm(sum + r * width, w, NULL, 0, want + r * width, width, 1e-5);
  numr_add_rms_norm(x, y, w, out, n, width, 1e-5f);
  expect(!memcmp(x, sum, (size_t)(n * width) * sizeof *x), "the sum of add_rms_norm", width);
  expect(near(out, want, n * width, 5e-6), "add_rms_norm", width);
  for (int64_t r = 0; r < n; r++) {
    double total = 0;
    for (int64_t i = 0; i < width; i++) total += want[r * width + i] = exp(y[r * width + i]);
    for (int64_t i = 0; i < width; i++) want[r * width + i] /= total;
  }
  numr_softmax(y, out, n, width);
  expect(near(out, want, n * width, 1e-6), "softmax", width);
  free(x), free(y), free(w), free(b), free(out), free(sum), free(want);
}

static void check_rope(int64_t heads, int64_t head_dim, int64_t half, int interleaved) {
  enum { ROWS = 3, KNOWN = 5 };
  const int64_t positions[ROWS] = {4, 0, 2}, outside[ROWS] = {0, KNOWN, 0}, n = ROWS * heads * head_dim;
  float *x = floats(n, 10), *c = floats(KNOWN * half, 11), *s = floats(KNOWN * half, 12);
  double *want = malloc((size_t)n * sizeof *want);
  for (int64_t i = 0; i < n; i++) want[i] = x[i];
  for (int64_t h = 0; h < ROWS * heads; h++)
    for (int64_t i = 0; i < half; i++) {
      int64_t a = h * head_dim + (interleaved ? 2 * i : i), b = interleaved ? a + 1 : a + half;
      double cv = c[positions[h / heads] * half + i], sv = s[positions[h / heads] * half + i];
      want[a] = x[a] * cv - x[b] * sv;
      want[b] = x[a] * sv + x[b] * cv;
    }
  expect(numr_rope(x, outside, c, s, ROWS, heads, head_dim, half, KNOWN, interleaved) == 1, "rope outside", half);
  expect(numr_rope(x, positions, c, s, ROWS, heads, head_dim, half, KNOWN, interleaved) == 0, "rope's code", half);
  expect(near(x, want, n, 2e-6), "rope", half); /* products reach 16 */
  free(x), free(c), free(s), free(want);
}

static double widened(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* Every finite half and the values about halfway to the next one, through the cache: nearest, ties to even. */
static void check_halves(void) {
  enum { N = 0x7c00 };
  float *k = malloc(3 * N * sizeof *k), *v = floats(3 * N, 13);
  uint16_t *cache = calloc(6 * N, sizeof *cache);
  for (int h = 0; h < N; h++) {
    double here = widened((uint16_t)h), next = h + 1 < N ? widened((uint16_t)(h + 1)) : 65536;
    k[3 * h] = (float)here;
    k[3 * h + 1] = (float)((here + next) / 2);
    k[3 * h + 2] = -nextafterf((float)((here + next) / 2), INFINITY);
  }
  segment segments[1] = {{(int64_t)(intptr_t)cache, 3 * N, 0, 3 * N}};
  span spans[1] = {{0, 3 * N, 0, 0, 1}};
  expect(numr_kv_append(k, v, 3 * N, spans, 1, segments, 1, 0, 2, 1, 1, 1, 1) == KV_OK, "kv_append's code", N);
  int wrong = 0;
  for (int h = 0; h < N; h++)
    wrong += cache[3 * h] != h || cache[3 * h + 1] != h + h % 2 || cache[3 * h + 2] != (0x8000 | (h + 1));
  expect(!wrong, "narrowing to halves", wrong);
  free(k), free(v), free(cache);
}

static double element(const segment *g, int64_t position, int64_t offset, int64_t head, int64_t dim, int64_t d, int half) {
  while (position >= g->start + g->length) g++;
  int64_t at = (position - g->start) * dim + d + g->capacity * head * dim;
  const char *block = (const char *)(intptr_t)g->base + g->capacity * offset;
  return half ? widened(((const uint16_t *)block)[at]) : ((const float *)block)[at];
}

typedef struct {
  int64_t rows, position, group, k_dim, v_dim, window;
  int half;
  float softcap;
} attending;

#define SCALE 0.05f /* scores of a few units: exp would show the rounding of larger ones */

static void reference(const attending *a, const float *q, const segment *g, int64_t v_offset, int64_t row, int64_t head,
                      double *out) {
  int64_t last = a->position + row, first = a->window && last >= a->window ? last - a->window + 1 : 0;
  double total = 0;
  memset(out, 0, (size_t)a->v_dim * sizeof *out);
  for (int64_t p = first; p <= last; p++) {
    double score = 0;
    for (int64_t d = 0; d < a->k_dim; d++) score += q[d] * element(g, p, 0, head / a->group, a->k_dim, d, a->half);
    score *= SCALE;
    if (a->softcap != 0) score = a->softcap * tanh(score / a->softcap);
    double weight = exp(score);
    total += weight;
    for (int64_t d = 0; d < a->v_dim; d++) out[d] += weight * element(g, p, v_offset, head / a->group, a->v_dim, d, a->half);
  }
  for (int64_t d = 0; d < a->v_dim; d++) out[d] /= total;
}

static void check_attention(attending a) {
  enum { HEADS = 2 };
  int64_t size = a.half ? 2 : 4, total = a.rows + a.position, first = total / 3 + 1, queries = HEADS * a.group;
  int64_t v_offset = HEADS * a.k_dim * size, per_token = HEADS * (a.k_dim + a.v_dim);
  segment segments[2] = {{0, first + 3, 0, first}, {0, total - first + 1, first, total - first}};
  for (int i = 0; i < 2; i++) segments[i].base = (int64_t)(intptr_t)calloc((size_t)segments[i].capacity, (size_t)(per_token * size));
  float *k = floats(total * HEADS * a.k_dim, 14), *v = floats(total * HEADS * a.v_dim, 15);
  float *q = floats(a.rows * queries * a.k_dim, 16), *out = floats(a.rows * queries * a.v_dim, 17);
  double *want = malloc((size_t)(a.rows * queries * a.v_dim) * sizeof *want);
  span all[1] = {{0, total, 0, 0, 2}}, some[1] = {{0, a.rows, a.position, 0, 2}};
  int code = numr_kv_append(k, v, total, all, 1, segments, 2, 0, v_offset, HEADS, a.k_dim, a.v_dim, a.half);
  code |= numr_attention(q, out, a.rows, some, 1, segments, 2, 0, v_offset, HEADS, a.k_dim, a.v_dim, a.half, queries,
                         SCALE, a.window, a.softcap);
  expect(code == KV_OK, "attention's code", code);
  for (int64_t i = 0; i < a.rows * queries; i++)
    reference(&a, q + i * a.k_dim, segments, v_offset, i / queries, i % queries, want + i * a.v_dim);
  expect(near(out, want, a.rows * queries * a.v_dim, 5e-6), "attention", a.k_dim);
  for (int i = 0; i < 2; i++) free((void *)(intptr_t)segments[i].base);
  free(k), free(v), free(q), free(out), free(want);
}

typedef struct {
  int *visits;
  int64_t inner;
} visited;

static void count(void *ctx, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) __atomic_fetch_add((int *)ctx, 1, __ATOMIC_RELAXED);
}

static void visit(void *ctx, int64_t lo, int64_t hi) {
  visited *v = ctx;
  for (int64_t i = lo; i < hi; i++) numr_runtime_get()->parallel_for(v->inner, 1, count, v->visits + i);
}

static void halve(void *ctx, int64_t lo, int64_t hi) {
  volatile float *x = ctx;
  for (int64_t i = lo; i < hi; i++) x[i] *= 0.5f;
}

static void *use_pool(void *unused) {
  const numr_runtime *rt = numr_runtime_get();
  for (int64_t n = 1; n < 400; n += 13) {
    visited v = {calloc((size_t)n, sizeof(int)), n % 3};
    rt->parallel_for(n, 1 + n % 5, visit, &v);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += v.visits[i] != v.inner;
    expect(!wrong, "every item once", n);
    free(v.visits);
  }
  return unused;
}

static void check_runtime(void) {
  const numr_runtime *rt = numr_runtime_get();
  expect(rt->abi == NUMR_RUNTIME_ABI && rt->size == sizeof *rt && rt->threads() == 3, "the runtime", rt->abi);
  pthread_t callers[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&callers[i], NULL, use_pool, NULL)) abort();
  use_pool(NULL);
  for (int i = 0; i < 2; i++) pthread_join(callers[i], NULL);
  void *small = rt->scratch(3, 1000);
  expect(small && (uintptr_t)small % 64 == 0 && rt->scratch(3, 900) == small, "scratch", 3);
  expect(!rt->scratch(NUMR_SCRATCH_SLOTS, 1) && !rt->scratch(3, SIZE_MAX - 5), "scratch that cannot be", 8);
  volatile float x[200];
  for (int grain = 1; grain <= 1000; grain += 999) {
    for (int i = 0; i < 200; i++) x[i] = 1e-38f;
    rt->parallel_for(200, grain, halve, (void *)x);
    int left = 0;
    for (int i = 0; i < 200; i++) left += x[i] != 0;
    expect(!left, "subnormals inside jobs", left);
  }
  x[0] = 1e-38f;
  expect(x[0] * 0.5f != 0, "subnormals outside jobs", 0);
}

int main(void) {
  static const int64_t widths[] = {1, 3, 4, 5, 8, 15, 16, 17, 33, 100, 4097};
  static const int64_t dims[][2] = {{1, 1}, {3, 5}, {16, 16}, {24, 40}, {64, 64}, {80, 72}};
  numr_set_threads(3);
  check_runtime();
  for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
    check_elementwise(widths[i]);
    check_rows(1 + i % 4, widths[i]);
  }
  check_elementwise(50001); /* over several threads */
  check_rows(40, 1025);
  for (int interleaved = 0; interleaved < 2; interleaved++) {
    check_rope(2, 16, 8, interleaved), check_rope(3, 7, 3, interleaved), check_rope(1, 80, 20, interleaved);
    check_rope(5, 66, 33, interleaved);
  }
  check_halves();
  for (unsigned i = 0; i < sizeof dims / sizeof *dims; i++)
    for (int half = 0; half < 2; half++) {
      int64_t k = dims[i][0], v = dims[i][1];
      check_attention((attending){1, 40, 3, k, v, 0, half, 0.f});
      check_attention((attending){1, 1100, 1, k, v, 700, half, 0.f});
      check_attention((attending){13, 90, 5, k, v, i % 2 ? 30 : 0, half, 5.f});
      check_attention((attending){70, 0, 2, k, v, 0, half, 0.f});
    }
  printf("%d checks, %d failed\n", checks, failures);
  return failures ? 1 : 0;
}
