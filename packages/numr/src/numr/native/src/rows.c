/* Operations on whole rows of float32: norms, softmax, rotary embedding. A row is never shared between threads. */
#include <math.h>

#include "pool.h"
#include "vmath.h"

typedef struct {
  float *x;
  const float *y, *weight, *bias;
  float *out;
  int64_t width;
  float eps;
} rows;

static int64_t rows_grain(int64_t width) { return width >= 16384 ? 1 : 1 + 16384 / (width + 1); }

/* Sum over a row in four vectors, so that the additions overlap: V is the term for the vector a. */
#define ROW_SUM(RESULT, X, WIDTH, V)                                   \
  do {                                                                 \
    vf s[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};            \
    int64_t i_ = 0;                                                    \
    for (; i_ + 4 * VW <= (WIDTH); i_ += 4 * VW)                       \
      for (int j_ = 0; j_ < 4; j_++) {                                 \
        vf a = vf_load((X) + i_ + j_ * VW);                            \
        s[j_] = vf_add(s[j_], V);                                      \
      }                                                                \
    for (; i_ + VW <= (WIDTH); i_ += VW) {                             \
      vf a = vf_load((X) + i_);                                        \
      s[0] = vf_add(s[0], V);                                          \
    }                                                                  \
    RESULT = vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3])));   \
    if (i_ < (WIDTH)) {                                                \
      float rest_[VW];                                                 \
      vf a = vf_load_n((X) + i_, (int)((WIDTH) - i_));                 \
      vf_store(rest_, V);                                              \
      for (int j_ = 0; j_ < (int)((WIDTH) - i_); j_++) RESULT += rest_[j_]; \
    }                                                                  \
  } while (0)

static void add_row(float *x, const float *y, int64_t width) {
  int64_t i = 0;
  for (; i + VW <= width; i += VW) vf_store(x + i, vf_add(vf_load(x + i), vf_load(y + i)));
  for (; i < width; i++) x[i] += y[i];
}

static void rms_row(const float *x, const float *weight, float *out, int64_t width, float eps) {
  float sum;
  ROW_SUM(sum, x, width, vf_mul(a, a));
  float inverse = 1.f / sqrtf(sum / (float)width + eps);
  vf scale = vf_set1(inverse);
  int64_t i = 0;
  for (; i + VW <= width; i += VW)
    vf_store(out + i, vf_mul(vf_mul(vf_load(x + i), scale), vf_load(weight + i)));
  for (; i < width; i++) out[i] = x[i] * inverse * weight[i];
}

static void rms_range(void *ctx, int64_t lo, int64_t hi) {
  const rows *r = ctx;
  for (int64_t i = lo; i < hi; i++) {
    float *x = r->x + i * r->width;
    if (r->y) add_row(x, r->y + i * r->width, r->width);
    rms_row(x, r->weight, r->out + i * r->width, r->width, r->eps);
  }
}

NUMR_EXPORT void numr_rms_norm(float *x, const float *weight, float *out, int64_t n, int64_t width, float eps) {
  rows r = {x, NULL, weight, NULL, out, width, eps};
  numr_parallel_for(n, rows_grain(width), rms_range, &r);
}

NUMR_EXPORT void numr_add_rms_norm(float *x, const float *y, const float *weight, float *out, int64_t n,
                                   int64_t width, float eps) {
  rows r = {x, y, weight, NULL, out, width, eps};
  numr_parallel_for(n, rows_grain(width), rms_range, &r);
}

static void layer_row(const float *x, const rows *r, float *out) {
  float sum, square;
  int64_t width = r->width, i = 0;
  ROW_SUM(sum, x, width, a);
  float mean = sum / (float)width;
  vf m = vf_set1(mean);
  ROW_SUM(square, x, width, vf_mul(vf_sub(a, m), vf_sub(a, m)));
  float inverse = 1.f / sqrtf(square / (float)width + r->eps);
  vf scale = vf_set1(inverse);
  for (; i + VW <= width; i += VW) {
    vf v = vf_mul(vf_mul(vf_sub(vf_load(x + i), m), scale), vf_load(r->weight + i));
    vf_store(out + i, r->bias ? vf_add(v, vf_load(r->bias + i)) : v);
  }
  for (; i < width; i++) out[i] = (x[i] - mean) * inverse * r->weight[i] + (r->bias ? r->bias[i] : 0.f);
}

static void layer_range(void *ctx, int64_t lo, int64_t hi) {
  const rows *r = ctx;
  for (int64_t i = lo; i < hi; i++) layer_row(r->x + i * r->width, r, r->out + i * r->width);
}

NUMR_EXPORT void numr_layer_norm(float *x, const float *weight, const float *bias, float *out, int64_t n,
                                 int64_t width, float eps) {
  rows r = {x, NULL, weight, bias, out, width, eps};
  numr_parallel_for(n, rows_grain(width), layer_range, &r);
}

/* NaN may get lost in the maximum, but not in exp(x - maximum), and so not in the sum. */
static void softmax_row(const float *x, float *out, int64_t width) {
  vf top = vf_set1(-INFINITY), total = vf_zero();
  int64_t i = 0;
  for (; i + VW <= width; i += VW) top = vf_max(top, vf_load(x + i));
  float most = vf_most(top);
  for (int64_t j = i; j < width; j++) most = x[j] > most ? x[j] : most;
  top = vf_set1(most);
  for (i = 0; i + VW <= width; i += VW) {
    vf e = vf_exp(vf_sub(vf_load(x + i), top));
    total = vf_add(total, e);
    vf_store(out + i, e);
  }
  float sum = vf_sum(total);
  if (i < width) {
    int n = (int)(width - i);
    vf_store_n(out + i, vf_exp(vf_sub(vf_load_n(x + i, n), top)), n);
    for (int64_t j = i; j < width; j++) sum += out[j];
  }
  vf scale = vf_set1(1.f / sum);
  for (i = 0; i + VW <= width; i += VW) vf_store(out + i, vf_mul(vf_load(out + i), scale));
  for (; i < width; i++) out[i] *= 1.f / sum;
}

static void softmax_range(void *ctx, int64_t lo, int64_t hi) {
  const rows *r = ctx;
  for (int64_t i = lo; i < hi; i++) softmax_row(r->x + i * r->width, r->out + i * r->width, r->width);
}

NUMR_EXPORT void numr_softmax(float *x, float *out, int64_t n, int64_t width) {
  rows r = {x, NULL, NULL, NULL, out, width, 0.f};
  numr_parallel_for(n, rows_grain(width / 4), softmax_range, &r);
}

typedef struct {
  float *x;
  const int64_t *positions;
  const float *cos, *sin;
  int64_t heads, head_dim, half;
  int interleaved;
} rotation;

static void rotate_halves(float *x, const float *c, const float *s, int64_t half) {
  float *y = x + half;
  int64_t i = 0;
  for (; i + VW <= half; i += VW) {
    vf a = vf_load(x + i), b = vf_load(y + i), cv = vf_load(c + i), sv = vf_load(s + i);
    vf_store(x + i, vf_fnma(b, sv, vf_mul(a, cv)));
    vf_store(y + i, vf_fma(b, cv, vf_mul(a, sv)));
  }
  for (; i < half; i++) {
    float a = x[i], b = y[i];
    x[i] = a * c[i] - b * s[i];
    y[i] = a * s[i] + b * c[i];
  }
}

static void rotate_pairs(float *restrict x, const float *restrict c, const float *restrict s, int64_t half) {
  for (int64_t i = 0; i < half; i++) {
    float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * c[i] - b * s[i];
    x[2 * i + 1] = a * s[i] + b * c[i];
  }
}

static void rope_range(void *ctx, int64_t lo, int64_t hi) {
  const rotation *r = ctx;
  for (int64_t i = lo; i < hi; i++) {
    const float *c = r->cos + r->positions[i] * r->half, *s = r->sin + r->positions[i] * r->half;
    float *x = r->x + i * r->heads * r->head_dim;
    for (int64_t h = 0; h < r->heads; h++, x += r->head_dim) {
      if (r->interleaved) rotate_pairs(x, c, s, r->half);
      else rotate_halves(x, c, s, r->half);
    }
  }
}

/* Returns 1, and changes nothing, where a position lies outside the tables of `known` positions. */
NUMR_EXPORT int numr_rope(float *x, const int64_t *positions, const float *cos, const float *sin, int64_t n,
                          int64_t heads, int64_t head_dim, int64_t half, int64_t known, int interleaved) {
  for (int64_t i = 0; i < n; i++)
    if (positions[i] < 0 || positions[i] >= known) return 1;
  rotation r = {x, positions, cos, sin, heads, head_dim, half, interleaved};
  numr_parallel_for(n, rows_grain(heads * head_dim), rope_range, &r);
  return 0;
}
