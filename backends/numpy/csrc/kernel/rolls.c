/* Operands whose elements are moved along axes, as `np.roll` moves them: tiles copy what they need.
 */
#include "kernel/rolls.h"

static int
read_roll(Kernel *kernel, PyObject *one)
{
    PyObject *shifts;
    int operand;
    if (!PyArg_ParseTuple(one, "iO!:roll", &operand, &PyTuple_Type, &shifts)) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(shifts);
    if (operand < 0 || operand >= kernel->operands || kernel->value[operand].roll != NULL ||
        count > MAX_AXES) {
        PyErr_Format(PyExc_ValueError, "operand %d cannot be rolled", operand);
        return -1;
    }
    Roll *roll = PyMem_Calloc(1, sizeof(Roll));
    if (roll == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    kernel->value[operand].roll = roll;
    kernel->rolled++;
    for (; roll->count < count; roll->count++) {
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(shifts, roll->count), "in:shift",
                              &roll->axis[roll->count], &roll->places[roll->count])) {
            return -1;
        }
        if (roll->axis[roll->count] < 0) {
            PyErr_SetString(PyExc_ValueError, "an axis is counted from the first");
            return -1;
        }
    }
    return 0;
}

/* Read pairs of an operand and its shifts, which are pairs of an axis and how far. -1: exception.
 */
int
rolls_read(Kernel *kernel, PyObject *rolls)
{
    for (Py_ssize_t i = 0; rolls != NULL && i < PyTuple_GET_SIZE(rolls); i++) {
        PyObject *one = PyTuple_GET_ITEM(rolls, i);
        if (!PyTuple_Check(one)) {
            PyErr_Format(PyExc_TypeError, "a roll is (operand, shifts), not %R", one);
            return -1;
        }
        if (read_roll(kernel, one) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Find out how far an array is rolled over a space. */
void
rolled_bind(Rolled *rolled, const Roll *roll, const Space *space, PyArrayObject *array,
            const Walk *walk)
{
    rolled->walk = walk;
    rolled->blocks = 0;
    int missing = space->axes - PyArray_NDIM(array);
    npy_intp block = space->size;
    for (int i = 0; i < space->axes && block > 0; i++) {
        int axis = space->order[i];
        npy_intp length = space->shape[axis], inner = block / length, places = 0;
        for (int j = 0; j < roll->count; j++) {
            if (roll->axis[j] + missing == axis) {
                places = (places + roll->places[j] % length + length) % length;
            }
        }
        /* along an axis that is repeated all elements are one */
        if (places != 0 && PyArray_DIM(array, axis - missing) == length) {
            rolled->block[rolled->blocks] = block;
            rolled->back[rolled->blocks++] = places * inner;
        }
        block = inner;
    }
}

static char *
gather_blocks(const Rolled *rolled, int outer, npy_intp from, npy_intp count, char *to,
              npy_intp itemsize)
{
    const Walk *walk = rolled->walk;
    if (outer == rolled->blocks) {
        if (walk_is_linear(walk)) {
            npy_intp step = walk_step(walk);
            copy_strided(to, itemsize, walk->base + from * step, step, count, itemsize);
        }
        else {
            walk_gather(walk, from, count, to, itemsize);
        }
        return to + count * itemsize;
    }
    npy_intp block = rolled->block[outer], place = from % block, begin = from - place;
    while (count > 0) {
        npy_intp source = place - rolled->back[outer];
        source += source < 0 ? block : 0;
        npy_intp piece = block - (place > source ? place : source);
        piece = piece < count ? piece : count;
        to = gather_blocks(rolled, outer + 1, begin + source, piece, to, itemsize);
        count -= piece;
        place += piece;
        if (place == block) {
            place = 0;
            begin += block;
        }
    }
    return to;
}

/* Copy elements `from` and on of a rolled operand to contiguous memory. */
void
rolled_gather(const Rolled *rolled, npy_intp from, npy_intp count, char *to, npy_intp itemsize)
{
    gather_blocks(rolled, 0, from, count, to, itemsize);
}
