/* 8 lanes: AVX2, FMA and F16C. Included by simd.h, which says what the names mean. */
#include <immintrin.h>

#define VW 8
#define MQ 3
#define KQ 4
#define DOTQ 2

typedef __m256 vf;

INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
INLINE __m256i vf_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vf vf_load_n(const float *p, int n) { return _mm256_maskload_ps(p, vf_lanes(n)); }
INLINE void vf_store_n(float *p, vf v, int n) { _mm256_maskstore_ps(p, vf_lanes(n), v); }
INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
INLINE vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), a); }
INLINE vf vf_sign_of(vf magnitude, vf sign) {
  return _mm256_or_ps(magnitude, _mm256_and_ps(_mm256_set1_ps(-0.f), sign));
}
INLINE vf vf_below(vf a, vf b, vf x, vf y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
INLINE vf vf_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vf vf_scale2(vf p, vf k) { /* in two steps, so that neither power leaves the range of float32 */
  __m256i whole = _mm256_cvtps_epi32(k), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
  __m256i rest = _mm256_sub_epi32(whole, half);
  vf a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  vf b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(p, a), b);
}
INLINE float vf_most(vf a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
INLINE void vf_sum4(vf a, vf b, vf c, vf d, float *out) {
  vf s = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
}
INLINE float vf_sum(vf a) {
  float out[4];
  vf_sum4(a, a, a, a, out);
  return out[0];
}

INLINE vf vh_load(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
INLINE vf vh_load_n(const uint16_t *p, int n) {
  uint16_t some[VW] = {0};
  memcpy(some, p, (size_t)n * 2);
  return vh_load(some);
}
INLINE void vh_store(uint16_t *p, vf v) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE void vh_store_n(uint16_t *p, vf v, int n) {
  uint16_t all[VW];
  vh_store(all, v);
  memcpy(p, all, (size_t)n * 2);
}
