/* 16 bytes in plain C, for any processor whose float vectors hold 4 lanes. Included by ints.h. */
#if VW != 4
#error "plain integers go with four float lanes"
#endif
typedef struct { int8_t of[16]; } vb;
typedef struct { int32_t of[4]; } vs;
typedef struct { int16_t of[8]; } vw;
typedef int32_t scale_t;
typedef struct { int32_t of[16]; } scales_t;

INLINE vb vb_load(const void *p) {
  vb v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE vb vb_load16(const uint8_t *p, int64_t stride, int n) {
  (void)stride, (void)n;
  return vb_load(p);
}
INLINE vb vb_low(vb v) {
  for (int i = 0; i < 16; i++) v.of[i] = v.of[i] & 15;
  return v;
}
INLINE vb vb_high(vb v) {
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)((uint8_t)v.of[i] >> 4);
  return v;
}

INLINE vb vb_or(vb a, vb b) {
  for (int i = 0; i < 16; i++) a.of[i] |= b.of[i];
  return a;
}
INLINE vb vb_bits16(const uint8_t *p, int64_t stride, int n) {
  vb v;
  (void)stride, (void)n;
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)((p[i / 8] >> i % 8 & 1) << 4);
  return v;
}

INLINE vw vw_load(const void *p) {
  vw v;
  memcpy(&v, p, sizeof v);
  return v;
}
INLINE vw vw_even(vb v, const int is_signed) {
  vw w;
  (void)is_signed;
  for (int i = 0; i < 8; i++) w.of[i] = v.of[2 * i];
  return w;
}
INLINE vw vw_odd(vb v, const int is_signed) {
  vw w;
  (void)is_signed;
  for (int i = 0; i < 8; i++) w.of[i] = v.of[2 * i + 1];
  return w;
}
INLINE vw vw_scaled(vw w, scale_t scale) {
  for (int i = 0; i < 8; i++) w.of[i] = (int16_t)(w.of[i] * scale);
  return w;
}
INLINE vw vw_even_scaled(vb v, scale_t scale, const int is_signed) { return vw_scaled(vw_even(v, is_signed), scale); }
INLINE vw vw_odd_scaled(vb v, scale_t scale, const int is_signed) { return vw_scaled(vw_odd(v, is_signed), scale); }

INLINE vs vs_zero(void) { return (vs){{0, 0, 0, 0}}; }
INLINE vf vs_float(vs v) {
  float each[4];
  for (int i = 0; i < 4; i++) each[i] = (float)v.of[i];
  return vf_load(each);
}
INLINE vs vs_begin_s8(const int32_t *correction) {
  (void)correction;
  return vs_zero();
}
INLINE vs vs_dot16(vs sum, vw w, vw a) {
  for (int i = 0; i < 4; i++) sum.of[i] += w.of[2 * i] * a.of[2 * i] + w.of[2 * i + 1] * a.of[2 * i + 1];
  return sum;
}
INLINE vs vs_dot_scaled(vs sum, vb u, vb a, scale_t scale) {
  for (int i = 0; i < 4; i++) {
    int32_t four = 0;
    for (int k = 4 * i; k < 4 * i + 4; k++) four += (int16_t)u.of[k] * (int16_t)a.of[k];
    sum.of[i] += scale * four;
  }
  return sum;
}
INLINE vs vs_dot_s8(vs sum, vb w, vb a) { return vs_dot_scaled(sum, w, a, 1); }
INLINE vs vs_dot_u7(vs sum, vb u, vb a) { return vs_dot_scaled(sum, u, a, 1); }
INLINE vs vs_dot_scaled_s8(vs sum, vb w, vb a, scale_t scale) { return vs_dot_scaled(sum, w, a, scale); }

INLINE vf vf_spread(vf s, int k) {
  float each[4];
  vf_store(each, s);
  return vf_set1(each[k]);
}
INLINE void vh_gather2(const uint8_t *p, int stride, int n, vf *first, vf *second) {
  uint16_t a[4] = {0}, b[4] = {0};
  for (int i = 0; i < 4 && i < n; i++) {
    memcpy(a + i, p + i * stride, 2);
    memcpy(b + i, p + i * stride + 2, 2);
  }
  *first = vh_load(a);
  *second = vh_load(b);
}

INLINE vf vbf_load(const uint16_t *p) { /* bfloat16 */
  uint32_t bits[4];
  for (int i = 0; i < 4; i++) bits[i] = (uint32_t)p[i] << 16;
  vf v;
  memcpy(&v, bits, sizeof v);
  return v;
}

INLINE int signed_byte(uint64_t lo, uint64_t hi, int i) { return (int8_t)((i < 8 ? lo : hi) >> 8 * (i % 8)); }
INLINE scales_t scales_s8x16(uint64_t lo, uint64_t hi) {
  scales_t out;
  for (int i = 0; i < 16; i++) out.of[i] = signed_byte(lo, hi, i);
  return out;
}
INLINE scales_t scales_s8x8(uint64_t s) { return scales_s8x16(s, 0); }
INLINE vf vf_s8(uint64_t lo, uint64_t hi, int i) {
  float each[4];
  for (int k = 0; k < 4; k++) each[k] = (float)signed_byte(lo, hi, 4 * i + k);
  return vf_load(each);
}
INLINE scales_t scales_for_even(scales_t s, const int is_signed) {
  (void)is_signed;
  return s;
}
INLINE scales_t scales_for_odd(scales_t s, const int is_signed) { return scales_for_even(s, is_signed); }
INLINE scale_t scales_pick8(scales_t s, int j) { return s.of[j / 2]; }
INLINE scale_t scales_pick16(scales_t s, int j) { return s.of[j]; }

INLINE vb vk_nibbles(const uint8_t *q, int j) {
  vb v = vb_load(q + 32 * (j / 4) + 16 * (j % 2));
  return j / 2 % 2 ? vb_high(v) : vb_low(v);
}
INLINE vb vk_six(const uint8_t *low, const uint8_t *high, int j) { /* half j / 8, group c of 32, its 16 bytes j % 2 */
  int c = j / 2 % 4;
  const uint8_t *l = low + 64 * (j / 8) + 32 * (c % 2) + 16 * (j % 2), *h = high + 32 * (j / 8) + 16 * (j % 2);
  vb v;
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)((l[i] >> 4 * (c / 2) & 15) | (h[i] >> 2 * c & 3) << 4);
  return v;
}
INLINE vb vk_two(const uint8_t *q, int j) { /* half j / 8, plane j / 2 % 4 */
  vb v;
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)(q[32 * (j / 8) + 16 * (j % 2) + i] >> 2 * (j / 2 % 4) & 3);
  return v;
}
INLINE vb vk_bit(const uint8_t *q, int j, int to) {
  vb v;
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)((q[16 * (j % 2) + i] >> j / 2 & 1) << to);
  return v;
}
INLINE vf vk_minima(uint64_t minima, const int16_t *sums) {
  vs each = vs_zero();
  for (int i = 0; i < 8; i++) each.of[i / 2] += (int32_t)(minima >> 8 * i & 255) * sums[i];
  return vs_float(each);
}
INLINE vs vs_offset16(const int8_t *scales, const int16_t *sums) {
  vs each = vs_zero();
  for (int i = 0; i < 16; i++) each.of[i / 4] -= 32 * scales[i] * sums[i];
  return each;
}

INLINE uint64_t point_of(const uint64_t *grid, uint64_t low, uint64_t high, const int each, int k) {
  return grid[(low >> 8 * k & 255) | (high >> each * k & ((1u << each) - 1)) << 8];
}
INLINE uint64_t top_sevens(const uint8_t *codes) { return (uint64_t)(codes[1] >> 1) | (uint64_t)(codes[3] >> 1) << 8; }
INLINE vf vf_powers(const uint8_t *p, int stride, int n) {
  uint32_t bits[4] = {0};
  for (int i = 0; i < 4 && i < n; i++)
    bits[i] = p[i * stride] < 2 ? 0x200000u << p[i * stride] : (uint32_t)(p[i * stride] - 1) << 23;
  vf v;
  memcpy(&v, bits, sizeof v);
  return v;
}

INLINE vb vb_lookup16(const int8_t table[16], vb v) {
  for (int i = 0; i < 16; i++) v.of[i] = table[v.of[i]];
  return v;
}
INLINE vb vb_points8(const uint64_t *grid, uint64_t low, uint64_t high, const int each) {
  uint64_t both[2] = {point_of(grid, low, high, each, 0), point_of(grid, low, high, each, 1)};
  return vb_load(both);
}
INLINE vb vb_points9(const uint64_t *grid, const uint8_t *codes) {
  uint64_t both[2] = {grid[codes[0] | (codes[1] & 1) << 8], grid[codes[2] | (codes[3] & 1) << 8]};
  return vb_load(both);
}
INLINE vb vb_points4(const uint32_t *grid, const uint8_t *low, uint64_t high) {
  uint32_t four[4];
  for (int k = 0; k < 4; k++) four[k] = grid[low[k] | (high >> k & 1) << 8];
  return vb_load(four);
}
INLINE vb vb_signed(vb v, uint64_t signs, const int bias) {
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)(signs >> i & 1 ? bias - v.of[i] : bias + v.of[i]);
  return v;
}
INLINE vb vb_raised(vb v, uint64_t which) {
  for (int i = 0; i < 16; i++) v.of[i] = (int8_t)(v.of[i] + 2 * (which >> i / 8 & 1));
  return v;
}
INLINE vb vk_nibbles16(const uint8_t *q, int j) { return j % 2 ? vb_high(vb_load(q + 8 * (j - 1))) : vb_low(vb_load(q + 8 * j)); }
#define TRIT 1
INLINE vb vk_trits(const uint8_t *q, const uint8_t *r, int last, int j) {
  static const uint8_t powers[5] = {1, 3, 9, 27, 81};
  vb v;
  for (int i = 0; i < 16; i++) {
    int k = j < 10 ? j / 2 : j < 15 ? j - 10 : i / 4;
    int byte = j < 10 ? q[16 * (j % 2) + i] : j < 15 ? r[i] : last >> 8 * (i % 4) & 255;
    v.of[i] = (int8_t)((byte * powers[k] & 255) * 3 >> 8);
  }
  return v;
}
