/* How the kernels of a unit are found and called. */
#pragma once

#include "cuda_threads.h"

#include <utility>

/* The uninitialised variables of this unit alone. */
extern char __bss_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

template <auto kernel> struct CudaKernel;

template <class... Arguments, void (*kernel)(Arguments...)> struct CudaKernel<kernel> {
    static constexpr size_t sizes[sizeof...(Arguments) + 1] = {sizeof(Arguments)...};

    template <size_t... index>
    static void
    unpack(void **arguments, std::index_sequence<index...>)
    {
        kernel(*(std::remove_reference_t<Arguments> *)arguments[index]...);
    }

    static void
    call(void **arguments)
    {
        unpack(arguments, std::index_sequence_for<Arguments...>());
    }
};

#define CUDA_KERNEL(name, kernel)                                                                 \
    {name, CudaKernel<kernel>::call, CudaKernel<kernel>::sizes, sizeof(CudaKernel<kernel>::sizes) / sizeof(size_t) - 1, \
     __bss_start, _end}
