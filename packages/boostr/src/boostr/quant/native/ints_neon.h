/* 16 bytes: Advanced SIMD with the dot-product extension. Included by ints.h, which says what the names mean. */
typedef int8x16_t vb;
typedef int32x4_t vs;
typedef int16x8_t vw;
typedef int32_t scale_t;
typedef struct { int32_t of[16]; } scales_t;

INLINE vb vb_load(const void *p) { return vld1q_s8(p); }
INLINE vb vb_load16(const uint8_t *p, int64_t stride, int n) {
  (void)stride, (void)n;
  return vb_load(p);
}
INLINE vb vb_low(vb v) { return vandq_s8(v, vdupq_n_s8(15)); }
INLINE vb vb_high(vb v) { return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(v), 4)); }

INLINE vb vb_or(vb a, vb b) { return vorrq_s8(a, b); }
INLINE vb vb_bits16(const uint8_t *p, int64_t stride, int n) {
  (void)stride, (void)n;
  const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  uint8x16_t set = vtstq_u8(vcombine_u8(vdup_n_u8(p[0]), vdup_n_u8(p[1])), bit);
  return vreinterpretq_s8_u8(vandq_u8(set, vdupq_n_u8(16)));
}

INLINE vw vw_load(const void *p) { return vreinterpretq_s16_s8(vld1q_s8(p)); }
INLINE vw vw_even(vb v, const int is_signed) {
  int16x8_t words = vreinterpretq_s16_s8(v);
  return is_signed ? vshrq_n_s16(vshlq_n_s16(words, 8), 8) : vandq_s16(words, vdupq_n_s16(255));
}
INLINE vw vw_odd(vb v, const int is_signed) {
  return is_signed ? vshrq_n_s16(vreinterpretq_s16_s8(v), 8) : vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s8(v), 8));
}
INLINE vw vw_even_scaled(vb v, scale_t scale, const int is_signed) {
  return vmulq_n_s16(vw_even(v, is_signed), (int16_t)scale);
}
INLINE vw vw_odd_scaled(vb v, scale_t scale, const int is_signed) {
  return vmulq_n_s16(vw_odd(v, is_signed), (int16_t)scale);
}

INLINE vs vs_zero(void) { return vdupq_n_s32(0); }
INLINE vf vs_float(vs v) { return vcvtq_f32_s32(v); }
INLINE vs vs_begin_s8(const int32_t *correction) {
  (void)correction;
  return vs_zero();
}
INLINE vs vs_dot_u7(vs sum, vb u, vb a) { return vdotq_s32(sum, u, a); }
INLINE vs vs_dot_s8(vs sum, vb w, vb a) { return vdotq_s32(sum, w, a); }
INLINE vs vs_dot16(vs sum, vw w, vw a) {
  return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(w), vget_low_s16(a)), w, a);
}
INLINE vs vs_dot_scaled(vs sum, vb u, vb a, scale_t scale) { return vmlaq_n_s32(sum, vdotq_s32(vs_zero(), u, a), scale); }
INLINE vs vs_dot_scaled_s8(vs sum, vb w, vb a, scale_t scale) { return vs_dot_scaled(sum, w, a, scale); }

INLINE vf vf_spread(vf s, int k) {
  return k == 0 ? vdupq_laneq_f32(s, 0) : k == 1 ? vdupq_laneq_f32(s, 1) : k == 2 ? vdupq_laneq_f32(s, 2) : vdupq_laneq_f32(s, 3);
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

INLINE vf vbf_load(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); } /* bfloat16 */

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
  uint8x16_t l = vld1q_u8(low + 64 * (j / 8) + 32 * (c % 2) + 16 * (j % 2)), h = vld1q_u8(high + 32 * (j / 8) + 16 * (j % 2));
  uint8x16_t nibble = c / 2 ? vshrq_n_u8(l, 4) : vandq_u8(l, vdupq_n_u8(15));
  uint8x16_t tops = c == 0 ? vshlq_n_u8(h, 4) : c == 1 ? vshlq_n_u8(h, 2) : c == 2 ? h : vshrq_n_u8(h, 2);
  return vreinterpretq_s8_u8(vorrq_u8(nibble, vandq_u8(tops, vdupq_n_u8(0x30))));
}
INLINE vb vk_two(const uint8_t *q, int j) { /* half j / 8, plane j / 2 % 4 */
  uint8x16_t v = vld1q_u8(q + 32 * (j / 8) + 16 * (j % 2));
  return vreinterpretq_s8_u8(vandq_u8(vshlq_u8(v, vdupq_n_s8((int8_t)(-2 * (j / 2 % 4)))), vdupq_n_u8(3)));
}
INLINE vb vk_bit(const uint8_t *q, int j, int to) {
  uint8x16_t v = vshlq_u8(vld1q_u8(q + 16 * (j % 2)), vdupq_n_s8((int8_t)(to - j / 2)));
  return vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8((uint8_t)(1 << to))));
}
INLINE vf vk_minima(uint64_t minima, const int16_t *sums) {
  int16x8_t m = vreinterpretq_s16_u16(vmovl_u8(vcreate_u8(minima))), s = vld1q_s16(sums);
  return vs_float(vmlal_high_s16(vmull_s16(vget_low_s16(m), vget_low_s16(s)), m, s));
}
INLINE vs vs_offset16(const int8_t *scales, const int16_t *sums) {
  int8x16_t each = vld1q_s8(scales);
  int16x8_t a = vmovl_s8(vget_low_s8(each)), b = vmovl_high_s8(each), x = vld1q_s16(sums), y = vld1q_s16(sums + 8);
  vs sum = vmlal_high_s16(vmull_s16(vget_low_s16(a), vget_low_s16(x)), a, x);
  sum = vmlal_high_s16(vmlal_s16(sum, vget_low_s16(b), vget_low_s16(y)), b, y);
  return vmulq_n_s32(sum, -32);
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

INLINE vb vb_lookup16(const int8_t table[16], vb v) { return vqtbl1q_s8(vld1q_s8(table), vreinterpretq_u8_s8(v)); }
INLINE vb vb_points8(const uint64_t *grid, uint64_t low, uint64_t high, const int each) {
  return vcombine_s8(vcreate_s8(point_of(grid, low, high, each, 0)), vcreate_s8(point_of(grid, low, high, each, 1)));
}
INLINE vb vb_points9(const uint64_t *grid, const uint8_t *codes) {
  return vcombine_s8(vcreate_s8(grid[codes[0] | (codes[1] & 1) << 8]), vcreate_s8(grid[codes[2] | (codes[3] & 1) << 8]));
}
INLINE vb vb_points4(const uint32_t *grid, const uint8_t *low, uint64_t high) {
  uint64_t each[4];
  for (int k = 0; k < 4; k++) each[k] = grid[low[k] | (high >> k & 1) << 8];
  return vcombine_s8(vcreate_s8(each[0] | each[1] << 32), vcreate_s8(each[2] | each[3] << 32));
}
INLINE vb vb_signed(vb v, uint64_t signs, const int bias) {
  const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  uint8x16_t set = vtstq_u8(vcombine_u8(vdup_n_u8((uint8_t)signs), vdup_n_u8((uint8_t)(signs >> 8))), bit);
  int8x16_t middle = vdupq_n_s8((int8_t)bias);
  return vbslq_s8(set, vsubq_s8(middle, v), vaddq_s8(middle, v));
}
INLINE vb vb_raised(vb v, uint64_t which) {
  uint64_t first = (which & 1) * 0x0202020202020202u, last = (which >> 1 & 1) * 0x0202020202020202u;
  return vaddq_s8(v, vcombine_s8(vcreate_s8(first), vcreate_s8(last)));
}
INLINE vb vk_nibbles16(const uint8_t *q, int j) { return j % 2 ? vb_high(vb_load(q + 8 * (j - 1))) : vb_low(vb_load(q + 8 * j)); }
#define TRIT 1
INLINE vb vk_trits(const uint8_t *q, const uint8_t *r, int last, int j) {
  static const uint8_t powers[5] = {1, 3, 9, 27, 81}, by_fours[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
  uint8x16_t v = j < 10 ? vld1q_u8(q + 16 * (j % 2)) : j < 15 ? vld1q_u8(r) : vreinterpretq_u8_s32(vdupq_n_s32(last));
  v = vmulq_u8(v, j < 15 ? vdupq_n_u8(powers[j < 10 ? j / 2 : j - 10]) : vld1q_u8(by_fours));
  v = vqsubq_u8(v, vdupq_n_u8(1)); /* then the top two bits of the averages are those of 3 v / 4 */
  return vreinterpretq_s8_u8(vshrq_n_u8(vrhaddq_u8(v, vrhaddq_u8(v, vdupq_n_u8(0))), 6));
}
