/* One row of any type that has kernels, as float32; bit-equal to the NumPy reference. `n` is a multiple of the block. */
#ifndef BOOSTR_DEQUANTIZE_H
#define BOOSTR_DEQUANTIZE_H

#include "blocks.h"

typedef void dequantize_fn(const void *restrict row, float *restrict out, int64_t n);

dequantize_fn dequantize_f32, dequantize_f16, dequantize_bf16;
dequantize_fn dequantize_q4_0, dequantize_q4_1, dequantize_q5_0, dequantize_q5_1, dequantize_q8_0;
dequantize_fn dequantize_q2_K, dequantize_q3_K, dequantize_q4_K, dequantize_q5_K, dequantize_q6_K;
dequantize_fn dequantize_iq1_s, dequantize_iq1_m, dequantize_iq2_xxs, dequantize_iq2_xs, dequantize_iq2_s, dequantize_iq3_xxs, dequantize_iq3_s;
dequantize_fn dequantize_iq4_nl, dequantize_iq4_xs, dequantize_tq1_0, dequantize_tq2_0, dequantize_mxfp4;

#endif
