/*
 * What machine code of nests calls. All give 0, or 1 for a doubt, and set no exception. They raise
 * the floating-point flags that NumPy would look at, and no others.
 */
#include "nest/nest.h"

/* The product of two vectors as `np.matmul` has it: NumPy's own function for the dtype. */
static void
product(int type, char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
        int64_t count)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type); /* a singleton: never fails */
    PyDataType_GetArrFuncs(descr)->dotfunc(left, left_step, right, right_step, result, count, NULL);
    Py_DECREF(descr);
}

/* A vector as `np.dot` reads it: copied where its step is not positive. NULL: there is no memory.
 */
static char *
forward(char *items, npy_intp *step, int64_t count, char **memory)
{
    if (*step > 0 || count < 2) {
        return items;
    }
    *memory = memory_take((size_t)count * sizeof(int64_t));
    if (*memory != NULL) {
        copy_strided(*memory, sizeof(int64_t), items, *step, count, sizeof(int64_t));
        *step = sizeof(int64_t);
    }
    return *memory;
}

/* As `np.dot` has it: a product of single numbers adds no zero. */
static int
real_dot(char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
         int64_t count)
{
    char *memory[2] = {NULL, NULL};
    left = forward(left, &left_step, count, &memory[0]);
    right = left == NULL ? NULL : forward(right, &right_step, count, &memory[1]);
    if (right != NULL && count == 1) {
        double product = *(double *)left * *(double *)right;
        memcpy(result, &product, sizeof product);
    }
    else if (right != NULL) {
        product(NPY_DOUBLE, result, left, left_step, right, right_step, count);
    }
    memory_give(memory[0]);
    memory_give(memory[1]);
    return right == NULL;
}

static int
real_matmul(char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
            int64_t count)
{
    product(NPY_DOUBLE, result, left, left_step, right, right_step, count);
    return 0;
}

static int
whole_dot(char *result, char *left, npy_intp left_step, char *right, npy_intp right_step,
          int64_t count)
{
    product(NPY_LONG, result, left, left_step, right, right_step, count);
    return 0;
}

/* What a loop over doubles gives for one element, as NumPy gives it a scalar's. */
static double
real_scalar(const Loop *loop, double first, double second, double third)
{
    double items[3] = {first, second, third}, result = 0;
    char *data[4] = {(char *)&items[0], (char *)&items[1], (char *)&items[2]};
    npy_intp steps[4] = {0, 0, 0, 0};
    data[loop->inputs] = (char *)&result;
    steps[loop->inputs] = sizeof result;
    nest_loop(loop, data, 1, steps); /* loops over doubles fail never */
    return result;
}

static PyObject *
nest_helpers(PyObject *module, PyObject *unused)
{
    const struct {
        const char *name;
        void *address;
    } table[] = {
        {"grow", (void *)nest_grow},     {"patience", (void *)nest_patience},
        {"loop", (void *)nest_loop},     {"map", (void *)nest_map},
        {"fold", (void *)nest_fold},     {"dot.d", (void *)real_dot},
        {"dot.l", (void *)whole_dot},    {"matmul.d", (void *)real_matmul},
        {"matmul.l", (void *)whole_dot}, {"scalar.d", (void *)real_scalar},
        {"reduce", (void *)nest_reduce},
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
