/* Results of a kernel: fresh arrays, and operands written over. */
#include "kernel/results.h"

static PyArrayObject *
new_result(Binding *binding, const Result *result)
{
    const Kernel *kernel = binding->run.kernel;
    const Space *space = &binding->space;
    const Value *value = &kernel->value[result->value];
    npy_intp strides[MAX_AXES], shape[MAX_AXES], bytes = value->itemsize;
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef(value->descr);
    if (result->kind == RESULT_ROWS) {
        int axes = space->axes - 1;
        memcpy(shape, space->shape, sizeof(npy_intp) * (size_t)axes);
        if (result->keepdims) {
            shape[axes++] = 1;
        }
        return memory_new_array(descr, axes, shape, NULL, binding->run.size * bytes);
    }
    if (__builtin_mul_overflow(bytes, space->size, &bytes)) {
        Py_DECREF(descr);
        PyErr_NoMemory();
        return NULL;
    }
    if (result->axes < 0) {
        return memory_new_array(descr, space->axes, space->shape, NULL, bytes);
    }
    npy_intp stride = value->itemsize;
    for (int i = result->axes - 1; i >= 0; i--) {
        int axis = result->order[i];
        strides[axis] = stride;
        stride *= space->shape[axis];
    }
    return memory_new_array(descr, space->axes, space->shape, strides, bytes);
}

/* Whether another operand shares the memory of operand `target`: the planner gives only equal
 * views.
 */
bool
has_twin(const Binding *binding, int target)
{
    const void *data = PyArray_DATA((PyArrayObject *)binding->arguments[target]);
    for (int i = 0; i < binding->run.kernel->operands; i++) {
        PyObject *other = binding->arguments[i];
        if (i != target && PyArray_CheckExact(other) &&
            PyArray_DATA((PyArrayObject *)other) == data) {
            return true;
        }
    }
    return false;
}

/* Prepare to write over an operand. False: the kernel refuses. */
static bool
bind_into(Binding *binding, const Result *result)
{
    Run *run = &binding->run;
    const Space *space = &binding->space;
    PyObject *argument = binding->arguments[result->operand];
    if (!PyArray_CheckExact(argument)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)argument;
    if (!PyArray_ISWRITEABLE(array) || PyArray_NDIM(array) != space->axes ||
        memcmp(PyArray_SHAPE(array), space->shape, sizeof(npy_intp) * (size_t)space->axes) != 0) {
        return false;
    }
    bool again = run->native != NULL || run->withholds; /* what was read may be read again */
    if (run->readings[result->operand] == READ_LINEAR && run->direct[result->value] == NULL &&
        !has_twin(binding, result->operand) && (again ? result->unread : result->read_before)) {
        run->direct[result->value] = run->walks[result->operand].base;
        run->direct_step[result->value] = walk_step(&run->walks[result->operand]);
        return true;
    }
    run->commits[run->commit_count++] = (Commit){result->value, &run->walks[result->operand]};
    return true;
}

/* 0; RUN_REFUSED; RUN_FAILED with an exception. */
int
bind_results(Binding *binding)
{
    Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    for (int i = 0; i < kernel->results; i++) {
        const Result *result = &kernel->result[i];
        const Value *value = &kernel->value[result->value];
        if (result->kind == RESULT_SCALAR) {
            continue;
        }
        if (result->kind == RESULT_INTO) {
            if (!bind_into(binding, result)) {
                return RUN_REFUSED;
            }
            continue;
        }
        PyArrayObject *array = new_result(binding, result);
        if (array == NULL) {
            return RUN_FAILED;
        }
        binding->arrays[i] = array;
        if (result->direct) {
            run->direct[result->value] = PyArray_BYTES(array);
            run->direct_step[result->value] = value->itemsize;
            continue;
        }
        Walk *walk = &binding->commit_walks[i];
        if (result->kind == RESULT_ROWS) {
            walk_linear(walk, PyArray_BYTES(array), run->size, value->itemsize);
        }
        else {
            walk_strides(walk, &binding->space, PyArray_BYTES(array), PyArray_STRIDES(array),
                         binding->space.axes);
        }
        run->commits[run->commit_count++] = (Commit){result->value, walk};
    }
    return 0;
}
