/* Runs every kernel on memory of exactly the right size, from several threads at once, for the sanitizers to watch.
   Results are the Python tests' business; here only accesses, undefined behaviour and races count. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kv.h"
#include "pool.h"

void numr_add(const float *, const float *, float *, int64_t);
void numr_silu(const float *, const float *, float *, int64_t);
void numr_gelu_erf_mul(const float *, const float *, float *, int64_t);
void numr_gelu_tanh_mul(const float *, const float *, float *, int64_t);
void numr_add_rms_norm(float *, const float *, const float *, float *, int64_t, int64_t, float);
void numr_layer_norm(float *, const float *, const float *, float *, int64_t, int64_t, float);
void numr_softmax(float *, float *, int64_t, int64_t);
int numr_rope(float *, const int64_t *, const float *, const float *, int64_t, int64_t, int64_t, int64_t, int64_t, int);
int numr_kv_append(const float *, const float *, int64_t, const span *, int64_t, const segment *, int64_t, int64_t,
                   int64_t, int64_t, int64_t, int64_t, int);
int numr_attention(const float *, float *, int64_t, const span *, int64_t, const segment *, int64_t, int64_t, int64_t,
                   int64_t, int64_t, int64_t, int, int64_t, float, int64_t, float);

static float *floats(int64_t n) {
  float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = (float)((i * 7919) % 1000) / 500.f - 1.f;
  return x;
}

static void rows(int64_t n, int64_t width) {
  float *x = floats(n * width), *y = floats(n * width), *w = floats(width), *out = floats(n * width);
  numr_add(x, y, x, n * width);
  numr_silu(x, NULL, out, n * width);
  numr_gelu_erf_mul(x, y, out, n * width);
  numr_gelu_tanh_mul(x, y, out, n * width);
  numr_add_rms_norm(x, y, w, out, n, width, 1e-5f);
  numr_layer_norm(x, w, w, out, n, width, 1e-5f);
  numr_softmax(x, out, n, width);
  free(x), free(y), free(w), free(out);
}

static void rotate(int64_t heads, int64_t head_dim, int64_t half) {
  float *x = floats(3 * heads * head_dim), *cs = floats(5 * half);
  int64_t positions[3] = {4, 0, 2};
  for (int interleaved = 0; interleaved < 2; interleaved++)
    if (numr_rope(x, positions, cs, cs, 3, heads, head_dim, half, 5, interleaved)) abort();
  free(x), free(cs);
}

static void attend(int64_t rows, int64_t position, int64_t group, int64_t k_dim, int64_t v_dim, int half, int64_t window) {
  int64_t size = half ? 2 : 4, heads = 2, total = rows + position, first = total / 3;
  segment segments[2] = {{0, first, 0, first}, {0, total - first, first, total - first}};
  for (int i = 0; i < 2; i++)
    segments[i].base = (int64_t)(intptr_t)calloc((size_t)segments[i].capacity + !segments[i].capacity,
                                                 (size_t)(heads * (k_dim + v_dim) * size));
  span spans[1] = {{0, rows, position, 0, 2}};
  float *k = floats(rows * heads * k_dim), *v = floats(rows * heads * v_dim);
  float *q = floats(rows * heads * group * k_dim), *out = floats(rows * heads * group * v_dim);
  int64_t v_offset = heads * k_dim * size;
  int code = numr_kv_append(k, v, rows, spans, 1, segments, 2, 0, v_offset, heads, k_dim, v_dim, half);
  code |= numr_attention(q, out, rows, spans, 1, segments, 2, 0, v_offset, heads, k_dim, v_dim, half, heads * group,
                         0.3f, window, window ? 5.f : 0.f);
  if (code) abort();
  for (int i = 0; i < 2; i++) free((void *)(intptr_t)segments[i].base);
  free(k), free(v), free(q), free(out);
}

static void *everything(void *unused) {
  static const int64_t widths[] = {1, 3, 7, 16, 33, 100, 5000};
  static const int64_t dims[][2] = {{1, 1}, {3, 5}, {16, 16}, {24, 40}, {64, 64}, {80, 72}};
  for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) rows(i % 3 * 4 + 1, widths[i]);
  rows(0, 5);
  rotate(2, 16, 8), rotate(3, 7, 3), rotate(1, 80, 20);
  for (unsigned i = 0; i < sizeof dims / sizeof *dims; i++)
    for (int half = 0; half < 2; half++) {
      attend(1, 40, 3, dims[i][0], dims[i][1], half, 0);
      attend(1, 1100, 1, dims[i][0], dims[i][1], half, 700);
      attend(13, 90, 5, dims[i][0], dims[i][1], half, i % 2 ? 30 : 0);
      attend(70, 0, 2, dims[i][0], dims[i][1], half, 0);
    }
  return unused;
}

int main(void) {
  enum { CALLERS = 3 };
  pthread_t callers[CALLERS];
  numr_set_threads(3);
  for (int i = 0; i < CALLERS; i++)
    if (pthread_create(&callers[i], NULL, everything, NULL)) return 1;
  for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
  puts("done");
  return 0;
}
