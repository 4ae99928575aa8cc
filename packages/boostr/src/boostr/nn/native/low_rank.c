/* Low-rank updates of some rows of a product: y[row] += (scale * x[row] A') B'.

   Every sum goes in one order, whatever tile it is computed in, so a row's result does not depend on its company. */
#include "runtime.h"
#include "simd.h"

#define OUT_OF_MEMORY 2
#define TILE 4        /* rows, and rows of A, that share their loads */
#define COLUMNS 256   /* of y in one work item */
#define SMALL 32768   /* multiplications below which other threads do not pay */
#define SLOT 3        /* scratch of the caller */

typedef struct {
  int64_t in, out, rank;
  const float *a; /* [rank][in] */
  const float *b; /* [rank][out]: B transposed */
  double scale;
} low_rank;

typedef struct {
  const low_rank *update;
  const float *x;
  float *y, *inner;   /* inner: [count][rank] */
  const int64_t *rows; /* of x and y; none: `count` rows from `first` */
  int64_t first, count, per_tile; /* work items of a tile of rows */
} job;

static int64_t row_of(const job *j, int64_t i) { return j->rows ? j->rows[i] : j->first + i; }

INLINE void dots(const float *const *x, int nx, const float *a, int na, int64_t n, float scale, float *out, int64_t stride) {
  vf sums[TILE][TILE];
  for (int r = 0; r < nx; r++)
    for (int k = 0; k < na; k++) sums[r][k] = vf_zero();
  int64_t i = 0;
  for (; i + VW <= n; i += VW) {
    vf some[TILE];
    for (int k = 0; k < na; k++) some[k] = vf_load(a + k * n + i);
    for (int r = 0; r < nx; r++)
      for (int k = 0; k < na; k++) sums[r][k] = vf_fma(vf_load(x[r] + i), some[k], sums[r][k]);
  }
  int rest = (int)(n - i);
  for (int r = 0; rest && r < nx; r++)
    for (int k = 0; k < na; k++)
      sums[r][k] = vf_fma(vf_load_n(x[r] + i, rest), vf_load_n(a + k * n + i, rest), sums[r][k]);
  for (int r = 0; r < nx; r++)
    for (int k = 0; k < na; k++) out[r * stride + k] = scale * vf_sum(sums[r][k]);
}

static void shrink(void *ctx, int64_t lo, int64_t hi) {
  const job *j = ctx;
  const low_rank *u = j->update;
  for (int64_t item = lo; item < hi; item++) {
    int64_t row = item / j->per_tile * TILE, k = item % j->per_tile * TILE;
    int nx = j->count - row < TILE ? (int)(j->count - row) : TILE, na = u->rank - k < TILE ? (int)(u->rank - k) : TILE;
    const float *x[TILE], *a = u->a + k * u->in;
    for (int r = 0; r < nx; r++) x[r] = j->x + row_of(j, row + r) * u->in;
    float *out = j->inner + row * u->rank + k, scale = (float)u->scale;
    if (nx == TILE && na == TILE) dots(x, TILE, a, TILE, u->in, scale, out, u->rank);
    else if (na == TILE)
      for (int r = 0; r < nx; r++) dots(x + r, 1, a, TILE, u->in, scale, out + r * u->rank, u->rank);
    else
      for (int r = 0; r < nx; r++)
        for (int i = 0; i < na; i++) dots(x + r, 1, a + i * u->in, 1, u->in, scale, out + r * u->rank + i, u->rank);
  }
}

/* `nv` vectors of `lanes` columns each (fewer than VW only with nv = 1) of `ny` rows. */
INLINE void spread(const float *inner, float *const *y, int ny, const low_rank *u, int64_t column, int nv, int lanes) {
  vf sums[TILE][TILE];
  for (int r = 0; r < ny; r++)
    for (int v = 0; v < nv; v++) sums[r][v] = vf_zero();
  for (int64_t k = 0; k < u->rank; k++) {
    const float *b = u->b + k * u->out + column;
    for (int v = 0; v < nv; v++) {
      vf one = lanes == VW ? vf_load(b + v * VW) : vf_load_n(b + v * VW, lanes);
      for (int r = 0; r < ny; r++) sums[r][v] = vf_fma(vf_set1(inner[r * u->rank + k]), one, sums[r][v]);
    }
  }
  for (int r = 0; r < ny; r++)
    for (int v = 0; v < nv; v++) {
      float *at = y[r] + column + v * VW;
      if (lanes == VW) vf_store(at, vf_add(vf_load(at), sums[r][v]));
      else vf_store_n(at, vf_add(vf_load_n(at, lanes), sums[r][v]), lanes);
    }
}

static void widen(void *ctx, int64_t lo, int64_t hi) {
  const job *j = ctx;
  const low_rank *u = j->update;
  for (int64_t item = lo; item < hi; item++) {
    int64_t row = item / j->per_tile * TILE, column = item % j->per_tile * COLUMNS;
    int64_t end = column + COLUMNS < u->out ? column + COLUMNS : u->out;
    int ny = j->count - row < TILE ? (int)(j->count - row) : TILE;
    const float *inner = j->inner + row * u->rank;
    float *y[TILE];
    for (int r = 0; r < ny; r++) y[r] = j->y + row_of(j, row + r) * u->out;
    if (ny == TILE)
      for (; column + 2 * VW <= end; column += 2 * VW) spread(inner, y, TILE, u, column, 2, VW);
    for (int r = 0; r < ny; r++) {
      int64_t at = column;
      for (; at + TILE * VW <= end; at += TILE * VW) spread(inner + r * u->rank, y + r, 1, u, at, TILE, VW);
      for (; at + VW <= end; at += VW) spread(inner + r * u->rank, y + r, 1, u, at, 1, VW);
      if (at < end) spread(inner + r * u->rank, y + r, 1, u, at, 1, (int)(end - at));
    }
  }
}

/* x [..][in], y [..][out]; the rows are those `rows` lists, no row twice, or `count` from `first` where it is 0. */
NUMR_EXPORT int boostr_low_rank(const low_rank *update, const float *x, float *y, const int64_t *rows, int64_t first,
                                int64_t count) {
  const low_rank *u = update;
  float *inner = runtime()->scratch(SLOT, (size_t)(count * u->rank) * sizeof(float));
  if (!inner) return OUT_OF_MEMORY;
  job j = {.update = u, .x = x, .y = y, .inner = inner, .rows = rows, .first = first, .count = count};
  int64_t tiles = (count + TILE - 1) / TILE, height = count < TILE ? count : TILE;
  j.per_tile = (u->rank + TILE - 1) / TILE;
  runtime()->parallel_for(tiles * j.per_tile, SMALL / (height * TILE * u->in) + 1, shrink, &j);
  j.per_tile = (u->out + COLUMNS - 1) / COLUMNS;
  runtime()->parallel_for(tiles * j.per_tile, SMALL / (height * COLUMNS * u->rank) + 1, widen, &j);
  return 0;
}
