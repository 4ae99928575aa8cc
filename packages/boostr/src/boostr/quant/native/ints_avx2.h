/* 32 bytes: AVX2 with FMA and F16C. Included by ints.h, which says what the names mean. */
typedef __m256i vb;
typedef __m256i vs;
typedef __m256i vw;
typedef __m256i scale_t;
typedef struct { __m256i first, last; } scales_t; /* eight 16-bit scales each, in both halves */

INLINE __m128i xmm_load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

INLINE vb vb_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE vb vb_load16(const uint8_t *p, int64_t stride, int n) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(xmm_load(p)), xmm_load(p + (n > 1 ? stride : 0)), 1);
}
INLINE vb vb_low(vb v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
INLINE vb vb_high(vb v) { return vb_low(_mm256_srli_epi16(v, 4)); }

INLINE vb vb_or(vb a, vb b) { return _mm256_or_si256(a, b); }
INLINE __m128i word_everywhere(const uint8_t *p) {
  int16_t word;
  memcpy(&word, p, 2);
  return _mm_set1_epi16(word);
}
INLINE vb vb_bits16(const uint8_t *p, int64_t stride, int n) {
  const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
  const __m256i byte = _mm256_set_epi64x(0x0101010101010101, 0, 0x0101010101010101, 0);
  __m256i words = _mm256_set_m128i(word_everywhere(p + (n > 1 ? stride : 0)), word_everywhere(p));
  __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(words, byte), bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

INLINE vw vw_load(const void *p) { return vb_load(p); }
INLINE vw vw_even(vb v, const int is_signed) {
  return is_signed ? _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8) : _mm256_and_si256(v, _mm256_set1_epi16(255));
}
INLINE vw vw_odd(vb v, const int is_signed) { return is_signed ? _mm256_srai_epi16(v, 8) : _mm256_srli_epi16(v, 8); }
INLINE vw vw_even_scaled(vb v, scale_t scale, const int is_signed) {
  if (is_signed) return _mm256_mullo_epi16(vw_even(v, 1), scale);
  return _mm256_maddubs_epi16(v, scale); /* the odd bytes times 0 */
}
INLINE vw vw_odd_scaled(vb v, scale_t scale, const int is_signed) {
  if (is_signed) return _mm256_mullo_epi16(vw_odd(v, 1), scale);
  return _mm256_maddubs_epi16(v, scale);
}

INLINE vs vs_zero(void) { return _mm256_setzero_si256(); }
INLINE vf vs_float(vs v) { return _mm256_cvtepi32_ps(v); }
INLINE vs vs_begin_s8(const int32_t *correction) {
  (void)correction;
  return vs_zero();
}
INLINE vs vs_dot_u7(vs sum, vb u, vb a) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, a), _mm256_set1_epi16(1)));
}
INLINE vs vs_dot_s8(vs sum, vb w, vb a) { /* |w| * (a with w's sign): 128 * 127 * 2 fits 16 bits */
  return vs_dot_u7(sum, _mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
}
INLINE vs vs_dot16(vs sum, vw w, vw a) { return _mm256_add_epi32(sum, _mm256_madd_epi16(w, a)); }
INLINE vs vs_dot_scaled(vs sum, vb u, vb a, scale_t scale) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, a), scale));
}
INLINE vs vs_dot_scaled_s8(vs sum, vb w, vb a, scale_t scale) {
  return vs_dot_scaled(sum, _mm256_abs_epi8(w), _mm256_sign_epi8(a, w), scale);
}

INLINE vf vf_spread(vf s, int k) {
  const __m256i each = _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0);
  return _mm256_permutevar8x32_ps(s, _mm256_add_epi32(each, _mm256_set1_epi32(2 * k)));
}
INLINE int pair_at(const uint8_t *p) {
  int both;
  memcpy(&both, p, 4);
  return both;
}
INLINE void vh_gather2(const uint8_t *p, int stride, int n, vf *first, vf *second) {
  __m256i pairs;
  if (n >= 8) { /* eight loads: the gather instruction is slow on many of these processors */
    const uint8_t *r = p + 4 * stride;
    pairs = _mm256_set_epi32(pair_at(r + 3 * stride), pair_at(r + 2 * stride), pair_at(r + stride), pair_at(r),
                             pair_at(p + 3 * stride), pair_at(p + 2 * stride), pair_at(p + stride), pair_at(p));
  } else {
    int each[8] = {0};
    for (int i = 0; i < n; i++) each[i] = pair_at(p + i * stride);
    pairs = vb_load(each);
  }
  __m256i low = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff)), high = _mm256_srli_epi32(pairs, 16);
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
  *first = _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
  *second = _mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1));
}

INLINE vf vbf_load(const uint16_t *p) { /* bfloat16 */
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(xmm_load(p)), 16));
}

INLINE __m128i xmm_of(uint64_t lo, uint64_t hi) { return _mm_set_epi64x((int64_t)hi, (int64_t)lo); }
INLINE vf vf_s8(uint64_t lo, uint64_t hi, int i) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128((int64_t)(i ? hi : lo))));
}
INLINE scales_t scales_s8x8(uint64_t s) {
  __m256i both = _mm256_broadcastsi128_si256(_mm_cvtepi8_epi16(_mm_cvtsi64_si128((int64_t)s)));
  return (scales_t){both, both};
}
INLINE scales_t scales_s8x16(uint64_t lo, uint64_t hi) {
  __m256i all = _mm256_cvtepi8_epi16(xmm_of(lo, hi));
  return (scales_t){_mm256_permute4x64_epi64(all, 0x44), _mm256_permute4x64_epi64(all, 0xee)};
}
INLINE scales_t scales_for_even(scales_t s, const int is_signed) {
  const __m256i low = _mm256_set1_epi16(255);
  return is_signed ? s : (scales_t){_mm256_and_si256(s.first, low), _mm256_and_si256(s.last, low)};
}
INLINE scales_t scales_for_odd(scales_t s, const int is_signed) {
  return is_signed ? s : (scales_t){_mm256_slli_epi16(s.first, 8), _mm256_slli_epi16(s.last, 8)};
}
INLINE scale_t scales_pick8(scales_t s, int j) {
  return _mm256_shuffle_epi8(s.first, _mm256_set1_epi16((int16_t)(0x0100 + 0x0202 * j)));
}
INLINE scale_t scales_pick16(scales_t s, int j) {
  int16_t pick = (int16_t)(0x0100 + 0x0404 * (j % 4));
  __m256i where = _mm256_set_m128i(_mm_set1_epi16((int16_t)(pick + 0x0202)), _mm_set1_epi16(pick));
  return _mm256_shuffle_epi8(j < 4 ? s.first : s.last, where);
}

INLINE vb vk_nibbles(const uint8_t *q, int j) {
  vb v = vb_load(q + 32 * (j / 2));
  return j % 2 ? vb_high(v) : vb_low(v);
}
INLINE vb vk_six(const uint8_t *low, const uint8_t *high, int j) { /* vector j: half j / 4, group c of 32 */
  int c = j % 4;
  vb l = vb_load(low + 64 * (j / 4) + 32 * (c % 2)), h = vb_load(high + 32 * (j / 4));
  vb tops = c == 0 ? _mm256_slli_epi16(h, 4) : c == 1 ? _mm256_slli_epi16(h, 2) : c == 2 ? h : _mm256_srli_epi16(h, 2);
  return _mm256_or_si256(c / 2 ? vb_high(l) : vb_low(l), _mm256_and_si256(tops, _mm256_set1_epi8(0x30)));
}
INLINE vb vk_two(const uint8_t *q, int j) {
  return _mm256_and_si256(_mm256_srli_epi16(vb_load(q + 32 * (j / 4)), 2 * (j % 4)), _mm256_set1_epi8(3));
}
INLINE vb vk_bit(const uint8_t *q, int j, int to) {
  vb v = vb_load(q);
  v = j > to ? _mm256_srli_epi16(v, j - to) : _mm256_slli_epi16(v, to - j);
  return _mm256_and_si256(v, _mm256_set1_epi8((char)(1 << to)));
}
INLINE vf vk_minima(uint64_t minima, const int16_t *sums) {
  __m128i each = _mm_madd_epi16(_mm_cvtepu8_epi16(_mm_cvtsi64_si128((int64_t)minima)), xmm_load(sums));
  return _mm256_zextps128_ps256(_mm_cvtepi32_ps(each));
}
INLINE vs vs_offset16(const int8_t *scales, const int16_t *sums) {
  __m256i each = _mm256_madd_epi16(_mm256_cvtepi8_epi16(xmm_load(scales)), vb_load(sums));
  return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(each, 5));
}

INLINE vb vb_lookup16(const int8_t table[16], vb v) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(xmm_load(table)), v);
}
INLINE int64_t point_of(const uint64_t *grid, uint64_t low, uint64_t high, const int each, int k) {
  return (int64_t)grid[(low >> 8 * k & 255) | (high >> each * k & ((1u << each) - 1)) << 8];
}
INLINE vb vb_points8(const uint64_t *grid, uint64_t low, uint64_t high, const int each) {
  return _mm256_set_epi64x(point_of(grid, low, high, each, 3), point_of(grid, low, high, each, 2),
                           point_of(grid, low, high, each, 1), point_of(grid, low, high, each, 0));
}
INLINE vb vb_points9(const uint64_t *grid, const uint8_t *codes) {
  uint64_t four;
  memcpy(&four, codes, 8);
  return _mm256_set_epi64x((int64_t)grid[four >> 48 & 511], (int64_t)grid[four >> 32 & 511],
                           (int64_t)grid[four >> 16 & 511], (int64_t)grid[four & 511]);
}
INLINE vb vb_points4(const uint32_t *grid, const uint8_t *low, uint64_t high) {
  uint32_t at[8];
  for (int k = 0; k < 8; k++) at[k] = grid[low[k] | (high >> k & 1) << 8];
  return _mm256_setr_epi32((int)at[0], (int)at[1], (int)at[2], (int)at[3], (int)at[4], (int)at[5], (int)at[6], (int)at[7]);
}
INLINE uint64_t top_sevens(const uint8_t *codes) {
  uint64_t four, both;
  memcpy(&four, codes, 8);
  four = four >> 9 & 0x007f007f007f007fu;
  both = (four | four >> 8) & 0x0000ffff0000ffffu;
  return (both | both >> 16) & 0xffffffffu;
}
INLINE vb vb_signed(vb v, uint64_t signs, const int bias) {
  const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201u);
  const __m256i byte = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  __m256i each = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)signs), byte), bit);
  __m256i twice = _mm256_and_si256(_mm256_cmpeq_epi8(each, bit), _mm256_add_epi8(v, v));
  return _mm256_sub_epi8(_mm256_add_epi8(_mm256_set1_epi8((char)bias), v), twice);
}
INLINE vb vb_raised(vb v, uint64_t which) {
  const __m256i bit = _mm256_set_epi64x(8, 4, 2, 1);
  __m256i each = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x((int64_t)which), bit), bit);
  return _mm256_add_epi8(v, _mm256_and_si256(each, _mm256_set1_epi8(2)));
}
INLINE vb vk_nibbles16(const uint8_t *q, int j) {
  return vb_low(_mm256_srlv_epi64(_mm256_broadcastsi128_si256(xmm_load(q + 16 * j)), _mm256_set_epi64x(4, 4, 0, 0)));
}
#define TRIT 64
INLINE vb vk_trits(const uint8_t *q, const uint8_t *r, int last, int j) {
  __m256i v = j < 5 ? vb_load(q) : _mm256_broadcastsi128_si256(xmm_load(r));
  if (j == 7) v = _mm256_inserti128_si256(v, _mm_set1_epi32(last), 1);
  const __m256i power = j < 5    ? _mm256_set1_epi16(j == 0 ? 1 : j == 1 ? 3 : j == 2 ? 9 : j == 3 ? 27 : 81)
                        : j == 5 ? _mm256_set_m128i(_mm_set1_epi16(3), _mm_set1_epi16(1))
                        : j == 6 ? _mm256_set_m128i(_mm_set1_epi16(27), _mm_set1_epi16(9))
                                 : _mm256_set_m128i(_mm_set_epi16(27, 27, 9, 9, 3, 3, 1, 1), _mm_set1_epi16(81));
  __m256i even = _mm256_and_si256(_mm256_mullo_epi16(v, power), _mm256_set1_epi16(255));
  v = _mm256_or_si256(even, _mm256_slli_epi16(_mm256_mullo_epi16(_mm256_srli_epi16(v, 8), power), 8));
  v = _mm256_subs_epu8(v, _mm256_set1_epi8(1)); /* then the top two bits of the averages are those of 3 v / 4 */
  return _mm256_and_si256(_mm256_avg_epu8(v, _mm256_avg_epu8(v, _mm256_setzero_si256())), _mm256_set1_epi8(-64));
}
INLINE vf vf_powers(const uint8_t *p, int stride, int n) {
  int each[8] = {0};
  for (int i = 0; i < n; i++) each[i] = p[i * stride] < 2 ? 0x200000 << p[i * stride] : (p[i * stride] - 1) << 23;
  return _mm256_castsi256_ps(vb_load(each));
}
