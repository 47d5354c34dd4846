/* The objects that a nest is given, as words and cells; the objects that it gives back. */
#include "nest/nest.h"

#include <numpy/arrayscalars.h>

/* For SLOT_FLOAT, SLOT_INT and SLOT_BOOL: Python's type, and NumPy's. */
static Number number_of[3][2];

/* Returns 0, or -1 with an exception. */
int
objects_begin(void)
{
    static const int types[3] = {NPY_DOUBLE, NPY_LONG, NPY_BOOL};
    PyTypeObject *python[3] = {&PyFloat_Type, &PyLong_Type, &PyBool_Type};
    for (int i = 0; i < 3; i++) {
        PyArray_Descr *descr = PyArray_DescrFromType(types[i]);
        int failed = descr == NULL || number_type((PyObject *)python[i], &number_of[i][0]) < 0 ||
                     number_type((PyObject *)descr, &number_of[i][1]) < 0;
        Py_XDECREF(descr);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* Whether an array's memory came from NumPy's allocator: then nobody but NumPy's arrays has it. */
static bool
is_private(PyArrayObject *array)
{
    while (!PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA)) {
        PyObject *base = PyArray_BASE(array);
        if (base == NULL || !PyArray_Check(base)) {
            return false;
        }
        array = (PyArrayObject *)base;
    }
    return true;
}

/* Set by `np.broadcast_arrays`; NumPy has no name for it in its headers. */
static bool
warns_when_written(PyArrayObject *array)
{
    return (unsigned)PyArray_FLAGS(array) >> 31;
}

/* Whether an object is an array as the slot says. */
static bool
array_fits(const NestSlot *slot, PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    const PyArray_Descr *descr = PyArray_DESCR(array);
    if (descr->type_num != slot->type || !PyArray_ISNBO(descr->byteorder) ||
        PyArray_NDIM(array) != slot->axes || !PyArray_ISALIGNED(array)) {
        return false;
    }
    return !slot->changed ||
           (PyArray_ISWRITEABLE(array) && !warns_when_written(array) && is_private(array));
}

static bool
number_cells(SlotKind kind, PyObject *object, Register *cells)
{
    const Number *number = number_of[kind - SLOT_FLOAT];
    bool numpy = Py_IS_TYPE(object, number[1].object_type);
    cells[1].whole = numpy;
    return number_read(&number[numpy], object, &cells[0]);
}

/*
 * Fill the words and all cells but the last from borrowed objects. False: a nest cannot take some
 * object. Runs no Python code, sets no exception.
 */
bool
objects_read(const Nest *nest, PyObject *const *objects, int64_t *words, Register *cells)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_ARRAY) {
            if (!array_fits(slot, objects[i])) {
                return false;
            }
            PyArrayObject *array = (PyArrayObject *)objects[i];
            *words++ = (int64_t)(intptr_t)PyArray_DATA(array);
            for (int axis = 0; axis < slot->axes; axis++) {
                words[axis] = PyArray_DIM(array, axis);
                words[slot->axes + axis] = PyArray_STRIDE(array, axis);
            }
            words += 2 * slot->axes;
        }
        else if (slot->kind == SLOT_RANGE) {
            Range range;
            if (!range_read(objects[i], &range)) {
                return false;
            }
            cells[0].whole = range.next;
            cells[1].whole = range.step;
            cells[2].whole = range.left;
            cells += 3;
        }
        else {
            if (!number_cells(slot->kind, objects[i], cells)) {
                return false;
            }
            cells += 2;
        }
    }
    return true;
}

/*
 * Make the numbers that are changed: new references. One that is as it was is the object that was
 * given. False, with no exception and nothing made: no memory. Runs no Python code: none of them is
 * known to the garbage collector.
 */
bool
objects_make(const Nest *nest, PyObject *const *objects, const Register *before,
             const Register *after, PyObject **made)
{
    int count = 0;
    for (int i = 0, cell = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->changed && slot->kind != SLOT_ARRAY) {
            const Number *number = number_of[slot->kind - SLOT_FLOAT];
            bool same = before[cell].natural == after[cell].natural &&
                        before[cell + 1].natural == after[cell + 1].natural;
            made[count] = same ? Py_NewRef(objects[i])
                               : number_object(&number[after[cell + 1].whole != 0], after[cell]);
            if (made[count++] == NULL) {
                while (--count > 0) {
                    Py_DECREF(made[count - 1]);
                }
                PyErr_Clear();
                return false;
            }
        }
        cell += slot->kind == SLOT_ARRAY ? 0 : slot->kind == SLOT_RANGE ? 3 : 2;
    }
    return true;
}
