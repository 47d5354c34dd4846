/* What every file of _tiles shares: limits, floating-point status, walks over memory, the runtime.
 */
#ifndef UFUSE_TILES_H
#define UFUSE_TILES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ufuse_tiles_array_api
#ifndef UFUSE_TILES_IMPORTS_ARRAY
#    define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MAX_AXES = 32,      /* of a space; NumPy's own limit is 64 */
    MAX_VALUES = 2048,  /* of a kernel */
    MAX_ARGUMENTS = 64, /* of a loop */
    MAX_ITEM = 32,      /* bytes of the largest element, complex long double */
    PHASE = 64,         /* tile boundaries are multiples of this many elements */
    FEW = 16,           /* elements, of which NumPy's loops may take none as vectors */
};

/* NumPy's own numbering of the flags, that of `np.errstate`'s callbacks. */
enum {
    STATUS_DIVIDE = 1,
    STATUS_OVERFLOW = 2,
    STATUS_UNDERFLOW = 4,
    STATUS_INVALID = 8,
    STATUS_ALL = 15,
};

/* What running something comes to. Refused: nothing was written; failed: with an exception. */
enum { RUN_DONE = 0, RUN_REFUSED = 1, RUN_FAILED = -1 };

#if defined(__x86_64__) && defined(__GNUC__)
/* What NumPy and Python look at: invalid 1, divide 4, overflow 8, underflow 16. That a result was
 * inexact, 32, or an operand denormal, 2, is often set, and costs as much to take back. */
#    define STATUS_SEEN 0x1du

/*
 * The status of SSE and of the x87: fetestexcept() without the call. Not only long doubles need the
 * x87: the C library raises overflow and underflow there, as NumPy's half and integer loops ask it
 * to.
 */
static inline unsigned
status_raw(void)
{
    unsigned sse;
    unsigned short x87;
    __asm__ __volatile__("stmxcsr %0" : "=m"(sse) : : "memory");
    __asm__ __volatile__("fnstsw %0" : "=am"(x87) : : "memory");
    return (sse | x87) & STATUS_SEEN;
}

/* The same of SSE alone. */
static inline unsigned
status_sse(void)
{
    unsigned sse;
    __asm__ __volatile__("stmxcsr %0" : "=m"(sse) : : "memory");
    return sse & STATUS_SEEN;
}

static inline void
status_clear(void)
{
    unsigned sse;
    __asm__ __volatile__("stmxcsr %0" : "=m"(sse));
    if (sse & STATUS_SEEN) {
        sse &= ~0x3fu;
        __asm__ __volatile__("ldmxcsr %0" : : "m"(sse));
    }
    unsigned short x87;
    __asm__ __volatile__("fnstsw %0" : "=am"(x87));
    if (x87 & STATUS_SEEN) {
        __asm__ __volatile__("fnclex");
    }
}

static inline unsigned
status_numbered(unsigned raw)
{
    return ((raw & 4) >> 2) | ((raw & 8) >> 2) | ((raw & 16) >> 2) | ((raw & 1) << 3);
}

/* The flags of the thread, to be set as they were when something has run. */
typedef struct {
    unsigned sse;
    unsigned short x87;
} Status;

static inline Status
status_keep(void)
{
    Status status;
    __asm__ __volatile__("stmxcsr %0" : "=m"(status.sse) : : "memory");
    __asm__ __volatile__("fnstsw %0" : "=am"(status.x87) : : "memory");
    return status;
}

static inline void
status_put_back(Status before)
{
    Status now = status_keep();
    if ((now.sse ^ before.sse) & STATUS_SEEN) {
        now.sse = (now.sse & ~0x3fu) | (before.sse & 0x3fu);
        __asm__ __volatile__("ldmxcsr %0" : : "m"(now.sse));
    }
    if ((now.x87 ^ before.x87) & STATUS_SEEN) {
        unsigned environment[7];
        __asm__ __volatile__("fnstenv %0" : "=m"(environment));
        environment[1] = (environment[1] & ~0x3fu) | (before.x87 & 0x3fu);
        __asm__ __volatile__("fldenv %0" : : "m"(environment));
    }
}

/* Raise the flags that were raised then, too. */
static inline void
status_add(Status before)
{
    if (((before.sse | before.x87) & STATUS_SEEN) == 0) {
        return;
    }
    Status now = status_keep();
    before.sse |= now.sse & 0x3fu;
    before.x87 = (unsigned short)(before.x87 | (now.x87 & 0x3f));
    status_put_back(before);
}
/* Raise flags that `status_raw` has given, in whichever thread. */
static inline void
status_raise(unsigned raw)
{
    status_add((Status){.sse = raw});
}

/* Round, and treat denormal numbers, as another thread does. */
static inline void
status_follow(Status other)
{
    Status now = status_keep();
    if ((now.sse ^ other.sse) & ~0x3fu) {
        now.sse = (now.sse & 0x3fu) | (other.sse & ~0x3fu);
        __asm__ __volatile__("ldmxcsr %0" : : "m"(now.sse));
    }
}

static inline void
processor_pause(void)
{
    __builtin_ia32_pause();
}
#else
#    include <fenv.h>
typedef fexcept_t Status;

static inline Status
status_keep(void)
{
    Status status;
    fegetexceptflag(&status, FE_ALL_EXCEPT);
    return status;
}

static inline void
status_put_back(Status before)
{
    fesetexceptflag(&before, FE_ALL_EXCEPT);
}

static inline void
status_add(Status before)
{
    int now = fetestexcept(FE_ALL_EXCEPT);
    fesetexceptflag(&before, FE_ALL_EXCEPT);
    feraiseexcept(now);
}

static inline void
status_raise(unsigned raw)
{
    feraiseexcept((int)raw);
}

static inline void
status_follow(Status other)
{
    (void)other;
}

static inline void
processor_pause(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#    define STATUS_SEEN ((unsigned)(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID))

static inline unsigned
status_raw(void)
{
    return (unsigned)fetestexcept((int)STATUS_SEEN);
}

static inline unsigned
status_sse(void)
{
    return status_raw();
}

static inline void
status_clear(void)
{
    feclearexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
}

static inline unsigned
status_numbered(unsigned raw)
{
    return (raw & FE_DIVBYZERO ? STATUS_DIVIDE : 0) | (raw & FE_OVERFLOW ? STATUS_OVERFLOW : 0) |
           (raw & FE_UNDERFLOW ? STATUS_UNDERFLOW : 0) | (raw & FE_INVALID ? STATUS_INVALID : 0);
}
#endif

/* The flags that are raised; clears them. */
static inline unsigned
status_take(void)
{
    unsigned raw = status_raw();
    if (raw == 0) {
        return 0;
    }
    status_clear();
    return status_numbered(raw);
}

/*
 * How one operand lies under the virtual contiguous array of a space: element i of that array is
 * found by writing i in the mixed base `extent`, innermost first, and adding index times stride.
 */
typedef struct {
    char *base;
    int axes;
    npy_intp extent[MAX_AXES];
    npy_intp stride[MAX_AXES];
} Walk;

/* A position in a walk; `left` elements, `stride[0]` apart, follow at `at` before the next jump. */
typedef struct {
    char *at;
    npy_intp left;
    npy_intp index[MAX_AXES];
} Cursor;

/* The axes of a space in the order in which they are walked, outermost first. */
typedef struct {
    int axes;
    npy_intp size;
    npy_intp shape[MAX_AXES]; /* in the arrays' own order */
    signed char order[MAX_AXES];
    bool c_order;
} Space;

int space_broadcast(Space *space, PyArrayObject *array);
int space_set_order(Space *space, int axes, const signed char *order);
void walk_linear(Walk *walk, char *base, npy_intp size, npy_intp stride);
void walk_array(Walk *walk, const Space *space, PyArrayObject *array, int axes_dropped);
void walk_strides(Walk *walk, const Space *space, char *base, const npy_intp *strides, int axes);
void cursor_seek(const Walk *walk, npy_intp position, Cursor *cursor);
void cursor_advance(const Walk *walk, Cursor *cursor, npy_intp elements);
void walk_gather(const Walk *walk, npy_intp from, npy_intp count, char *to, npy_intp itemsize);
void walk_scatter(const Walk *walk, npy_intp from, npy_intp count, const char *source,
                  npy_intp step, npy_intp itemsize);
void copy_strided(char *to, npy_intp to_step, const char *from, npy_intp from_step, npy_intp count,
                  npy_intp itemsize);

static inline bool
walk_is_linear(const Walk *walk)
{
    return walk->axes <= 1;
}

static inline npy_intp
walk_step(const Walk *walk)
{
    return walk->axes == 0 ? 0 : walk->stride[0];
}

/* memory.c */
int memory_begin(PyObject *module);
void *memory_take(size_t bytes);
void memory_give(void *data);
PyArrayObject *memory_new_array(PyArray_Descr *descr, int axes, const npy_intp *shape,
                                const npy_intp *strides, npy_intp bytes);
PyArrayObject *memory_array_over(PyArray_Descr *descr, int axes, const npy_intp *shape,
                                 const npy_intp *strides, void *data, npy_intp bytes);
extern PyMethodDef memory_methods[];

/* threads.c */
typedef int Task(void *context, npy_intp first, npy_intp past);
int threads_count(void);
bool threads_run(Task *task, void *context, npy_intp tasks, npy_intp chunk);
bool threads_run_awake(Task *task, void *context, npy_intp tasks, npy_intp chunk);
char *threads_scratch(size_t bytes);
int threads_begin(void);
extern PyMethodDef threads_methods[];

/* Whether an object is an array of NumPy's own whose elements can be read side by side in C order.
 */
static inline bool
is_read_in_order(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_ISBEHAVED_RO((PyArrayObject *)object) &&
           PyArray_IS_C_CONTIGUOUS((PyArrayObject *)object);
}

/* llvm.c */
extern PyMethodDef llvm_methods[];
extern PyMethodDef object_methods[];
extern PyMethodDef chosen_methods[];
extern PyMethodDef window_methods[];
extern PyMethodDef bin_methods[];
extern PyMethodDef running_methods[];
extern PyMethodDef ordered_methods[];
extern PyMethodDef place_methods[];
extern PyMethodDef search_methods[];
extern PyMethodDef small_methods[];

/* error_state.c */
int error_state_begin(void);
int error_state_read(unsigned *mask, bool *only_warns);
int error_state_warnings_are_plain(void);
PyObject *error_state_raise(unsigned mask);
void error_state_restore(PyObject *token);

#endif
