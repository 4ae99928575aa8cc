/* The pool and scratch memory: those that libnumr lent through boostr_bind, or serial ones of this library. */
#ifndef BOOSTR_RUNTIME_H
#define BOOSTR_RUNTIME_H

#include "numr_runtime.h"

const numr_runtime *runtime(void);

#endif
