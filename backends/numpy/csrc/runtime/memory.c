/* Memory for large fresh arrays, kept when they die so that its pages are not faulted in again. */
#define _GNU_SOURCE
#include "runtime/tiles.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A block: a region of a class's size; the data begins some cache lines behind its start, not the
 * same for neighbours, or else equal indices of all arrays would fall on the same cache sets.
 * The header lies in the cache line before the data.
 */
typedef struct Header {
    char *region;
    size_t region_bytes;
    size_t bytes; /* the caller may use */
    int size_class;
    bool mapped, fresh;             /* fresh: never used, thus zero */
    struct Header *newer, *older;   /* among kept blocks of any class */
    struct Header *next, *previous; /* among kept blocks of its class */
} Header;

enum {
    LINE = 128,
    COLOURS = 16,
    STEPS = 8, /* classes for every doubling */
    CLASSES = 64 * STEPS,
};

static const size_t POOLED = 64 * 1024, HUGE_PAGE = 2 * 1024 * 1024, HUGE_FROM = 4 * 1024 * 1024;

static struct {
    pthread_mutex_t lock;
    size_t limit, kept;
    size_t taken, reused; /* counters */
    unsigned colour;
    Header *newest, *oldest;
    Header *of_class[CLASSES];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(sizeof(Header) <= LINE, "a header fits before its data");

/* The size class that holds `bytes`; its size goes to `rounded`. */
static int
size_class(size_t bytes, size_t *rounded)
{
    int doubling = 63 - __builtin_clzll(bytes);
    size_t step = ((size_t)1 << doubling) / STEPS;
    size_t steps = (bytes - ((size_t)1 << doubling) + step - 1) / step;
    *rounded = ((size_t)1 << doubling) + steps * step;
    return doubling * STEPS + (int)steps;
}

static void
unlink_kept(Header *block)
{
    *(block->newer ? &block->newer->older : &pool.newest) = block->older;
    *(block->older ? &block->older->newer : &pool.oldest) = block->newer;
    *(block->previous ? &block->previous->next : &pool.of_class[block->size_class]) = block->next;
    if (block->next) {
        block->next->previous = block->previous;
    }
    pool.kept -= block->region_bytes;
}

static void
release(Header *block)
{
    if (block->mapped) {
        munmap(block->region, block->region_bytes);
    }
    else {
        free(block->region);
    }
}

static char *
map_region(size_t bytes)
{
    size_t align = bytes >= HUGE_FROM ? HUGE_PAGE : 4096, mapped = bytes + align - 4096;
    char *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    char *region = (char *)(((uintptr_t)start + align - 1) & ~(uintptr_t)(align - 1));
    if (region > start) {
        munmap(start, (size_t)(region - start));
    }
    if (start + mapped > region + bytes) {
        munmap(region + bytes, (size_t)(start + mapped - region - bytes));
    }
    if (align == HUGE_PAGE) {
        madvise(region, bytes, MADV_HUGEPAGE);
    }
    return region;
}

static Header *
new_block(size_t region_bytes, int class, unsigned colour)
{
    bool mapped = class >= 0;
    char *region = mapped ? map_region(region_bytes) : malloc(region_bytes);
    if (region == NULL) {
        return NULL;
    }
    uintptr_t data = ((uintptr_t)region + LINE + 63) & ~(uintptr_t)63;
    if (mapped) {
        data += (uintptr_t)colour * LINE;
    }
    Header *block = (Header *)(data - LINE);
    block->region = region;
    block->region_bytes = region_bytes;
    block->bytes = region_bytes - (size_t)(data - (uintptr_t)region);
    block->size_class = class;
    block->mapped = mapped;
    block->fresh = mapped;
    return block;
}

static Header *
block_take(size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2) {
        return NULL;
    }
    if (bytes < POOLED) {
        return new_block(bytes + LINE + 64, -1, 0);
    }
    size_t region_bytes;
    int class = size_class(bytes + LINE * (COLOURS + 1), &region_bytes);
    region_bytes = (region_bytes + 4095) & ~(size_t)4095;
    pthread_mutex_lock(&pool.lock);
    pool.taken++;
    unsigned colour = pool.colour++ % COLOURS;
    Header *block = pool.of_class[class];
    if (block != NULL) {
        unlink_kept(block);
        block->fresh = false;
        pool.reused++;
    }
    pthread_mutex_unlock(&pool.lock);
    return block != NULL ? block : new_block(region_bytes, class, colour);
}

static Header *
header_of(void *data)
{
    return (Header *)((char *)data - LINE);
}

/* At least `bytes` of memory, 64-byte aligned, of unknown content; NULL, with no exception, if
 * none. */
void *
memory_take(size_t bytes)
{
    Header *block = block_take(bytes);
    return block == NULL ? NULL : (char *)block + LINE;
}

/* Take out the least recently used blocks beyond the limit, linked by `older`; under the lock. */
static Header *
unlink_beyond_limit(void)
{
    Header *found = NULL;
    while (pool.kept > pool.limit) {
        Header *oldest = pool.oldest;
        unlink_kept(oldest);
        oldest->older = found;
        found = oldest;
    }
    return found;
}

static void
release_all(Header *block)
{
    while (block != NULL) {
        Header *next = block->older;
        release(block);
        block = next;
    }
}

/* Keep the block for reuse; unmap the least recently used ones beyond the limit. */
void
memory_give(void *data)
{
    if (data == NULL) {
        return;
    }
    Header *block = header_of(data);
    if (block->size_class < 0) {
        release(block);
        return;
    }
    Header *drop = NULL;
    pthread_mutex_lock(&pool.lock);
    if (block->region_bytes > pool.limit) {
        block->older = NULL;
        drop = block;
    }
    else {
        block->newer = NULL;
        block->older = pool.newest;
        *(pool.newest ? &pool.newest->newer : &pool.oldest) = block;
        pool.newest = block;
        block->previous = NULL;
        block->next = pool.of_class[block->size_class];
        if (block->next) {
            block->next->previous = block;
        }
        pool.of_class[block->size_class] = block;
        pool.kept += block->region_bytes;
        drop = unlink_beyond_limit();
    }
    pthread_mutex_unlock(&pool.lock);
    release_all(drop);
}

/* NEP 49: what NumPy calls for arrays whose memory is ours. */

static void *
handler_malloc(void *context, size_t bytes)
{
    return memory_take(bytes);
}

static void *
handler_calloc(void *context, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    void *data = memory_take(bytes);
    if (data != NULL && !header_of(data)->fresh) {
        memset(data, 0, bytes);
    }
    return data;
}

static void
handler_free(void *context, void *data, size_t bytes)
{
    memory_give(data);
}

static void *
handler_realloc(void *context, void *data, size_t bytes)
{
    if (data == NULL) {
        return memory_take(bytes);
    }
    size_t had = header_of(data)->bytes;
    if (bytes <= had && bytes >= had / 2) {
        return data;
    }
    void *moved = memory_take(bytes);
    if (moved != NULL) {
        memcpy(moved, data, had < bytes ? had : bytes);
        memory_give(data);
    }
    return moved;
}

static PyDataMem_Handler handler = {
    "ufuse",
    1,
    {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};
static PyObject *handler_capsule;

/*
 * An array over memory that `memory_take` gave, which is the array's then; where it fails it is
 * still the caller's. As `memory_new_array` otherwise.
 */
PyArrayObject *
memory_array_over(PyArray_Descr *descr, int axes, const npy_intp *shape, const npy_intp *strides,
                  void *data, npy_intp bytes)
{
    PyArrayObject *array =
        (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, axes, shape, strides, data,
                                              NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL);
    if (array == NULL) {
        return NULL;
    }
    PyTraceMalloc_Track(389047, (uintptr_t)data, (size_t)bytes); /* NumPy's own domain */
    ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(handler_capsule);
    PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
    PyArray_UpdateFlags(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    return array;
}

/*
 * A fresh array, not initialised; steals a reference to `descr`. `strides` NULL means C order.
 * `bytes` is its size, which the caller knows. Where there is no memory NumPy says so, in its
 * words.
 */
PyArrayObject *
memory_new_array(PyArray_Descr *descr, int axes, const npy_intp *shape, const npy_intp *strides,
                 npy_intp bytes)
{
    void *data = bytes < (npy_intp)POOLED ? NULL : memory_take((size_t)bytes);
    if (data == NULL) {
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, axes, shape, strides,
                                                     NULL, 0, NULL);
    }
    PyArrayObject *array = memory_array_over(descr, axes, shape, strides, data, bytes);
    if (array == NULL) {
        memory_give(data);
    }
    return array;
}

static void
before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&pool.lock);
}

int
memory_begin(PyObject *module)
{
    if (handler_capsule != NULL) {
        return 0;
    }
    handler_capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    if (handler_capsule == NULL) {
        return -1;
    }
    long pages = sysconf(_SC_PHYS_PAGES);
    size_t eighth = pages > 0 ? (size_t)pages / 8 * (size_t)sysconf(_SC_PAGESIZE) : SIZE_MAX;
    pool.limit = (size_t)512 << 20;
    if (eighth < pool.limit) {
        pool.limit = eighth;
    }
    if (pthread_atfork(before_fork, after_fork, after_fork) != 0) {
        PyErr_SetString(PyExc_OSError, "_tiles: no fork handler left");
        return -1;
    }
    return 0;
}

static PyObject *
set_pool_limit(PyObject *module, PyObject *argument)
{
    size_t limit = PyLong_AsSize_t(argument);
    if (limit == (size_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    pthread_mutex_lock(&pool.lock);
    pool.limit = limit;
    Header *drop = unlink_beyond_limit();
    pthread_mutex_unlock(&pool.lock);
    release_all(drop);
    Py_RETURN_NONE;
}

static PyObject *
pool_state(PyObject *owner, PyObject *unused)
{
    pthread_mutex_lock(&pool.lock);
    size_t limit = pool.limit, kept = pool.kept, taken = pool.taken, reused = pool.reused;
    pthread_mutex_unlock(&pool.lock);
    return Py_BuildValue("{s:n,s:n,s:n,s:n}", "limit", (Py_ssize_t)limit, "kept", (Py_ssize_t)kept,
                         "taken", (Py_ssize_t)taken, "reused", (Py_ssize_t)reused);
}

PyMethodDef memory_methods[] = {
    {"set_pool_limit", set_pool_limit, METH_O,
     PyDoc_STR("set_pool_limit(bytes, /)\n--\n\nKeep at most `bytes` of dead arrays' memory.")},
    {"pool_state", pool_state, METH_NOARGS,
     PyDoc_STR("pool_state()\n--\n\nThe pool's limit and what it keeps, in bytes, and how many "
               "blocks were taken and reused.")},
    {NULL},
};
