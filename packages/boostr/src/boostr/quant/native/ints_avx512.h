/* 64 bytes: AVX-512 BW, with or without VNNI. Included by ints.h, which says what the names mean. */
typedef __m512i vb;
typedef __m512i vs;
typedef __m512i vw;
typedef __m512i scales_t;
typedef __m512i scale_t;

INLINE __m128i xmm_load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
INLINE __m256i ymm_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

INLINE vb vb_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE vb vb_load16(const uint8_t *p, int64_t stride, int n) {
  int64_t b = n > 1 ? stride : 0, c = n > 2 ? 2 * stride : b, d = n > 3 ? 3 * stride : c;
  __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(xmm_load(p)), xmm_load(p + b), 1);
  __m512i v = _mm512_inserti32x4(_mm512_castsi256_si512(low), xmm_load(p + c), 2);
  return _mm512_inserti32x4(v, xmm_load(p + d), 3);
}
INLINE vb vb_low(vb v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
INLINE vb vb_high(vb v) { return vb_low(_mm512_srli_epi16(v, 4)); }

INLINE vb vb_or(vb a, vb b) { return _mm512_or_si512(a, b); }
INLINE uint64_t word_at(const uint8_t *p) {
  uint16_t word;
  memcpy(&word, p, 2);
  return word;
}
INLINE vb vb_bits16(const uint8_t *p, int64_t stride, int n) {
  int64_t b = n > 1 ? stride : 0, c = n > 2 ? 2 * stride : b, d = n > 3 ? 3 * stride : c;
  uint64_t bits = word_at(p) | word_at(p + b) << 16 | word_at(p + c) << 32 | word_at(p + d) << 48;
  return _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(16));
}

INLINE vw vw_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE vw vw_even(vb v, const int is_signed) {
  return is_signed ? _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8) : _mm512_and_si512(v, _mm512_set1_epi16(255));
}
INLINE vw vw_odd(vb v, const int is_signed) { return is_signed ? _mm512_srai_epi16(v, 8) : _mm512_srli_epi16(v, 8); }
INLINE vw vw_even_scaled(vb v, scale_t scale, const int is_signed) {
  if (is_signed) return _mm512_mullo_epi16(vw_even(v, 1), scale);
  return _mm512_maddubs_epi16(v, scale); /* the odd bytes times 0 */
}
INLINE vw vw_odd_scaled(vb v, scale_t scale, const int is_signed) {
  if (is_signed) return _mm512_mullo_epi16(vw_odd(v, 1), scale);
  return _mm512_maddubs_epi16(v, scale);
}

INLINE vs vs_zero(void) { return _mm512_setzero_si512(); }
INLINE vf vs_float(vs v) { return _mm512_cvtepi32_ps(v); }

#if defined(__AVX512VNNI__)
#define UNSIGNED_DOT 1
INLINE vs vs_begin_s8(const int32_t *correction) { return _mm512_loadu_si512(correction); }
INLINE vs vs_dot_u7(vs sum, vb u, vb a) { return _mm512_dpbusd_epi32(sum, u, a); }
INLINE vs vs_dot_s8(vs sum, vb w, vb a) {
  return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(w, _mm512_set1_epi8(-128)), a);
}
INLINE vs vs_dot16(vs sum, vw w, vw a) { return _mm512_dpwssd_epi32(sum, w, a); }
INLINE vs vs_dot_scaled(vs sum, vb u, vb a, scale_t scale) {
  return _mm512_dpwssd_epi32(sum, _mm512_maddubs_epi16(u, a), scale);
}
#else
INLINE vs vs_begin_s8(const int32_t *correction) {
  (void)correction;
  return vs_zero();
}
INLINE vs vs_dot_u7(vs sum, vb u, vb a) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(u, a), _mm512_set1_epi16(1)));
}
INLINE vs vs_dot16(vs sum, vw w, vw a) { return _mm512_add_epi32(sum, _mm512_madd_epi16(w, a)); }
INLINE vs vs_dot_s8(vs sum, vb w, vb a) { /* |w| * (a with w's sign): 128 * 127 * 2 fits 16 bits */
  vb signed_a = _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a);
  return vs_dot_u7(sum, _mm512_abs_epi8(w), signed_a);
}
INLINE vs vs_dot_scaled(vs sum, vb u, vb a, scale_t scale) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(u, a), scale));
}
#endif
INLINE vs vs_dot_scaled_s8(vs sum, vb w, vb a, scale_t scale) {
  vb signed_a = _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a);
  return vs_dot_scaled(sum, _mm512_abs_epi8(w), signed_a, scale);
}

INLINE vf vf_spread(vf s, int k) {
  const __m512i each = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  return _mm512_permutexvar_ps(_mm512_add_epi32(each, _mm512_set1_epi32(4 * k)), s);
}
INLINE int pair_at(const uint8_t *p) {
  int both;
  memcpy(&both, p, 4);
  return both;
}
INLINE void vh_gather2(const uint8_t *p, int stride, int n, vf *first, vf *second) {
  __m512i pairs;
  if (n <= 2) { /* 576 columns end like this, and a gather costs as much for two lanes as for sixteen */
    __m128i one = _mm_cvtsi32_si128(pair_at(p));
    pairs = _mm512_zextsi128_si512(n == 2 ? _mm_insert_epi32(one, pair_at(p + stride), 1) : one);
  } else {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(stride));
    __mmask16 wanted = n >= 16 ? 0xffff : vf_lanes(n);
    pairs = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), wanted, at, p, 1);
  }
  *first = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
  *second = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)));
}

INLINE vf vbf_load(const uint16_t *p) { /* bfloat16 */
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(ymm_load(p)), 16));
}

INLINE __m128i xmm_of(uint64_t lo, uint64_t hi) { return _mm_set_epi64x((int64_t)hi, (int64_t)lo); }
INLINE scales_t scales_s8x8(uint64_t s) {
  return _mm512_castsi128_si512(_mm_cvtepi8_epi16(_mm_cvtsi64_si128((int64_t)s)));
}
INLINE scales_t scales_s8x16(uint64_t lo, uint64_t hi) {
  return _mm512_castsi256_si512(_mm256_cvtepi8_epi16(xmm_of(lo, hi)));
}
INLINE scales_t scales_for_even(scales_t s, const int is_signed) {
  return is_signed ? s : _mm512_castsi256_si512(_mm256_and_si256(_mm512_castsi512_si256(s), _mm256_set1_epi16(255)));
}
INLINE scales_t scales_for_odd(scales_t s, const int is_signed) {
  return is_signed ? s : _mm512_castsi256_si512(_mm256_slli_epi16(_mm512_castsi512_si256(s), 8));
}
INLINE vf vf_s8(uint64_t lo, uint64_t hi, int i) {
  (void)i;
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(xmm_of(lo, hi)));
}
INLINE scale_t scales_pick8(scales_t s, int j) {
  const __m512i half_each = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(1), 1);
  return _mm512_permutexvar_epi16(_mm512_add_epi16(half_each, _mm512_set1_epi16((int16_t)(2 * j))), s);
}
INLINE scale_t scales_pick16(scales_t s, int j) {
  const __m512i quarter_each = _mm512_set_epi64(0x0003000300030003, 0x0003000300030003, 0x0002000200020002,
                                                0x0002000200020002, 0x0001000100010001, 0x0001000100010001, 0, 0);
  return _mm512_permutexvar_epi16(_mm512_add_epi16(quarter_each, _mm512_set1_epi16((int16_t)(4 * j))), s);
}

INLINE vb vk_nibbles(const uint8_t *q, int j) {
  const __m512i by = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);
  return vb_low(_mm512_srlv_epi64(_mm512_broadcast_i64x4(ymm_load(q + 32 * j)), by));
}
INLINE vb vk_six(const uint8_t *low, const uint8_t *high, int j) { /* vector j: half j / 2, nibbles j % 2 */
  const __m512i up = _mm512_set_epi64(2, 2, 2, 2, 4, 4, 4, 4), down = _mm512_set_epi64(2, 2, 2, 2, 0, 0, 0, 0);
  __m512i l = vb_load(low + 64 * (j / 2)), h = _mm512_broadcast_i64x4(ymm_load(high + 32 * (j / 2)));
  __m512i tops = j % 2 ? _mm512_srlv_epi64(h, down) : _mm512_sllv_epi64(h, up);
  return _mm512_or_si512(j % 2 ? vb_high(l) : vb_low(l), _mm512_and_si512(tops, _mm512_set1_epi8(0x30)));
}
INLINE __m512i halves(int low, int high) { /* shift counts of the first and last 32 bytes */
  return _mm512_inserti64x4(_mm512_set1_epi64(low), _mm256_set1_epi64x(high), 1);
}
INLINE vb vk_two(const uint8_t *q, int j) {
  __m512i v = _mm512_broadcast_i64x4(ymm_load(q + 32 * (j / 2)));
  return _mm512_and_si512(_mm512_srlv_epi64(v, halves(4 * (j % 2), 4 * (j % 2) + 2)), _mm512_set1_epi8(3));
}
INLINE vb vk_bit(const uint8_t *q, int j, int to) { /* rotated as 64-bit words, a bit stays in its byte */
  __m512i v = _mm512_broadcast_i64x4(ymm_load(q));
  return _mm512_and_si512(_mm512_rorv_epi64(v, halves(2 * j - to, 2 * j + 1 - to)), _mm512_set1_epi8((char)(1 << to)));
}
INLINE vf vk_minima(uint64_t minima, const int16_t *sums) {
  __m128i each = _mm_madd_epi16(_mm_cvtepu8_epi16(_mm_cvtsi64_si128((int64_t)minima)), xmm_load(sums));
  return _mm512_zextps128_ps512(_mm_cvtepi32_ps(each));
}
INLINE vs vs_offset16(const int8_t *scales, const int16_t *sums) {
  __m256i each = _mm256_madd_epi16(_mm256_cvtepi8_epi16(xmm_load(scales)), ymm_load(sums));
  return _mm512_zextsi256_si512(_mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(each, 5)));
}

INLINE vb vb_lookup16(const int8_t table[16], vb v) {
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(xmm_load(table)), v);
}
INLINE vb vb_points8(const uint64_t *grid, uint64_t low, uint64_t high, const int each) {
  __m256i index = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)low));
  if (each) {
    const __m256i by = _mm256_setr_epi32(0, each, 2 * each, 3 * each, 4 * each, 5 * each, 6 * each, 7 * each);
    __m256i fields = _mm256_slli_epi32(_mm256_srlv_epi32(_mm256_set1_epi32((int)high), by), 8);
    index = _mm256_or_si256(index, _mm256_and_si256(fields, _mm256_set1_epi32(((1 << each) - 1) << 8)));
  }
  return _mm512_i32gather_epi64(index, grid, 8);
}
INLINE vb vb_points9(const uint64_t *grid, const uint8_t *codes) {
  __m256i index = _mm256_and_si256(_mm256_cvtepu16_epi32(xmm_load(codes)), _mm256_set1_epi32(511));
  return _mm512_i32gather_epi64(index, grid, 8);
}
INLINE vb vb_points4(const uint32_t *grid, const uint8_t *low, uint64_t high) {
  __m512i index = _mm512_cvtepu8_epi32(xmm_load(low));
  return _mm512_i32gather_epi32(_mm512_mask_or_epi32(index, (__mmask16)high, index, _mm512_set1_epi32(256)), grid, 4);
}
INLINE uint64_t top_sevens(const uint8_t *codes) {
  return (uint64_t)_mm_cvtsi128_si64(_mm_cvtepi16_epi8(_mm_srli_epi16(xmm_load(codes), 9)));
}
INLINE vb vb_signed(vb v, uint64_t signs, const int bias) {
  const __m512i middle = _mm512_set1_epi8((char)bias);
  return _mm512_mask_sub_epi8(_mm512_add_epi8(middle, v), signs, middle, v);
}
INLINE vb vb_raised(vb v, uint64_t which) {
  return _mm512_mask_add_epi64(v, (__mmask8)which, v, _mm512_set1_epi8(2));
}
INLINE vb vk_nibbles16(const uint8_t *q, int j) {
  const __m512i twice = _mm512_set_epi64(3, 2, 3, 2, 1, 0, 1, 0), by = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
  __m512i v = _mm512_permutexvar_epi64(twice, _mm512_castsi256_si512(ymm_load(q + 32 * j)));
  return vb_low(_mm512_srlv_epi64(v, by));
}
#define TRIT 64
INLINE vb vk_trits(const uint8_t *q, const uint8_t *r, int last, int j) {
  __m256i all = ymm_load(q), rest = _mm256_broadcastsi128_si256(xmm_load(r));
  __m256i end = _mm256_inserti128_si256(rest, _mm_set1_epi32(last), 1);
  __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(j < 3 ? all : rest), j < 2 ? all : j < 3 ? rest : end, 1);
  const __m512i power = j == 0   ? _mm512_inserti64x4(_mm512_set1_epi16(1), _mm256_set1_epi16(3), 1)
                        : j == 1 ? _mm512_inserti64x4(_mm512_set1_epi16(9), _mm256_set1_epi16(27), 1)
                        : j == 2 ? _mm512_inserti64x4(_mm512_set1_epi16(81), _mm256_set_m128i(_mm_set1_epi16(3), _mm_set1_epi16(1)), 1)
                                 : _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(_mm_set1_epi16(27), _mm_set1_epi16(9))),
                                                      _mm256_set_m128i(_mm_set_epi16(27, 27, 9, 9, 3, 3, 1, 1), _mm_set1_epi16(81)), 1);
  __m512i even = _mm512_and_si512(_mm512_mullo_epi16(v, power), _mm512_set1_epi16(255));
  v = _mm512_or_si512(even, _mm512_slli_epi16(_mm512_mullo_epi16(_mm512_srli_epi16(v, 8), power), 8));
  v = _mm512_subs_epu8(v, _mm512_set1_epi8(1)); /* then the top two bits of the averages are those of 3 v / 4 */
  return _mm512_and_si512(_mm512_avg_epu8(v, _mm512_avg_epu8(v, _mm512_setzero_si512())), _mm512_set1_epi8(-64));
}
INLINE vf vf_powers(const uint8_t *p, int stride, int n) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32(stride)), zero = _mm512_setzero_si512();
  __mmask16 wanted = n >= 16 ? 0xffff : vf_lanes(n);
  __m512i e = _mm512_and_si512(_mm512_mask_i32gather_epi32(zero, wanted, at, p, 1), _mm512_set1_epi32(255));
  __mmask16 least = _mm512_mask_cmplt_epi32_mask(wanted, e, _mm512_set1_epi32(2));
  __m512i bits = _mm512_maskz_slli_epi32(wanted, _mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
  return _mm512_castsi512_ps(_mm512_mask_sllv_epi32(bits, least, _mm512_set1_epi32(0x200000), e));
}
