/* Products of many rows on integers: sixteen weight rows are interleaved into a tile, which all tokens read.

   A tile holds, for every four (int8) or two (int16) columns, those of its sixteen rows side by side, so that a lane is a
   row: sums need no horizontal step, and a token's activations are one broadcast word. A tile is made once per product,
   which is why this pays from a few dozen tokens on. */
#include <stdatomic.h>

#include "activations.h"
#include "lanes.h"
#include "plan.h"
#include "runtime.h"
#include "unpack.h"

enum { SLOT_TILE = 5, SLOT_TOKENS = 6 }; /* scratch; products.c has the slots below */
enum { STEP = 8 };                         /* tokens whose sums fill the registers */
enum { TILE_BYTES = 1 << 19, MOST_TILES = 32 }; /* made before the tokens pass over them: a core's own cache */

/* Tokens rounded to integers, row by row: `tokens` is a multiple of STEP, the last ones may be zeros. */
typedef struct {
  int8_t *q;     /* tokens x stride bytes: int8, or int16 where wide */
  float *d;      /* tokens x blocks scales: `block` columns share one */
  int32_t *sums; /* tokens x columns / sub sums of q */
  int64_t tokens, columns, stride, blocks;
  int block, sub, wide;
} rounded;

/* A weight, and the tokens rounded as its type reads them. */
typedef struct {
  const unpacking *of;
  const uint8_t *w;
  const rounded *a;
  float *y; /* y[t * rows + r] */
  int64_t rows, columns, row_bytes, tokens;
  atomic_int *failed;
} tiled;

typedef struct {
  int8_t *q;     /* columns * ROWS integers */
  float *scale;  /* for each `sub` columns: ROWS scales */
  float *offset;
} tile;

/* ---- making a tile ---- */

static void interleave(const int8_t (*q)[256], int columns, int wide, int8_t *to) {
  for (int at = 0; at < columns; at += 64) {
    li v[16];
    for (int r = 0; r < ROWS; r++) v[r] = li_load(q[r] + at);
    lanes_transpose(v);
    int words = columns - at < 64 ? (columns - at) / 4 : 16;
    for (int k = 0; k < words; k++) {
      if (wide) li_widen8(v[k], to + (at / 4 + k) * 128, to + (at / 4 + k) * 128 + 64);
      else li_store(to + (at / 4 + k) * 64, li_flip8(v[k]));
    }
  }
}

/* Rows row..row+15 of p; beyond its last row that one again, whose results nobody stores. */
static void make_tile(const tiled *p, int64_t row, tile t) {
  const unpacking *of = p->of;
  int8_t q[ROWS][256];
  float scale[16], offset[16];
  int wide = p->a->wide;
  for (int64_t at = 0; at < p->columns; at += 256) {
    int columns = p->columns - at < 256 ? (int)(p->columns - at) : 256, subs = columns / of->sub;
    int64_t first = at / of->sub;
    for (int r = 0; r < ROWS; r++) {
      int64_t real = row + r < p->rows ? row + r : p->rows - 1;
      const uint8_t *from = p->w + real * p->row_bytes + at / of->block * of->bytes;
      of->unpack(from, columns / of->block, q[r], scale, offset);
      for (int s = 0; s < subs; s++) t.scale[(first + s) * ROWS + r] = scale[s];
      for (int s = 0; s < subs && of->offsets; s++) t.offset[(first + s) * ROWS + r] = offset[s];
    }
    interleave(q, columns, wide, t.q + at * ROWS * (wide ? 2 : 1));
  }
}

/* ---- multiplying ---- */

INLINE li broadcast(const int8_t *p) {
  int32_t word;
  memcpy(&word, p, 4);
  return li_all(word);
}

/* One tile against STEP tokens from t0 on. `sub`, `wide` and `offsets` are constants at every call. */
INLINE void multiply(const tiled *p, tile t, int64_t t0, int64_t row, const int sub, const int wide, const int offsets) {
  const rounded *a = p->a;
  int64_t subs = p->columns / sub, per = a->block / sub;
  const int8_t *q = a->q + t0 * a->stride;
  lf sum[STEP];
  for (int k = 0; k < STEP; k++) sum[k] = lf_all(0.f);
  for (int64_t s = 0; s < subs; s++) {
    li part[STEP];
    const int32_t *bytes_128 = a->sums + t0 * subs + s; /* int8: what adding 128 to every weight adds to the sum */
    for (int k = 0; k < STEP; k++) part[k] = li_all(wide ? 0 : -128 * bytes_128[k * subs]);
    const int8_t *w = t.q + s * sub * ROWS * (wide ? 2 : 1), *x = q + s * sub * (wide ? 2 : 1);
    for (int c = 0; c < sub * (wide ? 2 : 1) / 4; c++) {
      li v = li_load(w + 64 * c);
      for (int k = 0; k < STEP; k++)
        part[k] = wide ? li_dot16(part[k], v, broadcast(x + k * a->stride + 4 * c))
                       : li_dot8(part[k], v, broadcast(x + k * a->stride + 4 * c));
    }
    lf scale = lf_load(t.scale + s * ROWS);
    const float *d = a->d + t0 * a->blocks + s / per;
    for (int k = 0; k < STEP; k++) sum[k] = lf_fma(lf_mul(lf_of(part[k]), lf_all(d[k * a->blocks])), scale, sum[k]);
    if (!offsets) continue;
    lf offset = lf_load(t.offset + s * ROWS);
    for (int k = 0; k < STEP; k++)
      sum[k] = lf_fma(offset, lf_all(d[k * a->blocks] * (float)bytes_128[k * subs]), sum[k]);
  }
  int64_t count = p->tokens - t0 < STEP ? p->tokens - t0 : STEP, lanes = p->rows - row < ROWS ? p->rows - row : ROWS;
  for (int64_t k = 0; k < count; k++) {
    float *to = p->y + (t0 + k) * p->rows + row, all[ROWS];
    lf_store(lanes < ROWS ? all : to, sum[k]);
    if (lanes < ROWS) memcpy(to, all, (size_t)lanes * 4);
  }
}

static void multiply_tile(const tiled *p, tile t, int64_t t0, int64_t row) {
  int kind = (p->of->sub == 16) * 4 + p->a->wide * 2 + p->of->offsets;
  switch (kind) {
  case 0: multiply(p, t, t0, row, 32, 0, 0); break;
  case 1: multiply(p, t, t0, row, 32, 0, 1); break;
  case 2: multiply(p, t, t0, row, 32, 1, 0); break;
  case 3: multiply(p, t, t0, row, 32, 1, 1); break;
  case 4: multiply(p, t, t0, row, 16, 0, 0); break;
  case 5: multiply(p, t, t0, row, 16, 0, 1); break;
  case 6: multiply(p, t, t0, row, 16, 1, 0); break;
  default: multiply(p, t, t0, row, 16, 1, 1);
  }
}

/* Tiles lo..hi of sixteen rows: as many as the cache holds are made, then all tokens pass over them. */
static void run_tiles(void *ctx, int64_t lo, int64_t hi) {
  const tiled *p = ctx;
  int64_t integers = p->columns * ROWS * (p->a->wide ? 2 : 1), scales = p->columns / p->of->sub * ROWS * 4;
  int64_t bytes = integers + 2 * scales, group = TILE_BYTES / bytes + 1;
  if (group > hi - lo) group = hi - lo;
  if (group > MOST_TILES) group = MOST_TILES;
  int8_t *memory = runtime()->scratch(SLOT_TILE, (size_t)(group * bytes));
  if (!memory) {
    atomic_store(p->failed, 1);
    return;
  }
  for (; lo < hi; lo += group) {
    int64_t count = hi - lo < group ? hi - lo : group;
    tile tiles[MOST_TILES];
    for (int64_t g = 0; g < count; g++) {
      int8_t *at = memory + g * bytes;
      tiles[g] = (tile){at, (float *)(at + integers), (float *)(at + integers + scales)};
      make_tile(p, (lo + g) * ROWS, tiles[g]);
    }
    for (int64_t t0 = 0; t0 < p->tokens; t0 += STEP)
      for (int64_t g = 0; g < count; g++) multiply_tile(p, tiles[g], t0, (lo + g) * ROWS);
  }
}

/* ---- rounding the tokens ---- */

typedef struct { const rounded *to; const float *x; int64_t given; } rounding_job;

static void round_token(const rounded *to, const float *x, int64_t t) {
  int64_t per = to->block / to->sub;
  int8_t *q = to->q + t * to->stride;
  int32_t *sums = to->sums + t * to->blocks * per;
  for (int64_t b = 0; b < to->blocks; b++) {
    int16_t whole[256];
    to->d[t * to->blocks + b] = round_block(to->wide ? 16 : 8, x + b * to->block, to->block, whole);
    for (int64_t s = 0; s < per; s++) {
      int32_t sum = 0;
      for (int i = 0; i < to->sub; i++) sum += whole[s * to->sub + i];
      sums[b * per + s] = sum;
    }
    if (to->wide) memcpy(q + b * to->block * 2, whole, (size_t)to->block * 2);
    else
      for (int i = 0; i < to->block; i++) q[b * to->block + i] = (int8_t)whole[i];
  }
}

static void run_rounding(void *ctx, int64_t lo, int64_t hi) {
  const rounding_job *j = ctx;
  const rounded *to = j->to;
  for (int64_t t = lo; t < hi; t++) {
    if (t < j->given) {
      round_token(to, j->x + t * to->columns, t);
      continue;
    }
    memset(to->q + t * to->stride, 0, (size_t)to->stride);
    memset(to->d + t * to->blocks, 0, (size_t)to->blocks * 4);
    memset(to->sums + t * (to->columns / to->sub), 0, (size_t)(to->columns / to->sub) * 4);
  }
}

/* Rounds m rows of x as `of` reads them into scratch memory. */
static int round_tokens(rounded *r, const unpacking *of, int wide, const float *x, int64_t m, int64_t columns) {
  int64_t tokens = (m + STEP - 1) / STEP * STEP, stride = (columns * (wide ? 2 : 1) + 63) / 64 * 64;
  int64_t scales = tokens * (columns / of->block) * 4, sums = tokens * (columns / of->sub) * 4;
  int8_t *memory = runtime()->scratch(SLOT_TOKENS, (size_t)(tokens * stride + scales + sums));
  if (!memory) return OUT_OF_MEMORY;
  *r = (rounded){
      .q = memory,
      .d = (float *)(memory + tokens * stride),
      .sums = (int32_t *)(memory + tokens * stride + scales),
      .tokens = tokens,
      .columns = columns,
      .stride = stride,
      .blocks = columns / of->block,
      .block = of->block,
      .sub = of->sub,
      .wide = wide,
  };
  rounding_job j = {r, x, m};
  runtime()->parallel_for(tokens, 1 + 16384 / columns, run_rounding, &j);
  return OK;
}

/* Whether weights of the type can be interleaved. */
NUMR_EXPORT int boostr_tiles(int64_t id) { return unpacking_of(id).unpack != NULL; }

/* As boostr_product, for many rows and weights that all have rounded activations. */
NUMR_EXPORT int boostr_product_tiled(const product *of, const float *x, int64_t m, float *y) {
  rounded tokens = {.block = 0};
  atomic_int failed = 0;
  if (of->count < 1 || of->count > MAX_PARTS || of->columns < 1) return UNKNOWN_TYPE;
  for (int64_t i = 0; i < of->count; i++) {
    const weight *w = of->weights + i;
    const unpacking how = unpacking_of(w->id);
    if (!how.unpack || of->columns % how.block || (w->bits != 8 && w->bits != 16)) return UNKNOWN_TYPE;
    int wide = w->bits == 16;
    if (tokens.block != how.block || tokens.sub != how.sub || tokens.wide != wide) {
      int status = round_tokens(&tokens, &how, wide, x, m, of->columns);
      if (status != OK) return status;
    }
    tiled p = {&how, w->w, &tokens, y, w->rows, of->columns, of->columns / how.block * how.bytes, m, &failed};
    runtime()->parallel_for((w->rows + ROWS - 1) / ROWS, 1, run_tiles, &p);
    y += m * w->rows;
  }
  return atomic_load(&failed) ? OUT_OF_MEMORY : OK;
}
