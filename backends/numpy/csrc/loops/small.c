/*
 * NumPy's own loops, run once over small arrays, without what its machinery takes for a call: half
 * a microsecond and more. What is not ordinary (sizes, layouts, flags that are raised) is NumPy's
 * function itself.
 */
#include "loops/small.h"

#include "loops/column_folds.h"
#include "loops/loops.h"
#include "loops/short_folds.h"

#include <math.h>
#include <stddef.h>
#include <structmember.h>

enum {
    MOST_LETTERS = 4,
    MOST_OPERANDS = 3,
    MOST_WORK = 1 << 14, /* steps of the innermost loop: above, NumPy takes long anyway */
    MOST_ELEMENTS = 1 << 13,
    TERMS = 1, /* the letter of a product that its result does not have */
    MOST_SKIPPED = 1 << 10,
};

/* The axes of an operand: which letter of the signature each is, and whether operands have it. */
typedef struct {
    short count, letter[2];
    bool is_missing[2];
} Axes;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Loop *loop;
    PyObject *function; /* NumPy's own */
    PyObject *more;     /* its further arguments, or NULL */
    int doubts, skip;   /* runs in a row that were NumPy's in the end; so many more calls are */
    bool is_array;      /* the axes that are folded stay, with one element */
    short axis;         /* 0: the first axes are folded, 1: the last one, 2: that and the last but
                           two, -1: all */
    short kept;         /* how many are not */
    bool is_short;  /* few elements are folded, or few columns, as the loop's short folds do it */
    bool has_start; /* it begins with `start`, else with the first element */
    char start[16];
    Axes axes[MOST_OPERANDS]; /* of a function of matrices */
    short letters;
    bool is_cubic; /* it takes as many steps as a cube has elements */
    bool is_dot;   /* `np.dot`, which copies what has gaps first */
} Small;

static PyTypeObject *small_type;

/* NumPy's own function. */
static PyObject *
numpys_own(const Small *self, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *all[MAX_ARGUMENTS];
    Py_ssize_t more = self->more == NULL ? 0 : PyTuple_GET_SIZE(self->more);
    if (count + more > MAX_ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "not so many arguments");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count + more; i++) {
        all[i] = i < count ? arguments[i] : PyTuple_GET_ITEM(self->more, i - count);
    }
    return PyObject_Vectorcall(self->function, all, (size_t)(count + more), NULL);
}

static bool
runs_once(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    int result = loop->strided(loop->context, data, lengths, steps, loop->auxdata);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return result == 0;
}

/* Whether an object is an array whose elements the loop can take where they are. */
static bool
fits(const Small *self, PyObject *object)
{
    return PyArray_CheckExact(object) &&
           PyArray_TYPE((PyArrayObject *)object) == self->loop->types[0] &&
           PyArray_ISBEHAVED_RO((PyArrayObject *)object);
}

/* Whether a run, before which flags were cleared, gave NumPy's result, of which nothing is to be
 * said. Where it did not NumPy computes anew: so the next calls are NumPy's, ever more. */
static bool
is_certain(Small *self, bool is_done)
{
    if (is_done && status_raw() == 0) {
        self->doubts = 0;
        return true;
    }
    self->doubts++;
    self->skip = self->doubts < 10 ? 1 << self->doubts : MOST_SKIPPED;
    return false;
}

static bool
runs(Small *self, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    status_clear();
    return is_certain(self, runs_once(self->loop, data, lengths, steps));
}

/* Whether this call is NumPy's. */
static bool
is_skipped(Small *self)
{
    self->skip -= self->skip > 0;
    return self->skip > 0;
}

/*
 * The one array that a call is given, borrowed: in C order, with some elements, up to `most`. NULL:
 * the call gives `*result`, NumPy's own, or NULL with an exception.
 */
static PyArrayObject *
one_array(Small *self, PyObject *const *arguments, size_t nargsf, PyObject *names, npy_intp most,
          PyObject **result)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (names != NULL || count != 1) {
        *result = PyErr_Format(PyExc_TypeError, "%R takes one array", self);
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    if (is_skipped(self) || !fits(self, arguments[0]) || !PyArray_IS_C_CONTIGUOUS(array) ||
        PyArray_NDIM(array) < 1 || PyArray_SIZE(array) < 1 || PyArray_SIZE(array) > most) {
        *result = numpys_own(self, arguments, count);
        return NULL;
    }
    return array;
}

static size_t
item_size(int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    size_t size = descr == NULL ? 0 : (size_t)PyDataType_ELSIZE(descr);
    Py_XDECREF(descr);
    return size;
}

/* ---- functions of matrices ---- */

/* The length of each letter, by the arrays that have it. False: they differ, or are not small. */
static bool
read_lengths(const Small *self, PyObject *const *arguments, npy_intp *lengths)
{
    for (int i = 0; i < self->letters; i++) {
        lengths[i] = -1;
    }
    for (int k = 0; k < self->loop->inputs; k++) {
        PyArrayObject *array = (PyArrayObject *)arguments[k];
        const Axes *axes = &self->axes[k];
        for (int i = 0, axis = 0; i < axes->count; i++) {
            npy_intp length = axes->is_missing[i] ? 1 : PyArray_DIM(array, axis++);
            npy_intp *known = &lengths[axes->letter[i]];
            if (*known >= 0 && *known != length) {
                return false;
            }
            *known = length;
        }
    }
    npy_intp work = 1;
    for (int i = 0; i < self->letters; i++) {
        for (int power = i == 0 && self->is_cubic ? 3 : 1; power > 0; power--) {
            if (lengths[i] < 1 || lengths[i] > MOST_WORK || (work *= lengths[i]) > MOST_WORK) {
                return false;
            }
        }
    }
    return true;
}

static int
axes_present(const Axes *axes)
{
    int present = 0;
    for (int i = 0; i < axes->count; i++) {
        present += !axes->is_missing[i];
    }
    return present;
}

/* Whether an array's elements lie side by side, in the order of its axes or the other one. */
static bool
has_no_gaps(PyArrayObject *array)
{
    return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

/* Whether elements of a loop's first type are no infinities and no NaN. */
bool
are_finite(const Loop *loop, const char *data, npy_intp count, npy_intp step)
{
    int type = loop->types[0];
    for (npy_intp i = 0; i < count && (type == NPY_DOUBLE || type == NPY_FLOAT); i++) {
        const char *at = data + i * step;
        if (type == NPY_DOUBLE ? !isfinite(*(const double *)at) : !isfinite(*(const float *)at)) {
            return false;
        }
    }
    return true;
}

/*
 * Whether `np.dot` gives what the loop gives: it adds the product of one number to no zero, and has
 * BLAS multiply a column by a row, which warns of infinities.
 */
static bool
is_certain_dot(const Small *self, PyObject *const *arguments, const npy_intp *lengths)
{
    if (lengths[TERMS] > 1) {
        return true;
    }
    bool are_certain = lengths[TERMS - 1] > 1 && lengths[TERMS + 1] > 1;
    for (int k = 0; k < self->loop->inputs && are_certain; k++) {
        PyArrayObject *array = (PyArrayObject *)arguments[k];
        npy_intp size = PyArray_SIZE(array), step = PyArray_ITEMSIZE(array);
        are_certain = are_finite(self->loop, PyArray_BYTES(array), size, step);
    }
    return are_certain;
}

/* A function with a signature, once. */
static PyObject *
of_matrices(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *names)
{
    Small *self = (Small *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    int inputs = self->loop->inputs;
    if (names != NULL || count != inputs) {
        return PyErr_Format(PyExc_TypeError, "%R takes %d arrays", self, inputs);
    }
    if (is_skipped(self)) {
        return numpys_own(self, arguments, count);
    }
    for (int k = 0; k < inputs; k++) {
        if (!fits(self, arguments[k]) ||
            PyArray_NDIM((PyArrayObject *)arguments[k]) != axes_present(&self->axes[k]) ||
            (self->is_dot && !has_no_gaps((PyArrayObject *)arguments[k]))) {
            return numpys_own(self, arguments, count);
        }
    }
    npy_intp lengths[1 + MOST_LETTERS] = {1};
    if (!read_lengths(self, arguments, lengths + 1) ||
        (self->is_dot && !is_certain_dot(self, arguments, lengths + 1))) {
        return numpys_own(self, arguments, count);
    }
    npy_intp shape[2], steps[MOST_OPERANDS * 3] = {0}, *step = steps + inputs + 1;
    int axis = 0;
    const Axes *results = &self->axes[inputs];
    for (int i = 0; i < results->count; i++) {
        if (!results->is_missing[i]) {
            shape[axis++] = lengths[1 + results->letter[i]];
        }
    }
    PyArrayObject *made =
        (PyArrayObject *)PyArray_SimpleNew(axis, shape, self->loop->types[inputs]);
    if (made == NULL) {
        return NULL;
    }
    char *data[MOST_OPERANDS];
    for (int k = 0; k <= inputs; k++) {
        PyArrayObject *array = k < inputs ? (PyArrayObject *)arguments[k] : made;
        const Axes *axes = &self->axes[k];
        data[k] = PyArray_BYTES(array);
        for (int i = 0, own = 0; i < axes->count; i++) {
            bool is_there = !axes->is_missing[i];
            /* NumPy makes the step along one element 0, and its loop looks at it */
            bool has_step = is_there && (self->is_dot || PyArray_DIM(array, own) != 1);
            *step++ = has_step ? PyArray_STRIDE(array, own) : 0;
            own += is_there;
        }
    }
    if (!runs(self, data, lengths, steps)) {
        Py_DECREF(made);
        return numpys_own(self, arguments, count);
    }
    return PyArray_Return(made);
}

/* The root of the sum of the squares of all elements, by the loop of a product of two vectors. */
static PyObject *
norm(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *names)
{
    Small *self = (Small *)callable;
    PyObject *result_of_numpy;
    PyArrayObject *array =
        one_array(self, arguments, nargsf, names, MOST_ELEMENTS, &result_of_numpy);
    if (array == NULL) {
        return result_of_numpy;
    }
    npy_intp itemsize = PyArray_ITEMSIZE(array);
    _Alignas(16) char result[16];
    char *data[MOST_OPERANDS] = {PyArray_BYTES(array), PyArray_BYTES(array), result};
    const npy_intp lengths[1 + MOST_LETTERS] = {1, 1, PyArray_SIZE(array), 1};
    const npy_intp steps[MOST_OPERANDS * 3] = {[4] = itemsize, [5] = itemsize};
    if (!runs(self, data, lengths, steps)) {
        return numpys_own(self, arguments, 1);
    }
    if (self->loop->types[0] == NPY_DOUBLE) {
        *(double *)result = sqrt(*(double *)result);
    }
    else {
        *(float *)result = sqrtf(*(float *)result);
    }
    return PyArray_Scalar(result, PyArray_DESCR(array), NULL);
}

/* ---- totals ---- */

/* What a ufunc's `reduce` makes of all elements of an array in C order. */
static PyObject *
total(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *names)
{
    Small *self = (Small *)callable;
    PyObject *result_of_numpy;
    PyArrayObject *array =
        one_array(self, arguments, nargsf, names, MOST_ELEMENTS, &result_of_numpy);
    if (array == NULL) {
        return result_of_numpy;
    }
    npy_intp size = PyArray_SIZE(array), itemsize = PyArray_ITEMSIZE(array);
    _Alignas(16) char result[16];
    char *from = PyArray_BYTES(array);
    memcpy(result, self->has_start ? self->start : from, (size_t)itemsize);
    npy_intp begun = !self->has_start, left = size - begun;
    char *data[3] = {result, from + begun * itemsize, result};
    const npy_intp steps[3] = {0, itemsize, 0};
    if (left > 0 && !runs(self, data, &left, steps)) {
        return numpys_own(self, arguments, 1);
    }
    if (!self->is_array) {
        return PyArray_Scalar(result, PyArray_DESCR(array), NULL);
    }
    npy_intp ones[NPY_MAXDIMS];
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        ones[axis] = 1;
    }
    PyArrayObject *made =
        (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(array), ones, self->loop->types[2]);
    if (made != NULL) {
        memcpy(PyArray_DATA(made), result, (size_t)itemsize);
    }
    return (PyObject *)made;
}

/* Fold one vector into another, or (`step` 0) into one element. */
static bool
folds(const Small *self, char *to, npy_intp step, char *from, npy_intp itemsize, npy_intp count)
{
    char *data[3] = {to, from, to};
    const npy_intp steps[3] = {step, itemsize, step};
    return count == 0 || runs_once(self->loop, data, &count, steps);
}

/* Fold each column into a result (axis 0) or each row. */
static bool
folds_each(const Small *self, char *from, npy_intp itemsize, npy_intp rows, npy_intp columns,
           char *to)
{
    npy_intp begun = !self->has_start;
    npy_intp next = self->axis == 0 ? itemsize : columns * itemsize; /* a result's first element */
    for (npy_intp i = 0; i < (self->axis == 0 ? columns : rows); i++) {
        memcpy(to + i * itemsize, self->has_start ? self->start : from + i * next,
               (size_t)itemsize);
    }
    bool is_done = true;
    if (self->axis == 0) {
        for (npy_intp i = begun; i < rows && is_done; i++) {
            is_done = folds(self, to, itemsize, from + i * columns * itemsize, itemsize, columns);
        }
    }
    else {
        for (npy_intp i = 0; i < rows && is_done; i++) {
            char *row = from + (i * columns + begun) * itemsize;
            is_done = folds(self, to + i * itemsize, 0, row, itemsize, columns - begun);
        }
    }
    return is_done;
}

/* The same of few columns or of short rows. */
static bool
folds_short(const Small *self, const char *from, npy_intp itemsize, npy_intp rows, npy_intp columns,
            char *to)
{
    const Loop *loop = self->loop;
    PyThreadState *thread = rows * columns > MOST_ELEMENTS ? PyEval_SaveThread() : NULL;
    bool is_sure = self->axis == 0 ? fold_columns(loop, from, itemsize, columns, rows, to)
                                   : loop->short_fold(from, columns * itemsize, itemsize, columns,
                                                      rows, to, itemsize);
    if (thread != NULL) {
        PyEval_RestoreThread(thread);
    }
    return is_sure;
}

/* What a ufunc's `reduce` makes of an array in C order along its first axes, or its last one. */
static PyObject *
along(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *names)
{
    Small *self = (Small *)callable;
    PyObject *result_of_numpy;
    PyArrayObject *array =
        one_array(self, arguments, nargsf, names, NPY_MAX_INTP, &result_of_numpy);
    if (array == NULL) {
        return result_of_numpy;
    }
    int ndim = PyArray_NDIM(array), split = self->axis == 0 ? ndim - self->kept : self->kept;
    if (split < 1 || split >= ndim || (self->axis == 1 && split != ndim - 1)) {
        return numpys_own(self, arguments, 1);
    }
    npy_intp rows = 1, columns = 1, shape[NPY_MAXDIMS];
    int axes = 0;
    for (int i = 0; i < ndim; i++) {
        npy_intp length = PyArray_DIM(array, i);
        *(i < split ? &rows : &columns) *= length;
        bool is_folded = (i < split) == (self->axis == 0);
        if (!is_folded || self->is_array) {
            shape[axes++] = is_folded ? 1 : length;
        }
    }
    bool is_short = self->is_short &&
                    (self->axis != 0 ? columns < self->loop->short_limit
                                     : columns <= FEW_COLUMNS && self->loop->column_fold != NULL);
    if (columns < 2 || (!is_short && PyArray_SIZE(array) > MOST_ELEMENTS)) {
        return numpys_own(self, arguments, 1);
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(axes, shape, self->loop->types[2]);
    if (made == NULL) {
        return NULL;
    }
    npy_intp itemsize = PyArray_ITEMSIZE(array);
    char *from = PyArray_BYTES(array), *to = PyArray_BYTES(made);
    status_clear();
    bool is_done = is_short ? folds_short(self, from, itemsize, rows, columns, to)
                            : folds_each(self, from, itemsize, rows, columns, to);
    if (!is_certain(self, is_done)) {
        Py_DECREF(made);
        return numpys_own(self, arguments, 1);
    }
    return (PyObject *)made;
}

/* Whether one of some floating-point numbers is NaN or negative zero; no whole number is. */
static bool
any_is_odd(const Loop *loop, const char *from, npy_intp count)
{
    bool is_odd = false;
    for (npy_intp i = 0; i < count && loop->types[0] == NPY_DOUBLE; i++) {
        uint64_t bits;
        memcpy(&bits, from + i * (npy_intp)sizeof bits, sizeof bits);
        is_odd |= bits == UINT64_C(1) << 63 || bits << 1 > UINT64_C(0x7ff) << 53;
    }
    for (npy_intp i = 0; i < count && loop->types[0] == NPY_FLOAT; i++) {
        uint32_t bits;
        memcpy(&bits, from + i * (npy_intp)sizeof bits, sizeof bits);
        is_odd |= bits == UINT32_C(1) << 31 || bits << 1 > UINT32_C(0xff) << 24;
    }
    return is_odd;
}

/* Fold windows of `height` rows of `width` elements, `across` of them side by side, `down` times:
 * NumPy folds rows first, and adds what they give. */
static bool
folds_windows(const Small *self, const char *from, npy_intp itemsize, npy_intp down,
              npy_intp height, npy_intp across, npy_intp width, char *to)
{
    const Loop *loop = self->loop;
    const npy_intp row = width * itemsize, results = across * itemsize;
    const npy_intp steps[3] = {itemsize, itemsize, itemsize};
    char *folded = PyMem_RawMalloc((size_t)results);
    bool is_done = folded != NULL, is_sure = true;
    for (npy_intp i = 0; i < down && is_done; i++, to += results) {
        for (npy_intp k = 0; k < height && is_done; k++, from += across * row) {
            char *of_rows = k == 0 ? to : folded;
            is_sure &= loop->short_fold(from, row, itemsize, width, across, of_rows, itemsize);
            char *data[3] = {to, folded, to};
            is_done = k == 0 || runs_once(loop, data, &across, steps);
        }
    }
    PyMem_RawFree(folded);
    npy_intp size = down * height * across * width;
    return is_done &&
           (is_sure || (!loop_adds(loop) && !any_is_odd(loop, from - size * itemsize, size)));
}

/* What a ufunc's `reduce` makes of an array in C order along its last axis and the last but two. */
static PyObject *
of_windows(PyObject *callable, PyObject *const *arguments, size_t nargsf, PyObject *names)
{
    Small *self = (Small *)callable;
    PyObject *result_of_numpy;
    PyArrayObject *array =
        one_array(self, arguments, nargsf, names, NPY_MAX_INTP, &result_of_numpy);
    if (array == NULL) {
        return result_of_numpy;
    }
    int ndim = PyArray_NDIM(array), axes = 0;
    npy_intp shape[NPY_MAXDIMS], down = 1;
    if (!self->is_short || ndim < 3 || PyArray_DIM(array, ndim - 1) >= SHORT_FOLD ||
        PyArray_DIM(array, ndim - 1) < 2 || PyArray_DIM(array, ndim - 2) < 2) {
        return numpys_own(self, arguments, 1);
    }
    for (int i = 0; i < ndim; i++) {
        bool is_folded = i == ndim - 3 || i == ndim - 1;
        down *= i < ndim - 3 ? PyArray_DIM(array, i) : 1;
        if (!is_folded || self->is_array) {
            shape[axes++] = is_folded ? 1 : PyArray_DIM(array, i);
        }
    }
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(axes, shape, self->loop->types[2]);
    if (made == NULL) {
        return NULL;
    }
    status_clear();
    bool is_done = folds_windows(self, PyArray_BYTES(array), PyArray_ITEMSIZE(array), down,
                                 PyArray_DIM(array, ndim - 3), PyArray_DIM(array, ndim - 2),
                                 PyArray_DIM(array, ndim - 1), PyArray_BYTES(made));
    if (!is_certain(self, is_done)) {
        Py_DECREF(made);
        return numpys_own(self, arguments, 1);
    }
    return (PyObject *)made;
}

/* ---- objects ---- */

/* `folds`: the loop is to have two inputs, and all of one type. */
static Small *
new_small(vectorcallfunc call, PyObject *object, PyObject *function, PyObject *more, bool folds)
{
    Loop *loop = Py_IS_TYPE(object, loop_type) ? (Loop *)object : NULL;
    if (loop == NULL || loop->strided == NULL || loop->inputs >= MOST_OPERANDS ||
        loop->outputs != 1 ||
        (folds && (loop->inputs != 2 || loop->types[0] != loop->types[1] ||
                   loop->types[0] != loop->types[2]))) {
        PyErr_SetString(PyExc_TypeError, "no loop of NumPy's with one or two inputs and an output");
        return NULL;
    }
    Small *small = (Small *)small_type->tp_alloc(small_type, 0);
    if (small != NULL) {
        small->call = call;
        small->loop = (Loop *)Py_NewRef((PyObject *)loop);
        small->function = Py_NewRef(function);
        small->more = Py_XNewRef(more);
    }
    return small;
}

/* Read a signature like "nk,km,nm"; capital letters are axes that the arrays do not have. */
static bool
read_signature(Small *self, const char *text)
{
    char known[MOST_LETTERS];
    int operand = 0;
    for (; *text != 0; text++) {
        if (*text == ',') {
            if (++operand > self->loop->inputs) {
                return false;
            }
            continue;
        }
        bool is_missing = *text >= 'A' && *text <= 'Z';
        char letter = (char)(is_missing ? *text - 'A' + 'a' : *text);
        Axes *axes = &self->axes[operand];
        int i = 0;
        while (i < self->letters && known[i] != letter) {
            i++;
        }
        if (axes->count == 2 || i == MOST_LETTERS ||
            (i == self->letters && operand == self->loop->inputs)) {
            return false;
        }
        if (i == self->letters) {
            known[self->letters++] = letter;
        }
        axes->is_missing[axes->count] = is_missing;
        axes->letter[axes->count++] = (short)i;
    }
    const Axes *first = &self->axes[0];
    self->is_cubic = first->count == 2 && first->letter[0] == first->letter[1];
    return operand == self->loop->inputs;
}

/* small_function(loop, function, signature, is_dot) */
static PyObject *
small_function(PyObject *module, PyObject *arguments)
{
    PyObject *loop, *function;
    const char *signature;
    int is_dot;
    if (!PyArg_ParseTuple(arguments, "OOsp:small_function", &loop, &function, &signature,
                          &is_dot)) {
        return NULL;
    }
    Small *made = new_small(of_matrices, loop, function, NULL, false);
    bool is_read = made != NULL && read_signature(made, signature);
    if (made != NULL && (!is_read || (is_dot && made->letters != TERMS + 2))) {
        Py_DECREF(made);
        return PyErr_Format(PyExc_ValueError, "no signature of this loop: %s", signature);
    }
    if (made != NULL) {
        made->is_dot = is_dot;
    }
    return (PyObject *)made;
}

/* small_norm(loop, function) */
static PyObject *
small_norm(PyObject *module, PyObject *arguments)
{
    PyObject *loop, *function;
    if (!PyArg_ParseTuple(arguments, "OO:small_norm", &loop, &function)) {
        return NULL;
    }
    Small *made = new_small(norm, loop, function, NULL, true);
    if (made != NULL && made->loop->types[0] != NPY_DOUBLE && made->loop->types[0] != NPY_FLOAT) {
        Py_DECREF(made);
        return PyErr_Format(PyExc_TypeError, "no loop of NumPy's for floats: %R", loop);
    }
    return (PyObject *)made;
}

/* small_total(loop, function, more, start, is_array, axis, kept) */
static PyObject *
small_total(PyObject *module, PyObject *arguments)
{
    PyObject *loop, *function, *more, *start;
    int is_array, axis, kept;
    if (!PyArg_ParseTuple(arguments, "OOO!Opii:small_total", &loop, &function, &PyTuple_Type, &more,
                          &start, &is_array, &axis, &kept)) {
        return NULL;
    }
    if (axis < -1 || axis > 2) {
        return PyErr_Format(PyExc_ValueError, "neither the first axes nor the last: %d", axis);
    }
    Small *made = new_small(axis < 0   ? total
                            : axis < 2 ? along
                                       : of_windows,
                            loop, function, more, true);
    if (made == NULL) {
        return NULL;
    }
    made->axis = (short)axis;
    made->kept = (short)kept;
    made->is_array = is_array;
    if (start != Py_None) {
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(start, &bytes, &size) < 0 ||
            size != (Py_ssize_t)item_size(made->loop->types[2])) {
            Py_DECREF(made);
            return PyErr_Format(PyExc_ValueError, "it begins with the bytes of a number, or None");
        }
        memcpy(made->start, bytes, (size_t)size);
        made->has_start = true;
    }
    static const char zero[sizeof made->start];
    made->is_short = made->loop->short_fold != NULL && made->has_start == loop_adds(made->loop) &&
                     memcmp(made->start, zero, sizeof zero) == 0;
    return (PyObject *)made;
}

static int
small_traverse(Small *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->loop);
    Py_VISIT(self->function);
    Py_VISIT(self->more);
    return 0;
}

static void
small_dealloc(Small *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->loop);
    Py_XDECREF(self->function);
    Py_XDECREF(self->more);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
small_repr(Small *self)
{
    return PyUnicode_FromFormat("<%S of small arrays>", self->function);
}

/* NumPy's function, for listings. */
static PyObject *
small_name(Small *self, void *unused)
{
    PyObject *name = PyObject_GetAttrString(self->function, "__qualname__");
    if (name == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        name = PyObject_GetAttrString(self->function, "__name__");
    }
    return name;
}

static PyGetSetDef small_attributes[] = {
    {"__name__", (getter)small_name, NULL, PyDoc_STR("What NumPy calls it.")},
    {NULL},
};

static PyMemberDef small_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Small, call), READONLY, NULL},
    {NULL},
};

static PyType_Slot small_slots[] = {
    {Py_tp_doc, "A function of NumPy's, for small arrays."},
    {Py_tp_traverse, small_traverse},
    {Py_tp_dealloc, small_dealloc},
    {Py_tp_repr, small_repr},
    {Py_tp_members, small_members},
    {Py_tp_getset, small_attributes},
    {Py_tp_call, PyVectorcall_Call},
    {0, NULL},
};

static PyType_Spec small_spec = {
    .name = "ufuse.backends.numpy._tiles.Small",
    .basicsize = sizeof(Small),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = small_slots,
};

int
small_begin(PyObject *module)
{
    small_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &small_spec, NULL);
    return small_type == NULL ? -1 : 0;
}

PyMethodDef small_methods[] = {
    {"small_function", small_function, METH_VARARGS, PyDoc_STR("A function of small matrices.")},
    {"small_norm", small_norm, METH_VARARGS, PyDoc_STR("The norm of a small array.")},
    {"small_total", small_total, METH_VARARGS, PyDoc_STR("The total of a small array.")},
    {NULL},
};
