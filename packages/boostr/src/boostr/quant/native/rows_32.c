/* Rows of the types with 32-element blocks. */
#include "rows_quantized.h"

DEFINE_ROWS(q4_0, Q4_0)
DEFINE_ROWS(q4_1, Q4_1)
DEFINE_ROWS(q5_0, Q5_0)
DEFINE_ROWS(q5_1, Q5_1)
DEFINE_ROWS(q8_0, Q8_0)
