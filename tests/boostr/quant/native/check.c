/* Checks boostr's products over every type of weights and activations against sums in double precision, without Python:
   for emulators.

       cc -std=gnu11 -O1 -pthread -I <numr/native/src> check.c <libboostr-level.so> <libnumr-level.so> -lm -o check

   Blocks are random bytes, drawn again until their weights are of a sane size. What a product must be is the sum over
   what the library itself dequantizes and rounds activations to; goldens for those two are the Python tests' business,
   but their bits are hashed into the last line, which must be the same on every processor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numr_runtime.h"

typedef struct {
  int64_t count, columns;
  struct {
    int64_t id;
    const uint8_t *w;
    int64_t rows, bits;
  } weights[8];
} product;

int boostr_bind(const numr_runtime *);
void numr_set_threads(int);
int boostr_product(const product *, const float *, int64_t, float *);
int boostr_rounding(int64_t);
int boostr_widen(int64_t, const uint8_t *, const int64_t *, int64_t, int64_t, int64_t, float *);
int boostr_round_trip(int, int, const float *, int64_t, int64_t, float *);

/* ggml's id, elements and bytes of a block. */
static const struct {
  const char *name;
  int id, block, bytes;
} types[] = {
    {"F32", 0, 1, 4},         {"F16", 1, 1, 2},        {"BF16", 30, 1, 2},      {"Q4_0", 2, 32, 18},
    {"Q4_1", 3, 32, 20},      {"Q5_0", 6, 32, 22},     {"Q5_1", 7, 32, 24},     {"Q8_0", 8, 32, 34},
    {"Q2_K", 10, 256, 84},    {"Q3_K", 11, 256, 110},  {"Q4_K", 12, 256, 144},  {"Q5_K", 13, 256, 176},
    {"Q6_K", 14, 256, 210},   {"IQ2_XXS", 16, 256, 66}, {"IQ2_XS", 17, 256, 74}, {"IQ3_XXS", 18, 256, 98},
    {"IQ1_S", 19, 256, 50},   {"IQ4_NL", 20, 32, 18},  {"IQ3_S", 21, 256, 110}, {"IQ2_S", 22, 256, 82},
    {"IQ4_XS", 23, 256, 136}, {"IQ1_M", 29, 256, 56},  {"TQ1_0", 34, 256, 54},  {"TQ2_0", 35, 256, 66},
    {"MXFP4", 39, 32, 17},
};
enum { TYPES = sizeof types / sizeof *types, MOST_ROWS = 17, WEIGHT_ROWS = 13 };

static int failures, checks;
static uint64_t state = 1, hash = 14695981039346656037u;

static void expect(int holds, const char *what, const char *type, int64_t n) {
  checks++;
  if (!holds && ++failures <= 20) printf("FAILED: %s of %s (%lld)\n", what, type, (long long)n);
}

static uint32_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 32);
}

static void hash_floats(const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    hash = (hash ^ bits) * 1099511628211u;
  }
}

/* Fills a block and its floats; false after very many attempts. */
static int draw_block(int id, int block, int bytes, uint8_t *to, float *w) {
  for (int attempt = 0; attempt < 100000; attempt++) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(draw() >> 9);
    if (boostr_widen(id, to, NULL, 1, 1, block, w)) return 0;
    float most = 0;
    int finite = 1;
    for (int i = 0; i < block; i++) {
      finite &= isfinite(w[i]) != 0;
      most = fabsf(w[i]) > most ? fabsf(w[i]) : most;
    }
    if (finite && most > 1e-3f && most < 100.f) return 1;
  }
  return 0;
}

/* seen: the activations as the product sees them. Sums of floats may err by a few units of the terms' sizes. */
static void check_sums(const float *y, const float *w, const float *seen, int64_t m, int64_t columns, const char *type) {
  int wrong = 0;
  for (int64_t r = 0; r < m; r++)
    for (int64_t n = 0; n < WEIGHT_ROWS; n++) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < columns; i++) {
        double term = (double)w[n * columns + i] * seen[r * columns + i];
        sum += term;
        size += fabs(term);
      }
      double off = fabs(y[r * WEIGHT_ROWS + n] - sum);
      if (!(off <= 3e-6 * size + 1e-30) && !wrong++)
        printf("  row %lld, %lld: got %.9g, expected %.9g, terms %g\n", (long long)r, (long long)n, y[r * WEIGHT_ROWS + n], sum, size);
    }
  expect(!wrong, "a product", type, columns);
}

static void check_rounding(const float *x, const float *seen, int block, int bits, int64_t columns, const char *type) {
  int wrong = 0;
  for (int64_t b = 0; b < columns; b += block) {
    float most = 0;
    for (int64_t i = b; i < b + block; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    float step = most / (bits == 8 ? 127.f : 16383.f); /* half of it is lost at most; int16 may keep a bit in reserve */
    for (int64_t i = b; i < b + block; i++) wrong += !(fabsf(seen[i] - x[i]) <= 0.51f * step);
  }
  expect(!wrong, "the rounding", type, bits);
}

static void check_products(int t, const uint8_t *blocks, const float *w, const float *x, int64_t columns, int bits) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 9, MOST_ROWS};
  int block = boostr_rounding(types[t].id);
  float *seen = malloc(sizeof *seen * (size_t)(MOST_ROWS * columns));
  float first[2 * MOST_ROWS * WEIGHT_ROWS], y[2 * MOST_ROWS * WEIGHT_ROWS];
  memcpy(seen, x, sizeof *seen * (size_t)(MOST_ROWS * columns));
  if (bits) {
    expect(!boostr_round_trip(block, bits, x, MOST_ROWS, columns, seen), "the code of round_trip", types[t].name, bits);
    for (int64_t r = 0; r < MOST_ROWS; r++)
      check_rounding(x + r * columns, seen + r * columns, block, bits, columns, types[t].name);
    hash_floats(seen, MOST_ROWS * columns);
  }
  product p = {1, columns, {{types[t].id, blocks, WEIGHT_ROWS, bits}, {types[t].id, blocks, WEIGHT_ROWS, bits}}};
  for (int64_t r = 0; r < MOST_ROWS; r++)
    expect(!boostr_product(&p, x + r * columns, 1, first + r * WEIGHT_ROWS), "the code", types[t].name, bits);
  check_sums(first, w, seen, MOST_ROWS, columns, types[t].name);
  p.count = 2; /* a group: the results of one weight follow those of the other */
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t half = (size_t)(rows[i] * WEIGHT_ROWS);
    expect(!boostr_product(&p, x, rows[i], y), "the code of a group", types[t].name, bits);
    expect(!memcmp(y, y + half, half * sizeof *y), "a group", types[t].name, rows[i]);
    if (bits) expect(!memcmp(y, first, half * sizeof *y), "a row in company", types[t].name, rows[i]);
    else check_sums(y, w, seen, rows[i], columns, types[t].name);
  }
  free(seen);
}

static void check_type(int t, int64_t columns) {
  int block = types[t].block, dense = block == 1;
  int64_t n = columns / block, row_bytes = n * types[t].bytes;
  uint8_t *memory = malloc((size_t)(WEIGHT_ROWS * row_bytes + 1)), *blocks = memory + !dense; /* files align to nothing */
  float *w = malloc(sizeof *w * (size_t)(WEIGHT_ROWS * columns)), *x = malloc(sizeof *x * (size_t)(MOST_ROWS * columns));
  float *some = malloc(sizeof *some * (size_t)(3 * columns));
  int drawn = 1;
  for (int64_t i = 0; i < WEIGHT_ROWS * n; i++)
    drawn &= draw_block(types[t].id, block, types[t].bytes, blocks + i * types[t].bytes, w + i * block);
  expect(drawn, "drawing blocks", types[t].name, columns);
  hash_floats(w, WEIGHT_ROWS * columns);
  for (int64_t i = 0; i < MOST_ROWS * columns; i++) x[i] = (float)(int32_t)draw() / (float)(1 << 29);
  memset(x + columns, 0, sizeof *x * (size_t)columns);
  const int64_t ids[] = {WEIGHT_ROWS - 1, 0, 5}, outside[] = {0, WEIGHT_ROWS};
  int same = !boostr_widen(types[t].id, blocks, ids, 3, WEIGHT_ROWS, columns, some);
  for (int i = 0; i < 3; i++) same &= !memcmp(some + i * columns, w + ids[i] * columns, sizeof *w * (size_t)columns);
  expect(same, "rows by their ids", types[t].name, columns);
  expect(boostr_widen(types[t].id, blocks, outside, 2, WEIGHT_ROWS, columns, some) == 3, "an id outside", types[t].name, 0);
  for (int bits = 0; bits <= (dense ? 0 : 16); bits += 8) check_products(t, blocks, w, x, columns, bits);
  free(memory), free(w), free(x), free(some);
}

int main(void) {
  int known = 0;
  numr_set_threads(3);
  if (boostr_bind(numr_runtime_get())) return 2;
  for (int t = 0; t < TYPES; t++) {
    if (boostr_rounding(types[t].id) < 0) continue;
    known++;
    static const int64_t dense[] = {1, 7, 33, 515}, small[] = {32, 96, 1120, 2048}, large[] = {256, 512, 768, 2048};
    for (int i = 0; i < 4; i++) check_type(t, types[t].block == 1 ? dense[i] : types[t].block == 32 ? small[i] : large[i]);
  }
  printf("%d of %d types, bits %016llx: %d checks, %d failed\n", known, TYPES, (unsigned long long)hash, checks, failures);
  return failures ? 1 : 0;
}
