/* Arrays that a nest is given: whether they fit, and whose their memory is. */
#include "nest/given/arrays.h"

/* The array that an array's memory belongs to, borrowed; NULL where that is none. */
PyObject *
owner_of_memory(PyArrayObject *array)
{
    while (!PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA)) {
        PyObject *base = PyArray_BASE(array);
        if (base == NULL || !PyArray_Check(base)) {
            return NULL;
        }
        array = (PyArrayObject *)base;
    }
    return (PyObject *)array;
}

/* Whether an array's memory came from NumPy's allocator: then nobody but NumPy's arrays has it. */
bool
is_private(PyArrayObject *array)
{
    return owner_of_memory(array) != NULL;
}

/* Set by `np.broadcast_arrays`; NumPy has no name for it in its headers. */
static bool
warns_when_written(PyArrayObject *array)
{
    return (unsigned)PyArray_FLAGS(array) >> 31;
}

/* Whether an object is an array of a slot's dtype with so many axes, which may be written. */
bool
array_fits(const NestSlot *slot, PyObject *object, int axes, bool written)
{
    if (!PyArray_CheckExact(object)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    const PyArray_Descr *descr = PyArray_DESCR(array);
    if (descr->type_num != slot->type || !PyArray_ISNBO(descr->byteorder) ||
        PyArray_NDIM(array) != axes || !PyArray_ISALIGNED(array)) {
        return false;
    }
    return !written ||
           (PyArray_ISWRITEABLE(array) && !warns_when_written(array) && is_private(array));
}
