/* 16 lanes: AVX-512 F, BW, VL, DQ. Included by simd.h, which says what the names mean. */
#include <immintrin.h>

#define VW 16
#define MQ 4
#define KQ 4
#define DOTQ 4

typedef __m512 vf;

INLINE __mmask16 vf_lanes(int n) { return (__mmask16)((1u << n) - 1); }

INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
INLINE vf vf_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(vf_lanes(n), p); }
INLINE void vf_store_n(float *p, vf v, int n) { _mm512_mask_storeu_ps(p, vf_lanes(n), v); }
INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf vf_abs(vf a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.f), a); }
INLINE vf vf_sign_of(vf magnitude, vf sign) {
  return _mm512_or_ps(magnitude, _mm512_and_ps(_mm512_set1_ps(-0.f), sign));
}
INLINE vf vf_below(vf a, vf b, vf x, vf y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE vf vf_scale2(vf p, vf k) { return _mm512_scalef_ps(p, k); }
INLINE float vf_most(vf a) { return _mm512_reduce_max_ps(a); }

INLINE void vf_sum4(vf a, vf b, vf c, vf d, float *out) {
  __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  __m512 s = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  __m256 h = _mm256_add_ps(_mm512_castps512_ps256(s), _mm512_extractf32x8_ps(s, 1));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1)));
}
INLINE float vf_sum(vf a) {
  float out[4];
  vf_sum4(a, a, a, a, out);
  return out[0];
}

INLINE vf vh_load(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
INLINE vf vh_load_n(const uint16_t *p, int n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vf_lanes(n), p)); }
INLINE void vh_store(uint16_t *p, vf v) {
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE void vh_store_n(uint16_t *p, vf v, int n) {
  _mm256_mask_storeu_epi16(p, vf_lanes(n), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
