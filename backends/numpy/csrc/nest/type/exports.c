/*
 * What machine code of nests calls. All give 0, or 1 for a doubt, and set no exception. They raise
 * the floating-point flags that NumPy would look at, and no others.
 */
#include "nest/type/exports.h"

#include "nest/form/own_memory.h"
#include "nest/called/arranged.h"
#include "nest/called/indexed.h"
#include "nest/called/maps.h"
#include "nest/called/numpy_loops.h"
#include "nest/called/products.h"
#include "nest/called/reduce.h"
#include "nest/given/generators.h"
#include "nest/given/seeding.h"
#include "nest/containers/keys.h"
#include "nest/run/shared_loops.h"
#include "nest/run/watch.h"

/* NumPy's own products of vectors, by the numbers of their dtypes. */
static PyArray_DotFunc *dot_function[NPY_DOUBLE + 1];

static void
find_dot_functions(void)
{
    for (int type = 0; type <= NPY_DOUBLE; type++) {
        PyArray_Descr *descr = PyArray_DescrFromType(type); /* a singleton: never fails */
        dot_function[type] = PyDataType_GetArrFuncs(descr)->dotfunc;
        Py_DECREF(descr);
    }
}

/* The product of two vectors as `np.matmul` has it: NumPy's own function for the dtype. */
static inline void
product(int type, char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
        int64_t count)
{
    dot_function[type](left, left_step, right, right_step, result, count, NULL);
}

/* A vector as `np.dot` reads it: copied where its step is not positive. NULL: there is no memory.
 */
static char *
forward(char *items, npy_intp *step, int64_t count, npy_intp itemsize, char **memory)
{
    if (*step > 0 || count < 2) {
        return items;
    }
    *memory = memory_take((size_t)(count * itemsize));
    if (*memory != NULL) {
        copy_strided(*memory, itemsize, items, *step, count, itemsize);
        *step = itemsize;
    }
    return *memory;
}

/* As `np.dot` has it, of single numbers, which adds no zero, and of vectors that it may copy. */
static int
odd_dot(int type, char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
        int64_t count)
{
    const npy_intp itemsize = number_bytes(type);
    char *memory[2] = {NULL, NULL};
    left = forward(left, &left_step, count, itemsize, &memory[0]);
    right = left == NULL ? NULL : forward(right, &right_step, count, itemsize, &memory[1]);
    if (right != NULL && count == 1 && type == NPY_FLOAT) {
        *(float *)result = *(float *)left * *(float *)right;
    }
    else if (right != NULL && count == 1) {
        *(double *)result = *(double *)left * *(double *)right;
    }
    else if (right != NULL) {
        product(type, result, left, left_step, right, right_step, count);
    }
    memory_give(memory[0]);
    memory_give(memory[1]);
    return right == NULL;
}

static inline int
real_dot(int type, char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
         int64_t count)
{
    if (count > 1 && left_step > 0 && right_step > 0) {
        product(type, result, left, left_step, right, right_step, count);
        return 0;
    }
    return odd_dot(type, result, left, left_step, right, right_step, count);
}

/* Products of vectors of each type, by the characters of their dtypes. */
#define PRODUCTS(X)                                                                                \
    X(d, NPY_DOUBLE)                                                                               \
    X(f, NPY_FLOAT)                                                                                \
    X(l, NPY_LONG)                                                                                 \
    X(L, NPY_ULONG)                                                                                \
    X(i, NPY_INT)                                                                                  \
    X(I, NPY_UINT)                                                                                 \
    X(h, NPY_SHORT)                                                                                \
    X(H, NPY_USHORT)                                                                               \
    X(b, NPY_BYTE)                                                                                 \
    X(B, NPY_UBYTE)

#define DEFINED(CHARACTER, TYPE)                                                                   \
    static int matmul_##CHARACTER(char *result, char *left, npy_intp left_step, char *right,       \
                                  npy_intp right_step, int64_t count)                              \
    {                                                                                              \
        product(TYPE, result, left, left_step, right, right_step, count);                          \
        return 0;                                                                                  \
    }                                                                                              \
    static int dot_##CHARACTER(char *result, char *left, npy_intp left_step, char *right,          \
                               npy_intp right_step, int64_t count)                                 \
    {                                                                                              \
        if (PyTypeNum_ISFLOAT(TYPE)) {                                                             \
            return real_dot(TYPE, result, left, left_step, right, right_step, count);              \
        }                                                                                          \
        return matmul_##CHARACTER(result, left, left_step, right, right_step, count);              \
    }
PRODUCTS(DEFINED)
#undef DEFINED

/*
 * Powers that only C knows, of `count`, no more than 128. Rows of 128 bases and powers, behind one
 * another, and a bit for each, those of the first in the lowest: 1 where a power is not known. 1
 * where one is not finite: Python may raise.
 */
static int
powers(double (*power)(double, double), double *base, const char *unknown, double exponent,
       int64_t count)
{
    enum { ROOM = 128, WORD = 64 };
    double *result = base + ROOM;
    for (int64_t first = 0; first < count; first += WORD) {
        uint64_t bits;
        memcpy(&bits, unknown + first / 8, sizeof bits);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        bits = __builtin_bswap64(bits);
#endif
        bits &= count - first < WORD ? (UINT64_C(1) << (count - first)) - 1 : ~UINT64_C(0);
        for (; bits != 0; bits &= bits - 1) {
            int64_t i = first + __builtin_ctzll(bits);
            result[i] = power(base[i], exponent);
            if (!isfinite(result[i])) {
                return 1;
            }
        }
    }
    return 0;
}

/* Functions of `math` that CPython computes itself, each release in its own way. */
#define PYTHON_FUNCTIONS(X) X(hypot) X(gamma) X(lgamma)
#define NAMED(NAME) static PyObject *math_##NAME;
PYTHON_FUNCTIONS(NAMED)
#undef NAMED

/* What such a function returns for floats, infinity where it raises. Runs no code of the program.
 */
static double
of_math(PyObject *function, int count, double first, double second)
{
    double result = Py_HUGE_VAL;
    Status before = status_keep();
    PyObject *given[2] = {PyFloat_FromDouble(first), PyFloat_FromDouble(second)};
    PyObject *made = given[0] == NULL || given[1] == NULL
                         ? NULL
                         : PyObject_Vectorcall(function, given, (size_t)count, NULL);
    if (made != NULL && PyFloat_CheckExact(made)) {
        result = PyFloat_AS_DOUBLE(made);
    }
    PyErr_Clear();
    Py_XDECREF(made);
    Py_XDECREF(given[0]);
    Py_XDECREF(given[1]);
    status_put_back(before);
    return result;
}

static double
python_hypot(double first, double second)
{
    return of_math(math_hypot, 2, first, second);
}

static double
python_gamma(double number)
{
    return of_math(math_gamma, 1, number, 0);
}

static double
python_lgamma(double number)
{
    return of_math(math_lgamma, 1, number, 0);
}

/* Returns 0, or -1 with an exception. */
int
exports_begin(void)
{
    find_dot_functions();
    PyObject *math = PyImport_ImportModule("math");
    int failed = math == NULL;
#define NAMED(NAME) failed = failed || (math_##NAME = PyObject_GetAttrString(math, #NAME)) == NULL;
    PYTHON_FUNCTIONS(NAMED)
#undef NAMED
    Py_XDECREF(math);
    return failed ? -1 : 0;
}

static PyObject *
nest_helpers(PyObject *module, PyObject *unused)
{
    const struct {
        const char *name;
        void *address;
    } table[] = {{"grow", (void *)nest_grow},
                 {"extend", (void *)nest_extend},
                 {"patience", (void *)nest_patience},
                 {"room", (void *)nest_room},
                 {"share", (void *)nest_share},
                 {"loop", (void *)nest_loop},
                 {"map", (void *)nest_map},
                 {"fold", (void *)nest_fold},
                 {"scalar.d", (void *)nest_real},
                 {"scalar.f", (void *)nest_single},
                 {"bare.d", (void *)nest_bare_real},
                 {"bare.f", (void *)nest_bare_single},
                 {"keeps_flags", (void *)nest_keeps_flags},
                 {"batch", (void *)nest_batch},
                 {"bare_batch", (void *)nest_bare_batch},
                 {"loop_time", (void *)nest_loop_time},
                 {"powers", (void *)powers},
                 {"reduce", (void *)nest_reduce},
                 {"matmul", (void *)nest_matmul},
                 {"take", (void *)nest_take},
                 {"put", (void *)nest_put},
                 {"position", (void *)nest_position},
                 {"positions", (void *)nest_positions},
                 {"scan", (void *)nest_scan},
                 {"nonzero", (void *)nest_nonzero},
                 {"sort", (void *)nest_sort},
                 {"argsort", (void *)nest_argsort},
                 {"find", (void *)nest_find},
                 {"enter", (void *)nest_enter},
                 {"draws", (void *)nest_draws},
                 {"below", (void *)nest_below},
                 {"gauss", (void *)nest_gauss},
                 {"legacy_gauss", (void *)nest_legacy_gauss},
                 {"legacy_normal", (void *)nest_legacy_normal},
                 {"legacy_exponential", (void *)nest_legacy_exponential},
                 {"seed", (void *)nest_seed},
                 {"legacy_seed", (void *)nest_legacy_seed},
                 {"python_seed", (void *)nest_python_seed},
#define NAMED(NAME) {"python." #NAME, (void *)python_##NAME},
                 PYTHON_FUNCTIONS(NAMED)
#undef NAMED
#define NAMED(CHARACTER, TYPE)                                                                     \
    {"dot." #CHARACTER, (void *)dot_##CHARACTER},                                                  \
        {"matmul." #CHARACTER, (void *)matmul_##CHARACTER},
                     PRODUCTS(NAMED)
#undef NAMED
    };
    PyObject *found = PyDict_New();
    for (size_t i = 0; found != NULL && i < Py_ARRAY_LENGTH(table); i++) {
        PyObject *address = PyLong_FromVoidPtr(table[i].address);
        if (address == NULL || PyDict_SetItemString(found, table[i].name, address) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(address);
    }
    return found;
}

PyMethodDef nest_methods[] = {
    {"nest_helpers", nest_helpers, METH_NOARGS,
     PyDoc_STR("nest_helpers()\n--\n\nAddresses of the functions that machine code of nests "
               "calls, by name.")},
    {NULL},
};
