/* Checks every type that has kernels: dequantization against digests of the NumPy reference (types.h), products against
   sums in double precision of what was dequantized, with odd shapes, unaligned weights, zero, infinite and NaN scales.
   Needs no Python, so it runs under emulators, and under sanitizers (sanitize.py beside it). One command makes it:

       cc -std=gnu11 -O1 -pthread -I <numr/native/src> check.c <libboostr-level.so> <libnumr-level.so> -lm -o check

   Weights end where their memory ends, so that a sanitizer sees a read beyond. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numr_runtime.h"

enum { DIGESTED = 64, MOST_WEIGHTS = 8, UNKNOWN_TYPE = 1, BAD_ROW = 3, MXFP4 = 39 };

typedef struct {
  const char *name;
  int64_t id, block, bytes;
  uint64_t digest;
} kind;

static const kind kinds[] = {
    {"F32", 0, 1, 4, 0},
    {"F16", 1, 1, 2, 0},
    {"BF16", 30, 1, 2, 0},
#include "types.h"
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct { int64_t id; const uint8_t *w; int64_t rows, bits; } weight;
typedef struct { int64_t count, columns; weight weights[MOST_WEIGHTS]; } product;

int boostr_bind(const numr_runtime *);
void numr_set_threads(int);
int boostr_rounding(int64_t);
int boostr_widen(int64_t, const uint8_t *, const int64_t *, int64_t, int64_t, int64_t, float *);
int boostr_round_trip(int, int, const float *, int64_t, int64_t, float *);
int boostr_product(const product *, const float *, int64_t, float *);
__attribute__((weak)) int boostr_tiles(int64_t);
__attribute__((weak)) int boostr_product_tiled(const product *, const float *, int64_t, float *);

static int failures, checks;

static void expect(int good, const kind *of, const char *what, int64_t a, int64_t b) {
  checks++;
  if (good) return;
  failures++;
  if (failures < 30) printf("FAILED: %s: %s (%lld, %lld)\n", of->name, what, (long long)a, (long long)b);
}

/* ---- weights ---- */

static uint8_t noise(uint64_t i) { /* as in write_types.py */
  uint64_t x = i * 0x9e3779b97f4a7c15u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return (uint8_t)x;
}

/* What the bytes of blocks are. HALF_INF and HALF_NAN put such halves wherever a type may keep its scale. */
enum fill { NOISE, ZEROS, ONES, HALF_INF, HALF_NAN, FILLS };

static void fill(uint8_t *p, int64_t n, enum fill how, uint64_t seed) {
  for (int64_t i = 0; i < n; i++) {
    uint8_t half[2] = {0, how == HALF_INF ? 0x7c : 0x7e};
    p[i] = how == NOISE ? noise(seed + (uint64_t)i) : how == ZEROS ? 0 : how == ONES ? 0xff : half[i % 2];
  }
}

/* Memory that ends with its n bytes and, unless it holds plain numbers, begins at an odd address; what to free in
   *whole. */
static uint8_t *memory_for(const kind *of, int64_t n, uint8_t **whole) {
  *whole = malloc((size_t)n + 1);
  return of->block == 1 ? (*whole = realloc(*whole, (size_t)n)) : *whole + 1;
}

/* ---- dequantization ---- */

static void check_digest(const kind *of) {
  uint8_t *whole, *w = memory_for(of, DIGESTED * of->bytes, &whole);
  int64_t n = DIGESTED * of->block;
  float *out = malloc((size_t)n * sizeof *out);
  uint64_t sum = 0;
  fill(w, DIGESTED * of->bytes, NOISE, 0);
  expect(!boostr_widen(of->id, w, NULL, 1, 1, n, out), of, "widen", n, 0);
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, out + i, 4);
    uint64_t canonical = (bits & 0x7fffffff) == 0 ? 0 : (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
    sum += (canonical + 1) * (uint64_t)(2 * i + 1);
  }
  expect(!of->digest || sum == of->digest, of, "dequantization differs from the reference", 0, 0);
  free(whole), free(out);
}

static void check_rows(const kind *of) { /* chosen rows, and such that are not there */
  enum { ROWS = 5, COLUMNS = 256 };
  int64_t bytes = COLUMNS / of->block * of->bytes, ids[3] = {4, 0, 4}, beyond[2] = {0, ROWS}, before[2] = {0, -1};
  uint8_t *whole, *w = memory_for(of, ROWS * bytes, &whole);
  float all[ROWS * COLUMNS], some[3 * COLUMNS];
  fill(w, ROWS * bytes, NOISE, 7);
  expect(!boostr_widen(of->id, w, NULL, ROWS, ROWS, COLUMNS, all), of, "widen", ROWS, COLUMNS);
  expect(!boostr_widen(of->id, w, ids, 3, ROWS, COLUMNS, some), of, "widen of chosen rows", 3, COLUMNS);
  for (int i = 0; i < 3; i++)
    expect(!memcmp(some + i * COLUMNS, all + ids[i] * COLUMNS, COLUMNS * 4), of, "a chosen row", i, ids[i]);
  expect(boostr_widen(of->id, w, beyond, 2, ROWS, COLUMNS, some) == BAD_ROW, of, "a row beyond", ROWS, 0);
  expect(boostr_widen(of->id, w, before, 2, ROWS, COLUMNS, some) == BAD_ROW, of, "a row before", -1, 0);
  if (of->block > 1) expect(boostr_widen(of->id, w, NULL, 1, 1, 1, some) == UNKNOWN_TYPE, of, "a part of a block", 1, 0);
  free(whole);
}

/* ---- products ---- */

/* Tokens in -2 .. 2; every seventh is zero, every eleventh holds an infinity. */
static float *activations(int64_t m, int64_t columns) {
  float *x = malloc((size_t)(m * columns) * sizeof *x);
  for (int64_t t = 0; t < m; t++)
    for (int64_t i = 0; i < columns; i++) {
      uint64_t at = (uint64_t)(2 * (t * columns + i));
      float value = (float)(noise(at) * 256 + noise(at + 1) - 32768) / 16384;
      x[t * columns + i] = t % 7 == 6 ? 0 : t % 11 == 10 && i == columns / 2 ? INFINITY : value;
    }
  return x;
}

static int close_to(float got, const float *x, const float *w, int64_t columns, double bound) {
  double sum = 0, size = 0;
  for (int64_t i = 0; i < columns; i++) {
    sum += (double)x[i] * w[i];
    size += fabs((double)x[i] * w[i]);
  }
  if (!isfinite(sum)) return !isfinite(got);
  if (size > 1e37) return 1; /* float sums may overflow on the way */
  return fabs(got - sum) <= bound * size + 1e-30;
}

static int all_close(const float *y, const float *x, const float *w, int64_t m, int64_t rows, int64_t columns, double bound) {
  for (int64_t i = 0; i < m * rows; i++)
    if (!close_to(y[i], x + i / rows * columns, w + i % rows * columns, columns, bound)) return 0;
  return 1;
}

static int same_numbers(const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (memcmp(a + i, b + i, 4) && !(isnan(a[i]) && isnan(b[i]))) return 0;
  return 1;
}

/* Keeps weights within float32: MXFP4's greatest scales leave it, while a product of integers may still hold the sum. */
static void keep_finite(const kind *of, uint8_t *w, int64_t blocks) {
  for (int64_t b = 0; b < blocks && of->id == MXFP4; b++)
    if (w[b * of->bytes] > 250) w[b * of->bytes] = 250;
}

/* m tokens times a weight: near the sum over what the product is said to see of them, and the same bits one by one. */
static void check_product(const kind *of, int bits, enum fill how, int64_t rows, int64_t blocks, int64_t m) {
  int64_t columns = blocks * of->block, bytes = blocks * of->bytes;
  uint8_t *whole, *w = memory_for(of, rows * bytes, &whole);
  float *x = activations(m, columns), *seen = activations(m, columns);
  float *floats = malloc((size_t)(rows * columns) * sizeof *floats), *y = malloc((size_t)(m * rows) * sizeof *y);
  float *other = malloc((size_t)(m * rows) * sizeof *other);
  product p = {1, columns, {{of->id, w, rows, bits}}};
  fill(w, rows * bytes, how, (uint64_t)(rows * 31 + blocks));
  keep_finite(of, w, rows * blocks);
  expect(!bits || !boostr_round_trip(boostr_rounding(of->id), bits, x, m, columns, seen), of, "round trip", bits, m);
  expect(!boostr_widen(of->id, w, NULL, rows, rows, columns, floats), of, "widen", rows, columns);
  expect(!boostr_product(&p, x, m, y), of, "product", bits, m);
  expect(all_close(y, seen, floats, m, rows, columns, 2e-5), of, "a product is wrong (bits, tokens)", bits, m);
  for (int64_t t = 0; t < m && bits; t++) {
    expect(!boostr_product(&p, x + t * columns, 1, other), of, "product of one", bits, t);
    expect(same_numbers(other, y + t * rows, rows), of, "a token depends on its company (bits, token)", bits, t);
  }
  if (bits && boostr_tiles && boostr_tiles(of->id)) { /* which may round in other blocks */
    expect(!boostr_product_tiled(&p, x, m, other), of, "tiled product", bits, m);
    expect(all_close(other, x, floats, m, rows, columns, bits == 8 ? 2e-2 : 1e-4), of, "a tiled product is wrong", bits, m);
  }
  free(whole), free(x), free(seen), free(floats), free(y), free(other);
}

static void check_kind(const kind *of) {
  static const int64_t tokens[] = {1, 2, 3, 4, 5, 8, 9, 17}, shapes[][2] = {{1, 1}, {3, 2}, {5, 3}, {7, 18}, {17, 5}};
  static const int all_bits[] = {8, 16, 0};
  check_digest(of);
  check_rows(of);
  for (int b = boostr_rounding(of->id) ? 0 : 2; b < 3; b++) {
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (unsigned t = 0; t < sizeof tokens / sizeof *tokens; t++)
        check_product(of, all_bits[b], NOISE, shapes[s][0], shapes[s][1], tokens[t]);
    for (enum fill how = ZEROS; how < FILLS; how++) check_product(of, all_bits[b], how, 3, 3, 5);
  }
}

/* A group of weights of several types and all widths of activations gives what its members give. */
static void check_group(int first) {
  enum { COLUMNS = 512, M = 3 };
  product p = {0, COLUMNS, {{0}}};
  uint8_t *wholes[MOST_WEIGHTS];
  float *x = activations(M, COLUMNS), y[M * 64], alone[M * 8];
  int64_t before = 0;
  for (int i = first; i < KINDS && p.count < MOST_WEIGHTS; i++) {
    int64_t rows = 1 + p.count % 7, bytes = COLUMNS / kinds[i].block * kinds[i].bytes;
    if (boostr_rounding(kinds[i].id) < 0) continue;
    uint8_t *w = memory_for(kinds + i, rows * bytes, wholes + p.count);
    fill(w, rows * bytes, NOISE, (uint64_t)i);
    p.weights[p.count++] = (weight){kinds[i].id, w, rows, p.count % 3 * 8};
  }
  expect(!boostr_product(&p, x, M, y), kinds + first, "a group", p.count, 0);
  for (int i = 0; i < p.count; i++) {
    product one = {1, COLUMNS, {p.weights[i]}};
    int64_t rows = p.weights[i].rows;
    expect(!boostr_product(&one, x, M, alone), kinds + first, "a member", i, 0);
    expect(!memcmp(alone, y + M * before, (size_t)(M * rows) * 4), kinds + first, "a member of a group", i, rows);
    before += rows;
    free(wholes[i]);
  }
  free(x);
}

int main(void) {
  int with_kernels = 0;
  numr_set_threads(3);
  if (boostr_bind(numr_runtime_get())) return 2;
  for (int i = 0; i < KINDS; i++) {
    if (boostr_rounding(kinds[i].id) < 0) continue;
    with_kernels++;
    check_kind(kinds + i);
    check_group(i);
  }
  printf("%d types, %d checks, %d failed\n", with_kernels, checks, failures);
  return failures ? 1 : 0;
}
