/* Iterators over several axes, `itertools.product` and NumPy's flatiter, read and moved. */
#include "nest/given/grids.h"

#include "grid_iterators.h"
#include "nest/given/ranges.h"

static PyTypeObject *product_kind; /* NULL: products have another layout */

/* Find out whether products have the layout assumed here. -1: exception. */
int
grids_begin(void)
{
    product_kind = product_type();
    return PyErr_Occurred() ? -1 : 0;
}

static bool
is_product(PyObject *object)
{
    return product_kind != NULL && Py_IS_TYPE(object, product_kind);
}

/*
 * Read how many turns an iterator over several axes has done, and how many are left. False: it is
 * something else, or has ended. Runs no Python code.
 */
bool
grid_read(SlotKind kind, PyObject *object, Range *range)
{
    GridTurns turns;
    if (kind == SLOT_PRODUCT ? !is_product(object) || !product_turns((Product *)object, &turns)
                             : !Py_IS_TYPE(object, &PyArrayIter_Type) ||
                                   !flat_turns((PyArrayIterObject *)object, &turns)) {
        return false;
    }
    *range = (Range){.next = turns.done, .step = 1, .left = turns.all - turns.done};
    return true;
}

/*
 * Make a tuple for each product, which holds what it gave last: whoever holds the one that it has
 * now keeps that. A collection must not run. 0, or -1 with an exception and none made.
 */
int
grids_prepare(const Nest *nest, PyObject *const *objects, PyObject **results)
{
    int made = 0;
    for (int i = 0; nest->products > 0 && i < nest->given; i++) {
        if (nest->slot[i].kind != SLOT_PRODUCT) {
            continue;
        }
        Py_ssize_t count =
            is_product(objects[i]) ? PyTuple_GET_SIZE(((Product *)objects[i])->pools) : 0;
        results[made] = PyTuple_New(count);
        if (results[made] == NULL) {
            while (made > 0) {
                Py_DECREF(results[--made]);
            }
            return -1;
        }
        PyObject_GC_UnTrack(results[made]); /* nobody is to see it before it has items */
        made++;
    }
    return 0;
}

/* Drop the tuples that no product has taken. */
void
grids_drop(const Nest *nest, PyObject **results)
{
    for (int i = 0; i < nest->products; i++) {
        Py_XDECREF(results[i]);
    }
}

/* Move a product over so many turns, to where it has given `*result` last, which it takes. */
static void
product_move(Product *product, int64_t turns, PyObject **result)
{
    GridTurns at;
    if (!product_turns(product, &at)) {
        return;
    }
    int64_t place = at.done + turns - 1;
    for (Py_ssize_t i = PyTuple_GET_SIZE(product->pools) - 1; i >= 0; i--) {
        PyObject *pool = PyTuple_GET_ITEM(product->pools, i);
        product->indices[i] = place % PyTuple_GET_SIZE(pool);
        place /= PyTuple_GET_SIZE(pool);
        PyObject *item = PyTuple_GET_ITEM(pool, product->indices[i]);
        PyTuple_SET_ITEM(*result, i, Py_NewRef(item));
    }
    PyObject_GC_Track(*result);
    PyObject *before = product->result;
    product->result = *result;
    *result = before; /* of items that the pools hold, too: it dies without code */
}

/* Move a flatiter over so many turns, to where `PyArray_ITER_NEXT` leaves it. */
static void
flat_move(PyArrayIterObject *iterator, int64_t turns)
{
    if (iterator->nd_m1 == 0) {
        iterator->index += turns;
        iterator->coordinates[0] += turns;
        iterator->dataptr += turns * iterator->strides[0];
        return;
    }
    PyArray_ITER_GOTO1D(iterator, iterator->index + turns - 1);
    PyArray_ITER_NEXT(iterator);
}

/* Move an iterator, of which `grid_read` was true, over at least one turn. Runs no Python code. */
void
grid_move(SlotKind kind, PyObject *object, int64_t turns, PyObject **result)
{
    if (kind == SLOT_PRODUCT) {
        product_move((Product *)object, turns, result);
    }
    else {
        flat_move((PyArrayIterObject *)object, turns);
    }
}
