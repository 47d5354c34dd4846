/* CUB's reduction of a block by its default algorithm: each thread's items in turn, lanes 1 to 16
 * apart, warps in turn. */
#pragma once

namespace cub {

template <class T, int threads> struct BlockReduce {
    /* No constructor: shared memory is not initialised. */
    struct alignas(16) TempStorage {
        unsigned char bytes[threads * sizeof(T)];
    };
    TempStorage &storage;
    BlockReduce(TempStorage &given) : storage(given)
    {
    }

    /* What all threads have; meaningful for the first alone. */
    template <int items, class Operation> T Reduce(T (&given)[items], Operation both)
    {
        T *const held = reinterpret_cast<T *>(storage.bytes);
        T own = given[0];
        for (int k = 1; k < items; k++)
            own = both(own, given[k]);
        const int thread = threadIdx.x;
        for (int step = 1; step < 32; step *= 2) {
            memcpy(&held[thread], &own, sizeof own);
            __syncthreads();
            if (thread % 32 + step < 32)
                own = both(own, held[thread + step]);
            __syncthreads();
        }
        memcpy(&held[thread], &own, sizeof own);
        __syncthreads();
        for (int warp = 1; thread == 0 && warp < threads / 32; warp++)
            own = both(own, held[32 * warp]);
        return own;
    }
};

} // namespace cub
