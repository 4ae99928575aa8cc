/* 4 lanes: Advanced SIMD of AArch64. Included by simd.h, which says what the names mean. */
#include <arm_neon.h>

#define VW 4
#define MQ 4
#define KQ 4
#define DOTQ 4

typedef float32x4_t vf;

INLINE vf vf_set1(float x) { return vdupq_n_f32(x); }
INLINE vf vf_zero(void) { return vdupq_n_f32(0); }
INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
INLINE void vf_store(float *p, vf v) { vst1q_f32(p, v); }
INLINE vf vf_load_n(const float *p, int n) {
  float some[VW] = {0};
  memcpy(some, p, (size_t)n * 4);
  return vld1q_f32(some);
}
INLINE void vf_store_n(float *p, vf v, int n) {
  float all[VW];
  vst1q_f32(all, v);
  memcpy(p, all, (size_t)n * 4);
}
INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
INLINE vf vf_below(vf a, vf b, vf x, vf y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE vf vf_abs(vf a) { return vabsq_f32(a); }
INLINE vf vf_sign_of(vf magnitude, vf sign) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude); }
INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
INLINE vf vf_scale2(vf p, vf k) { /* in two steps, so that neither power leaves the range of float32 */
  int32x4_t whole = vcvtq_s32_f32(k), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
  vf a = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
  vf b = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23));
  return vmulq_f32(vmulq_f32(p, a), b);
}
INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
INLINE float vf_most(vf a) { return vmaxvq_f32(a); }
INLINE void vf_sum4(vf a, vf b, vf c, vf d, float *out) {
  vst1q_f32(out, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

INLINE vf vh_load(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
INLINE vf vh_load_n(const uint16_t *p, int n) {
  uint16_t some[VW] = {0};
  memcpy(some, p, (size_t)n * 2);
  return vh_load(some);
}
INLINE void vh_store(uint16_t *p, vf v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }
INLINE void vh_store_n(uint16_t *p, vf v, int n) {
  uint16_t all[VW];
  vh_store(all, v);
  memcpy(p, all, (size_t)n * 2);
}
