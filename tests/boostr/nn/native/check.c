/* Checks boostr's recurrences, gates and low-rank updates against plain C in double precision, without Python, so that
   emulators can run it.

       cc -std=gnu11 -O1 -pthread -I <numr/native/src> check.c <libboostr_nn-level.so> <libnumr-level.so> -lm -o check

   Sequences are cut into two passes, so that what is left in a sequence's memory is checked too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numr_runtime.h"

typedef struct {
  int64_t row, rows, source, target;
} memory_span;

typedef struct {
  int64_t k_heads, v_heads, k_dim, v_dim, tiled;
  const float *a, *dt_bias, *norm;
  double eps;
} delta_net;

int boostr_bind(const numr_runtime *);
void numr_set_threads(int);
void boostr_causal_conv(const float *, const float *, float *, int64_t, int64_t, const memory_span *, int64_t, int64_t);
int boostr_gated_delta(const delta_net *, float *, const float *, float *, float *, float *, int64_t,
                       const memory_span *, int64_t, int64_t);
void boostr_sigmoid_gate(float *, const float *, int64_t, int64_t, int64_t, int64_t);

typedef struct {
  int64_t in, out, rank;
  const float *a, *b;
  double scale;
} low_rank;

int boostr_low_rank(const low_rank *, const float *, float *, const int64_t *, int64_t, int64_t);

static int failures, checks;

static void expect(const float *got, const double *want, int64_t n, double bound, const char *what, int64_t size) {
  checks++;
  for (int64_t i = 0; i < n; i++) {
    double most = fabs(want[i]) > 1 ? fabs(want[i]) : 1;
    if (fabs(got[i] - want[i]) <= bound * most) continue;
    printf("FAILED: %s (%lld), item %lld: got %.9g, expected %.9g\n", what, (long long)size, (long long)i, got[i], want[i]);
    failures++;
    return;
  }
}

static float *floats(int64_t n, uint64_t seed) { /* in -2 .. 2 */
  float *x = malloc((size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)((int64_t)(seed >> 33) - (INT64_C(1) << 30)) / (float)(1 << 29);
  }
  return x;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void check_conv(int64_t channels, int64_t kernel) {
  enum { ROWS = 7, CUT = 2 };
  float *x = floats(ROWS * channels, 1), *w = floats(kernel * channels, 2), *out = floats(ROWS * channels, 3);
  float *memory = floats((kernel - 1) * channels + 8, 4);
  double *want = malloc((size_t)((ROWS + kernel) * channels) * sizeof *want);
  for (int64_t t = 0; t < ROWS; t++)
    for (int64_t c = 0; c < channels; c++) {
      double sum = 0;
      for (int64_t j = 0; j < kernel; j++)
        if (t - kernel + 1 + j >= 0) sum += (double)w[j * channels + c] * x[(t - kernel + 1 + j) * channels + c];
      want[t * channels + c] = sum * sigmoid(sum);
    }
  int64_t at = (int64_t)(intptr_t)memory;
  memory_span first = {0, CUT, 0, at}, rest = {CUT, ROWS - CUT, at, at};
  boostr_causal_conv(x, w, out, channels, kernel, &first, 1, 32);
  boostr_causal_conv(x, w, out, channels, kernel, &rest, 1, 32);
  expect(out, want, ROWS * channels, 2e-6, "causal_conv", channels);
  for (int64_t i = 0; i < (kernel - 1) * channels; i++) {
    int64_t from = (ROWS - kernel + 1) * channels + i;
    want[i] = from < 0 ? 0 : x[from];
  }
  expect(memory + 8, want, (kernel - 1) * channels, 0, "the window left", channels);
  free(x), free(w), free(out), free(memory), free(want);
}

/* One head over all rows, in double: the rule as delta.c's first lines give it. */
static void delta_head(const delta_net *net, const float *qkv, const float *z, const float *b, const float *a, int64_t rows,
                       int64_t head, double *s, double *want) {
  int64_t kd = net->k_dim, vd = net->v_dim, channels = 2 * net->k_heads * kd + net->v_heads * vd;
  int64_t k_head = net->tiled ? head % net->k_heads : head / (net->v_heads / net->k_heads);
  memset(s, 0, (size_t)(kd * vd) * sizeof *s);
  for (int64_t t = 0; t < rows; t++) {
    const float *q = qkv + t * channels + k_head * kd, *k = q + net->k_heads * kd;
    const float *v = qkv + t * channels + 2 * net->k_heads * kd + head * vd;
    double qq = 1e-6, kk = 1e-6, square = 0;
    for (int64_t i = 0; i < kd; i++) qq += (double)q[i] * q[i], kk += (double)k[i] * k[i];
    double beta = sigmoid(b[t * net->v_heads + head]);
    double decay = exp(net->a[head] * log1p(exp(a[t * net->v_heads + head] + net->dt_bias[head])));
    double *out = want + t * net->v_heads * vd + head * vd;
    for (int64_t c = 0; c < vd; c++) {
      double read = 0, seen = 0;
      for (int64_t i = 0; i < kd; i++) read += (s[i * vd + c] *= decay) * k[i] / sqrt(kk);
      for (int64_t i = 0; i < kd; i++) {
        s[i * vd + c] += beta * (v[c] - read) * k[i] / sqrt(kk);
        seen += s[i * vd + c] * q[i] / sqrt(qq * (double)kd);
      }
      out[c] = seen;
      square += seen * seen;
    }
    for (int64_t c = 0; c < vd; c++) {
      double gate = z[t * net->v_heads * vd + head * vd + c];
      out[c] *= net->norm[c] / sqrt(square / (double)vd + net->eps) * gate * sigmoid(gate);
    }
  }
}

static void check_delta(int64_t k_heads, int64_t v_heads, int64_t k_dim, int64_t v_dim, int tiled) {
  enum { ROWS = 9, CUT = 4 };
  int64_t channels = 2 * k_heads * k_dim + v_heads * v_dim, width = v_heads * v_dim;
  float *a_log = floats(v_heads, 5), *dt = floats(v_heads, 6), *norm = floats(v_dim, 7);
  for (int64_t h = 0; h < v_heads; h++) a_log[h] = -fabsf(a_log[h]) - 0.01f;
  delta_net net = {k_heads, v_heads, k_dim, v_dim, tiled, a_log, dt, norm, 1e-3};
  float *qkv = floats(ROWS * channels, 8), *z = floats(ROWS * width, 9), *out = floats(ROWS * width, 10);
  float *b = floats(ROWS * v_heads, 11), *a = floats(ROWS * v_heads, 12), *memory = floats(v_heads * k_dim * v_dim, 13);
  double *want = malloc((size_t)(ROWS * width) * sizeof *want), *s = malloc((size_t)(v_heads * k_dim * v_dim) * sizeof *s);
  for (int64_t h = 0; h < v_heads; h++) delta_head(&net, qkv, z, b, a, ROWS, h, s + h * k_dim * v_dim, want);
  int64_t at = (int64_t)(intptr_t)memory;
  memory_span first = {0, CUT, 0, at}, rest = {0, ROWS - CUT, at, at};
  int code = boostr_gated_delta(&net, qkv, z, b, a, out, CUT, &first, 1, 0);
  code |= boostr_gated_delta(&net, qkv + CUT * channels, z + CUT * width, b + CUT * v_heads, a + CUT * v_heads,
                             out + CUT * width, ROWS - CUT, &rest, 1, 0);
  if (code) failures++, printf("FAILED: gated_delta's code %d\n", code);
  expect(out, want, ROWS * width, 2e-4, "gated_delta", v_dim); /* small outputs are divided by their own size */
  expect(memory, s, v_heads * k_dim * v_dim, 5e-6, "the state left", v_dim);
  free(a_log), free(dt), free(norm), free(qkv), free(z), free(out), free(b), free(a), free(memory), free(want), free(s);
}

static void check_gate(int64_t pieces, int64_t width, int64_t stride) {
  float *x = floats(pieces * width, 14), *gate = floats(pieces * stride, 15);
  double *want = malloc((size_t)(pieces * width) * sizeof *want);
  for (int64_t i = 0; i < pieces * width; i++) want[i] = x[i] * sigmoid(gate[i / width * stride + i % width]);
  boostr_sigmoid_gate(x, gate, pieces, width, width, stride);
  expect(x, want, pieces * width, 1e-6, "sigmoid_gate", width);
  free(x), free(gate), free(want);
}

static void check_low_rank(int64_t in, int64_t out, int64_t rank, const int64_t *rows, int64_t first, int64_t count) {
  enum { ROWS = 12 };
  float *x = floats(ROWS * in, 5), *y = floats(ROWS * out, 6), *a = floats(rank * in, 7), *b = floats(rank * out, 8);
  low_rank update = {in, out, rank, a, b, 0.25};
  double *want = malloc((size_t)(ROWS * out) * sizeof *want);
  for (int64_t i = 0; i < ROWS * out; i++) want[i] = y[i];
  for (int64_t i = 0; i < count; i++) {
    int64_t row = rows ? rows[i] : first + i;
    for (int64_t k = 0; k < rank; k++) {
      double inner = 0;
      for (int64_t c = 0; c < in; c++) inner += (double)x[row * in + c] * a[k * in + c];
      for (int64_t o = 0; o < out; o++) want[row * out + o] += 0.25 * inner * b[k * out + o];
    }
  }
  if (boostr_low_rank(&update, x, y, rows, first, count)) failures++;
  expect(y, want, ROWS * out, 2e-4, "low rank", in * 10000 + out);
  free(x), free(y), free(a), free(b), free(want);
}

int main(void) {
  static const int64_t widths[] = {1, 3, 4, 7, 8, 16, 33, 515, 1100};
  numr_set_threads(3);
  if (boostr_bind(numr_runtime_get())) return 2;
  for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
    for (int64_t kernel = 1; kernel < 17; kernel += 3) check_conv(widths[i], kernel);
    check_gate(5, widths[i], widths[i] * 2), check_gate(1, widths[i], widths[i]);
  }
  for (int tiled = 0; tiled < 2; tiled++) {
    check_delta(1, 1, 1, 1, tiled), check_delta(2, 4, 8, 16, tiled), check_delta(2, 6, 5, 7, tiled);
    check_delta(2, 2, 64, 64, tiled), check_delta(1, 3, 33, 40, tiled);
  }
  static const int64_t some[] = {0, 2, 3, 5, 7, 8, 11};
  for (int64_t rank = 1; rank < 10; rank += 2) {
    check_low_rank(1, 1, rank, 0, 3, 1), check_low_rank(33, 70, rank, 0, 2, 9), check_low_rank(40, 515, rank, some, 0, 7);
    check_low_rank(64, 300, rank, some, 0, 1), check_low_rank(700, 33, rank, 0, 0, 12);
  }
  printf("%d checks, %d failed\n", checks, failures);
  return failures ? 1 : 0;
}
