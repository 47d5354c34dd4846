/* How many elements are done at once, and for what processors code is made. */
#ifndef UFUSE_VECTORS_H
#define UFUSE_VECTORS_H

#include "loops/loop.h"

/* How many elements are done at once; and what a count is rounded up to: vectors are that long. */
enum { QUICK_BLOCK = 128, QUICK_VECTOR = 16 };

/* What the processor can do decides which code there is. */
#if defined(__x86_64__) && defined(__GNUC__)
#    define QUICK_WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#    define QUICK_NARROW __attribute__((target("avx2,fma")))
#    define QUICK_HAS_WIDE                                                                         \
        (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&               \
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
#    define QUICK_HAS_NARROW (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#else
#    define QUICK_WIDE
#    define QUICK_NARROW
#    define QUICK_HAS_WIDE 0
#    if defined(__aarch64__)
#        define QUICK_HAS_NARROW 1
#    else
#        define QUICK_HAS_NARROW 0
#    endif
#endif

#endif
