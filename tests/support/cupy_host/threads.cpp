/*
 * The threads of a launch, on one thread of the host.
 *
 * Blocks and threads run forward, backward or shuffled: a kernel whose result depends on the
 * order lacks a barrier. Shared memory is filled with NaN before each block.
 */
#include "cuda_threads.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <utility>
#include <vector>
#include <xmmintrin.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
char *cuda_dynamic_shared;
int cuda_lane;

namespace {

constexpr size_t STACK_BYTES = 256 << 10; /* reserved, not committed: pages come as they are touched */
constexpr size_t APART = 17 * 64, APART_AT_MOST = 64 << 10; /* stacks begin at other places of the caches */
constexpr int MOST_THREADS = 1024, MOST_DYNAMIC = 228 << 10;
constexpr unsigned FLUSH_DENORMALS = 0x8040; /* flush-to-zero and denormals-are-zero of MXCSR */

enum class State { READY, AT_BARRIER, IN_WARP, DONE };
enum Order { FORWARD, BACKWARD, SHUFFLED };

struct Fiber {
    void *stack_pointer;
    int line, predicate;
    uint32_t mask;
    WarpValue given;
    WarpExchange taken;
};

Fiber fibers[MOST_THREADS];
State states[MOST_THREADS]; /* of the fibers: who looks at all of them reads little */
Fiber *current;
void *scheduler_pointer;
char *stacks;
BarrierCount barrier_count;
const KernelEntry *kernel;
void **kernel_arguments;
std::vector<uint3> indexes;    /* of a block's threads */
std::vector<unsigned> threads; /* in the order in which they run */
uint64_t random_state;
char *complaint;
size_t complaint_size;
alignas(64) char dynamic_shared[MOST_DYNAMIC];

/* Save the callee's registers, exchange stacks, and go on where the other stopped. */
extern "C" void cuda_switch(void **save, void *load);
asm(R"(
.text
.globl cuda_switch
.hidden cuda_switch
.type cuda_switch, @function
cuda_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
.size cuda_switch, .-cuda_switch
)");

unsigned
random_below(unsigned limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % limit);
}

void
put_in_order(std::vector<unsigned> &numbers, int order)
{
    unsigned count = (unsigned)numbers.size();
    for (unsigned i = 0; i < count; i++)
        numbers[i] = order == BACKWARD ? count - 1 - i : i;
    if (order == SHUFFLED)
        for (unsigned i = count; i > 1; i--)
            std::swap(numbers[i - 1], numbers[random_below(i)]);
}

uint3
coordinates(unsigned flat, dim3 sizes)
{
    return {flat % sizes.x, flat / sizes.x % sizes.y, flat / sizes.x / sizes.y};
}

void
enter(Fiber *fiber)
{
    size_t number = (size_t)(fiber - fibers);
    current = fiber;
    threadIdx = indexes[number];
    cuda_lane = (int)(number % 32);
    cuda_switch(&scheduler_pointer, fiber->stack_pointer);
}

void
leave()
{
    cuda_switch(&current->stack_pointer, scheduler_pointer);
}

[[noreturn]] void
fiber_main()
{
    kernel->call(kernel_arguments);
    states[current - fibers] = State::DONE;
    leave();
    abort();
}

void
start_fiber(size_t number)
{
    Fiber *fiber = &fibers[number];
    void **top = (void **)(stacks + (number + 1) * STACK_BYTES - number * APART % APART_AT_MOST) - 1;
    *--top = (void *)fiber_main; /* the stack is 8 off a multiple of 16 as a function is entered */
    fiber->stack_pointer = top - 6;
    states[number] = State::READY;
}

bool
complain(const char *format, int line, int other_line)
{
    if (complaint[0] == 0)
        snprintf(complaint, complaint_size, format, line, other_line);
    return false;
}

/* Let lanes go on whose whole mask has come; true if any could. */
bool
release_warps(int count)
{
    bool released = false;
    for (int first = 0; first < count; first += 32) {
        int lanes = count - first < 32 ? count - first : 32;
        Fiber *warp = fibers + first;
        State *states_of_warp = states + first;
        for (int lane = 0; lane < lanes; lane++) {
            if (states_of_warp[lane] != State::IN_WARP)
                continue;
            uint32_t mask = warp[lane].mask, come = 0;
            bool whole = true;
            for (int other = 0; other < lanes; other++) {
                if (!(mask >> other & 1) || states_of_warp[other] == State::DONE)
                    continue;
                if (states_of_warp[other] == State::IN_WARP && warp[other].mask == mask)
                    come |= 1u << other;
                else
                    whole = false;
            }
            if (!whole || !(come >> lane & 1))
                continue;
            WarpExchange exchange;
            memset(&exchange, 0xff, sizeof exchange);
            exchange.live = come;
            for (int other = 0; other < lanes; other++)
                if (come >> other & 1)
                    exchange.values[other] = warp[other].given;
            for (int other = 0; other < lanes; other++)
                if (come >> other & 1) {
                    warp[other].taken = exchange;
                    states_of_warp[other] = State::READY;
                }
            released = true;
        }
    }
    return released;
}

/* Let the threads at a barrier go on; false if they are not all at the same one, or others wait elsewhere. */
bool
release_barrier(int count)
{
    barrier_count = {0, 0};
    int line = 0;
    for (int i = 0; i < count; i++) {
        Fiber *fiber = &fibers[i];
        if (states[i] == State::IN_WARP)
            return complain("line %d: lanes of the mask of a warp operation never come to it", fiber->line, 0);
        if (states[i] != State::AT_BARRIER)
            continue;
        if (line != 0 && fiber->line != line)
            return complain("divergent barriers: some threads of a block wait at line %d, others at line %d",
                            line < fiber->line ? line : fiber->line, line < fiber->line ? fiber->line : line);
        line = fiber->line;
        barrier_count.threads++;
        barrier_count.holding += fiber->predicate != 0;
    }
    for (int i = 0; i < count; i++)
        if (states[i] == State::AT_BARRIER)
            states[i] = State::READY;
    return true;
}

bool
run_fibers()
{
    int count = (int)threads.size();
    if (stacks == nullptr) {
        void *memory = mmap(nullptr, MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return complain("no memory for the stacks of threads", 0, 0);
        stacks = (char *)memory;
    }
    for (size_t i = 0; i < threads.size(); i++)
        start_fiber(i);
    for (;;) {
        bool ran = false, waiting = false;
        for (unsigned i : threads) {
            if (states[i] == State::READY) {
                enter(&fibers[i]);
                ran = true;
            }
            waiting |= states[i] != State::DONE;
        }
        if (!waiting)
            return true;
        if (release_warps(count) || ran)
            continue;
        if (!release_barrier(count))
            return false;
    }
}

bool
run_block(bool waits, int order, size_t dynamic_bytes)
{
    memset(kernel->shared_begin, 0xff, (size_t)(kernel->shared_end - kernel->shared_begin));
    memset(dynamic_shared, 0xff, dynamic_bytes);
    if (order == SHUFFLED)
        put_in_order(threads, order);
    if (waits)
        return run_fibers();
    for (unsigned i : threads) {
        threadIdx = indexes[i];
        cuda_lane = (int)(i % 32);
        kernel->call(kernel_arguments);
    }
    return true;
}

} // namespace

extern "C" {

BarrierCount
cuda_barrier(int line, int predicate)
{
    states[current - fibers] = State::AT_BARRIER;
    current->line = line;
    current->predicate = predicate;
    leave();
    return barrier_count;
}

const WarpExchange *
cuda_warp_exchange(uint32_t mask, const void *value, size_t size, int line)
{
    states[current - fibers] = State::IN_WARP;
    current->line = line;
    current->mask = mask;
    memcpy(current->given.bytes, value, size);
    leave();
    return &current->taken;
}

uint32_t
cuda_live_lanes(void)
{
    uint32_t live = 0;
    int first = (int)(current - fibers) - cuda_lane;
    int count = (int)(blockDim.x * blockDim.y * blockDim.z) - first;
    for (int lane = 0; lane < 32 && lane < count; lane++)
        live |= (uint32_t)(states[first + lane] != State::DONE) << lane;
    return live;
}

/*
 * Run every thread of a launch. `sizes` are the grid's and the block's. Returns false with a
 * sentence in `report` where threads wait for each other for ever.
 */
bool
cuda_launch(const KernelEntry *entry, void **arguments, const unsigned sizes[6], size_t dynamic_bytes,
            bool waits, bool flushes, int order, uint64_t seed, char *report, size_t report_size)
{
    kernel = entry;
    kernel_arguments = arguments;
    random_state = seed;
    complaint = report;
    complaint_size = report_size;
    report[0] = 0;
    gridDim = dim3(sizes[0], sizes[1], sizes[2]);
    blockDim = dim3(sizes[3], sizes[4], sizes[5]);
    cuda_dynamic_shared = dynamic_shared;
    if (blockDim.x * blockDim.y * blockDim.z > MOST_THREADS || dynamic_bytes > MOST_DYNAMIC)
        return complain("too many threads in a block, or too much shared memory", 0, 0);
    unsigned control = _mm_getcsr();
    if (flushes)
        _mm_setcsr(control | FLUSH_DENORMALS);
    threads.resize(blockDim.x * blockDim.y * blockDim.z);
    indexes.resize(threads.size());
    for (unsigned i = 0; i < threads.size(); i++)
        indexes[i] = coordinates(i, blockDim);
    put_in_order(threads, order);
    std::vector<unsigned> blocks(gridDim.x * gridDim.y * gridDim.z);
    put_in_order(blocks, order);
    bool fine = true;
    for (unsigned block : blocks) {
        blockIdx = coordinates(block, gridDim);
        fine = run_block(waits, order, dynamic_bytes);
        if (!fine)
            break;
    }
    _mm_setcsr(control);
    return fine;
}
}
