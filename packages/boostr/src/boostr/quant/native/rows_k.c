/* Rows of the K types. */
#include "rows_quantized.h"

DEFINE_ROWS(q2_K, Q2_K)
DEFINE_ROWS(q3_K, Q3_K)
DEFINE_ROWS(q4_K, Q4_K)
DEFINE_ROWS(q5_K, Q5_K)
DEFINE_ROWS(q6_K, Q6_K)
