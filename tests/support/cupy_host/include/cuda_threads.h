/*
 * What a kernel text that runs on the host asks of whoever runs its threads.
 *
 * One block runs at a time, on one thread of the host. Threads of a block that wait for
 * each other are fibers; other kernels are a plain loop over threads.
 */
#pragma once

#include <cstddef>
#include <cstdint>

struct uint3 {
    unsigned int x, y, z;
};

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

/* One lane's value in an exchange between the threads of a warp. */
struct alignas(16) WarpValue {
    unsigned char bytes[16];
};

/* What the lanes of a warp gave; `live` has a bit for each lane that gave something. */
struct WarpExchange {
    uint32_t live;
    WarpValue values[32];
};

/* How many threads came to a barrier, and for how many of them its predicate held. */
struct BarrierCount {
    int threads, holding;
};

/*
 * A kernel of a compiled unit: its name, how it is called with an array of pointers to arguments,
 * the arguments' sizes, and where the unit's shared variables begin and end.
 */
struct KernelEntry {
    const char *name;
    void (*call)(void **arguments);
    const size_t *sizes;
    size_t count;
    char *shared_begin, *shared_end;
};

extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
extern char *cuda_dynamic_shared;
extern int cuda_lane;

/* Wait until every live thread of the block is at a barrier; `line` is the text's. */
BarrierCount cuda_barrier(int line, int predicate);

/* Wait until every live lane of `mask` is at an exchange; the result stays readable until the lane's next. */
const WarpExchange *cuda_warp_exchange(uint32_t mask, const void *value, size_t size, int line);

/* The lanes of this thread's warp that have not returned. */
uint32_t cuda_live_lanes(void);
}
