/*
 * Loops of NumPy's in blocks: those of ordinary numbers are done here, others by NumPy. Before one
 * is used it is compared with NumPy's.
 */
#include "loops/quick.h"

#include "loops/operands.h"
#include "loops/powers.h"
#include "loops/remainders.h"
#include "loops/vectors.h"

enum { FEWEST = 12, WIDEST = 8 };

/* An operand as elements that lie beside one another; behind them the first is repeated. */
static const char *
dense_operand(const char *from, npy_intp step, npy_intp itemsize, npy_intp count, npy_intp padded,
              char *copy)
{
    if (step == itemsize && count == padded && (uintptr_t)from % (uintptr_t)itemsize == 0) {
        return from;
    }
    copy_strided(copy, itemsize, from, step, count, itemsize);
    copy_strided(copy + count * itemsize, itemsize, from, 0, padded - count, itemsize);
    return copy;
}

static int
in_blocks(const Loop *loop, char **data, npy_intp count, const npy_intp *steps)
{
    _Alignas(64) char left[QUICK_BLOCK * WIDEST], right[QUICK_BLOCK * WIDEST];
    _Alignas(64) char results[QUICK_BLOCK * WIDEST];
    const npy_intp itemsize = loop->itemsize;
    Overlap overlap = overlap_of(data, count, steps, itemsize);
    if (count < FEWEST || overlap == LIES_ACROSS) {
        return numpys_loop(loop, data[0], data[1], data[2], count, steps);
    }
    if (steps[1] == 0) {
        copy_strided(right, itemsize, data[1], 0, QUICK_BLOCK, itemsize);
    }
    int result = 0;
    for (npy_intp first = 0; first < count && result == 0; first += QUICK_BLOCK) {
        npy_intp some = count - first < QUICK_BLOCK ? count - first : QUICK_BLOCK;
        npy_intp padded = (some + QUICK_VECTOR - 1) / QUICK_VECTOR * QUICK_VECTOR;
        char *a = data[0] + first * steps[0], *b = data[1] + first * steps[1];
        char *to = data[2] + first * steps[2];
        bool direct = steps[2] == itemsize && some == padded && overlap == LIES_APART &&
                      (uintptr_t)to % (uintptr_t)itemsize == 0;
        const char *x = dense_operand(a, steps[0], itemsize, some, padded, left);
        const char *y =
            steps[1] == 0 ? right : dense_operand(b, steps[1], itemsize, some, padded, right);
        if (!loop->block(x, y, direct ? to : results, padded)) {
            result = numpys_loop(loop, a, b, to, some, steps);
        }
        else if (!direct) {
            copy_strided(to, steps[2], results, itemsize, some, itemsize);
        }
    }
    return result;
}

static npy_intp
itemsize_of(int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type); /* of NumPy's own types: does not fail */
    npy_intp itemsize = PyDataType_ELSIZE(descr);
    Py_DECREF(descr);
    return itemsize;
}

/* Whether NumPy gives the same: for every pair of these numbers. */
static bool
agrees_with_numpy(const Loop *loop)
{
    static const double number[] = {
        0,
        -0.0,
        1,
        -1,
        2,
        -2,
        3,
        -3,
        4,
        -5,
        7,
        -7,
        0.1,
        -0.1,
        0.25,
        -0.3,
        1.5,
        -2.5,
        1e-7,
        6.1,
        100,
        127,
        -128,
        255,
        360,
        -1000.25,
        1e6,
        -1e6,
        32767,
        -32768,
        65535,
        1e9,
        -2147483648.0,
        2147483647.0,
        4294967295.0,
        1e12,
        -1e12,
        1e15,
    };
    enum { COUNT = sizeof number / sizeof *number, SOME = QUICK_VECTOR };
    _Alignas(64) char x[(COUNT + SOME) * WIDEST], y[SOME * WIDEST];
    _Alignas(64) char own[SOME * WIDEST], numpys[SOME * WIDEST];
    const npy_intp itemsize = loop->itemsize, steps[3] = {itemsize, itemsize, itemsize};
    npy_intp count = 0, compared = 0;
    for (int i = 0; i < COUNT; i++) {
        count += store_number(loop->types[0], number[i], x + count * itemsize);
    }
    copy_strided(x + count * itemsize, itemsize, x, 0, SOME, itemsize);
    for (int i = 0; i < COUNT; i++) {
        if (number[i] == 0 || !store_number(loop->types[0], number[i], y)) {
            continue;
        }
        copy_strided(y + itemsize, itemsize, y, 0, SOME - 1, itemsize);
        for (npy_intp first = 0; first < count; first += SOME) {
            if (!loop->block(x + first * itemsize, y, own, SOME)) {
                continue;
            }
            if (numpys_loop(loop, x + first * itemsize, y, numpys, SOME, steps) != 0 ||
                memcmp(own, numpys, (size_t)(SOME * itemsize)) != 0) {
                return false;
            }
            compared++;
        }
    }
    return compared > 0;
}

/* Set what is done here of a loop of NumPy's. */
void
set_quick(Loop *loop)
{
    int type = loop->types[0];
    if (loop->inputs != 2 || loop->outputs != 1 || loop->types[1] != type ||
        loop->types[2] != type) {
        return;
    }
    loop->block = remainder_block(loop->name, type);
    if (loop->block != NULL) {
        loop->itemsize = itemsize_of(type);
        if (agrees_with_numpy(loop)) {
            loop->quick = in_blocks;
        }
    }
    else if (strcmp(loop->name, "power") == 0 && (type == NPY_DOUBLE || type == NPY_FLOAT)) {
        loop->itemsize = itemsize_of(type);
        loop->quick = quick_power(loop);
    }
}
