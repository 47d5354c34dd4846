/*
 * Elements that a mask chooses, as `array[mask]` gives them. NumPy's own loop looks for the next
 * element with branches that no processor foresees; here each element is stored where the next one
 * that is chosen belongs, whether it is chosen or not.
 */
#include "runtime/tiles.h"

enum {
    NEAR = 8, /* elements of a mask that are looked at once */
    FAR = 4 * NEAR,
    LANES = 64,
};

static const uint64_t ALL = 0x0101010101010101;

typedef struct {
    uint64_t half[2];
} Wide;

/* Types of elements, by how many bytes they have. */
#define NUMBERS(X)                                                                                 \
    X(1, uint8_t)                                                                                  \
    X(2, uint16_t)                                                                                 \
    X(4, uint32_t)                                                                                 \
    X(8, uint64_t)
#define ELEMENTS(X)                                                                                \
    NUMBERS(X)                                                                                     \
    X(16, Wide)

/* Eight elements of a mask. */
static inline uint64_t
word_at(const char *mask, npy_intp i)
{
    uint64_t word;
    memcpy(&word, mask + i, sizeof word);
    return word;
}

/* How many elements are not zero. Lanes that the compiler makes vectors of count up to 255 each. */
static npy_intp
count_chosen(const char *mask, npy_intp size)
{
    npy_intp count = 0, i = 0;
    while (i + LANES <= size) {
        uint8_t lane[LANES] = {0};
        npy_intp left = (size - i) / LANES, rounds = left < 255 ? left : 255;
        for (npy_intp end = i + rounds * LANES; i < end; i += LANES) {
            for (int k = 0; k < LANES; k++) {
                lane[k] += mask[i + k] != 0;
            }
        }
        for (int k = 0; k < LANES; k++) {
            count += lane[k];
        }
    }
    for (; i < size; i++) {
        count += mask[i] != 0;
    }
    return count;
}

/* Where the first eight elements from `i` on begin of which one is chosen. There is one. */
static inline npy_intp
skip_others(const char *mask, npy_intp i, npy_intp size)
{
    while (i + FAR <= size && (word_at(mask, i) | word_at(mask, i + NEAR) |
                               word_at(mask, i + 2 * NEAR) | word_at(mask, i + 3 * NEAR)) == 0) {
        i += FAR;
    }
    while (i + NEAR <= size && word_at(mask, i) == 0) {
        i += NEAR;
    }
    return i;
}

/*
 * Elements of each width: `count` are chosen, and nothing is stored behind them. Returns how many
 * were: fewer where another thread has changed the mask since they were counted.
 */
#define CHOOSE(WIDTH, TYPE)                                                                        \
    static npy_intp choose_##WIDTH(TYPE *to, const TYPE *from, const char *mask, npy_intp size,    \
                                   npy_intp count)                                                 \
    {                                                                                              \
        npy_intp i = 0, done = 0;                                                                  \
        while (count - done >= NEAR) {                                                             \
            i = skip_others(mask, i, size);                                                        \
            if (i + NEAR > size) {                                                                 \
                break;                                                                             \
            }                                                                                      \
            if (word_at(mask, i) == ALL) {                                                         \
                memcpy(&to[done], &from[i], NEAR * sizeof(TYPE));                                  \
                done += NEAR;                                                                      \
                i += NEAR;                                                                         \
                continue;                                                                          \
            }                                                                                      \
            for (npy_intp end = i + NEAR; i < end; i++) {                                          \
                to[done] = from[i];                                                                \
                done += mask[i] != 0;                                                              \
            }                                                                                      \
        }                                                                                          \
        for (; done < count && i < size; i++) {                                                    \
            to[done] = from[i];                                                                    \
            done += mask[i] != 0;                                                                  \
        }                                                                                          \
        return done;                                                                               \
    }
ELEMENTS(CHOOSE)
#undef CHOOSE

/*
 * Elements of each width, `count` of them, go where the mask says. Each of the others goes to a
 * place of no use, so that no branch depends on the mask. Returns how many went: fewer where
 * another thread has changed the mask since they were counted.
 */
#define PUT(WIDTH, TYPE)                                                                           \
    static npy_intp put_##WIDTH(TYPE *to, const TYPE *from, const char *mask, npy_intp size,       \
                                npy_intp count)                                                    \
    {                                                                                              \
        npy_intp i = 0, done = 0;                                                                  \
        TYPE nowhere;                                                                              \
        while (count - done >= NEAR) {                                                             \
            i = skip_others(mask, i, size);                                                        \
            if (i + NEAR > size) {                                                                 \
                break;                                                                             \
            }                                                                                      \
            if (word_at(mask, i) == ALL) {                                                         \
                memcpy(&to[i], &from[done], NEAR * sizeof(TYPE));                                  \
                done += NEAR;                                                                      \
                i += NEAR;                                                                         \
                continue;                                                                          \
            }                                                                                      \
            for (npy_intp end = i + NEAR; i < end; i++) {                                          \
                bool is_chosen = mask[i] != 0;                                                     \
                *(is_chosen ? &to[i] : &nowhere) = from[done];                                     \
                done += is_chosen;                                                                 \
            }                                                                                      \
        }                                                                                          \
        for (; done < count && i < size; i++) {                                                    \
            if (mask[i] != 0) {                                                                    \
                to[i] = from[done++];                                                              \
            }                                                                                      \
        }                                                                                          \
        return done;                                                                               \
    }
ELEMENTS(PUT)
#undef PUT

static bool
is_dense(PyArrayObject *array)
{
    return PyArray_CheckExact(array) && PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array);
}

/* Whether both are arrays of one shape whose elements lie side by side, and of a width that is
 * known. */
static bool
is_simple(PyObject *array, PyObject *mask)
{
    if (!PyArray_Check(array) || !PyArray_Check(mask)) {
        return false;
    }
    PyArrayObject *elements = (PyArrayObject *)array, *chosen = (PyArrayObject *)mask;
    int axes = PyArray_NDIM(elements);
    npy_intp width = PyArray_ITEMSIZE(elements);
    return is_dense(elements) && is_dense(chosen) && PyArray_TYPE(chosen) == NPY_BOOL &&
           (PyTypeNum_ISNUMBER(PyArray_TYPE(elements)) || PyArray_TYPE(elements) == NPY_BOOL) &&
           axes > 0 && axes == PyArray_NDIM(chosen) &&
           PyArray_CompareLists(PyArray_DIMS(elements), PyArray_DIMS(chosen), axes) &&
           (width == 1 || width == 2 || width == 4 || width == 8 || width == 16);
}

/*
 * Another thread has set elements to zero since they were counted. What NumPy's `nonzero` raises;
 * its masks leave memory that nobody wrote.
 */
static PyObject *
have_changed(void)
{
    PyErr_SetString(PyExc_RuntimeError,
                    "number of non-zero array elements changed during function execution.");
    return NULL;
}

/* `array[mask]`. */
static PyObject *
chosen(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "chosen() takes an array and a mask");
        return NULL;
    }
    if (!is_simple(arguments[0], arguments[1])) {
        return PyObject_GetItem(arguments[0], arguments[1]);
    }
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    const char *mask = PyArray_BYTES((PyArrayObject *)arguments[1]);
    npy_intp size = PyArray_SIZE(array), wanted = count_chosen(mask, size);
    PyArray_Descr *descr = PyArray_DESCR(array);
    npy_intp width = PyArray_ITEMSIZE(array);
    Py_INCREF(descr);
    PyArrayObject *made = memory_new_array(descr, 1, &wanted, NULL, wanted * width);
    if (made == NULL) {
        return NULL;
    }
    void *to = PyArray_DATA(made), *from = PyArray_DATA(array);
    npy_intp done = 0;
    switch (width) {
#define CHOOSE(WIDTH, TYPE)                                                                        \
    case WIDTH:                                                                                    \
        done = choose_##WIDTH((TYPE *)to, (const TYPE *)from, mask, size, wanted);                 \
        break;
        ELEMENTS(CHOOSE)
#undef CHOOSE
    }
    if (done < wanted) {
        Py_DECREF(made);
        return have_changed();
    }
    return (PyObject *)made;
}

static bool
is_apart(PyArrayObject *one, PyArrayObject *other)
{
    const char *first = PyArray_BYTES(one), *second = PyArray_BYTES(other);
    return first + PyArray_NBYTES(one) <= second || second + PyArray_NBYTES(other) <= first;
}

/* Whether they are as many elements of the array's type as the mask chooses, side by side, and
 * nothing of all this shares memory with the array. */
static bool
may_be_put(PyArrayObject *array, PyArrayObject *mask, PyObject *given, npy_intp count)
{
    if (!PyArray_Check(given) || !PyArray_ISWRITEABLE(array)) {
        return false;
    }
    PyArrayObject *values = (PyArrayObject *)given;
    return is_dense(values) && PyArray_NDIM(values) == 1 && PyArray_DIM(values, 0) == count &&
           PyArray_TYPE(values) == PyArray_TYPE(array) && PyArray_ISNOTSWAPPED(values) &&
           PyArray_ISNOTSWAPPED(array) && is_apart(array, values) && is_apart(array, mask);
}

/* `array[mask] = values`. */
static PyObject *
put_chosen(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    if (given != 3) {
        PyErr_SetString(PyExc_TypeError, "put_chosen() takes an array, a mask and values");
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)arguments[0];
    bool simple = is_simple(arguments[0], arguments[1]);
    const char *mask = simple ? PyArray_BYTES((PyArrayObject *)arguments[1]) : NULL;
    npy_intp size = simple ? PyArray_SIZE(array) : 0, count = simple ? count_chosen(mask, size) : 0;
    if (!simple || !may_be_put(array, (PyArrayObject *)arguments[1], arguments[2], count)) {
        if (PyObject_SetItem(arguments[0], arguments[1], arguments[2]) < 0) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    void *to = PyArray_DATA(array), *from = PyArray_DATA((PyArrayObject *)arguments[2]);
    npy_intp done = 0;
    switch (PyArray_ITEMSIZE(array)) {
#define PUT(WIDTH, TYPE)                                                                           \
    case WIDTH:                                                                                    \
        done = put_##WIDTH((TYPE *)to, (const TYPE *)from, mask, size, count);                     \
        break;
        ELEMENTS(PUT)
#undef PUT
    }
    if (done < count) {
        return have_changed();
    }
    Py_RETURN_NONE;
}

/* For each byte, as eight elements of a mask: how many are chosen, and which, in order. */
static struct {
    npy_intp count[256], place[256][NEAR];
} patterns;

static void
patterns_begin(void)
{
    for (int byte = 255; patterns.count[1] == 0 && byte > 0; byte--) { /* the last one is 1 */
        for (int k = 0; k < NEAR; k++) {
            if (byte >> k & 1) {
                patterns.place[byte][patterns.count[byte]++] = k;
            }
        }
    }
}

/* The places of bytes that are not zero, as `place_8` and others. */
static npy_intp
place_bytes(npy_intp *to, const char *from, npy_intp size, npy_intp count)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f, together = 0x0102040810204080;
    npy_intp i = 0, done = 0;
    while (count - done >= NEAR) {
        i = skip_others(from, i, size);
        if (i + NEAR > size) {
            break;
        }
        uint64_t word = word_at(from, i);
        uint64_t ones = (((word & low) + low) | word) >> 7 & ALL;
        unsigned byte = (unsigned)(ones * together >> 56);
        for (int k = 0; k < NEAR; k++) {
            to[done + k] = i + patterns.place[byte][k];
        }
        done += patterns.count[byte];
        i += NEAR;
    }
    while (done < count && i < size) {
        i = skip_others(from, i, size);
        for (npy_intp end = i + NEAR < size ? i + NEAR : size; i < end; i++) {
            if (from[i] != 0 && done < count) {
                to[done++] = i;
            }
        }
    }
    return done;
}

/*
 * Elements of each width that are not zero: how many there are, and their places, as `choose` has
 * elements. Of floats the sign does not count.
 */
#define COUNT_AND_PLACE(WIDTH, TYPE)                                                               \
    static npy_intp count_##WIDTH(const TYPE *from, npy_intp size, int shift)                      \
    {                                                                                              \
        if (WIDTH == 1) {                                                                          \
            return count_chosen((const char *)from, size);                                         \
        }                                                                                          \
        npy_intp count = 0;                                                                        \
        for (npy_intp i = 0; i < size; i++) {                                                      \
            count += (TYPE)(from[i] << shift) != 0;                                                \
        }                                                                                          \
        return count;                                                                              \
    }                                                                                              \
    static npy_intp place_##WIDTH(npy_intp *to, const TYPE *from, npy_intp size, npy_intp count,   \
                                  int shift)                                                       \
    {                                                                                              \
        if (WIDTH == 1) {                                                                          \
            return place_bytes(to, (const char *)from, size, count);                               \
        }                                                                                          \
        npy_intp i = 0, done = 0;                                                                  \
        while (count - done >= NEAR && i + NEAR <= size) {                                         \
            for (npy_intp end = i + NEAR; i < end; i++) {                                          \
                to[done] = i;                                                                      \
                done += (TYPE)(from[i] << shift) != 0;                                             \
            }                                                                                      \
        }                                                                                          \
        for (; done < count && i < size; i++) {                                                    \
            to[done] = i;                                                                          \
            done += (TYPE)(from[i] << shift) != 0;                                                 \
        }                                                                                          \
        return done;                                                                               \
    }
NUMBERS(COUNT_AND_PLACE)
#undef COUNT_AND_PLACE

/* An array whose elements lie side by side, and are numbers that are zero where their bits are. */
static bool
has_places(PyObject *object)
{
    if (!PyArray_Check(object)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int type = PyArray_TYPE(array);
    return is_dense(array) && PyArray_ISNOTSWAPPED(array) && PyArray_NDIM(array) > 0 &&
           (type == NPY_BOOL || PyTypeNum_ISINTEGER(type) || type == NPY_HALF ||
            type == NPY_FLOAT || type == NPY_DOUBLE);
}

/* As NumPy gives it: a column of a matrix. */
static PyObject *
column_of(PyArrayObject *matrix, int which)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);
    const npy_intp item = sizeof(npy_intp), step = PyArray_DIM(matrix, 1) * item;
    PyObject *column = PyArray_NewFromDescr(&PyArray_Type, descr, 1, PyArray_DIMS(matrix), &step,
                                            PyArray_BYTES(matrix) + which * item,
                                            PyArray_FLAGS(matrix) & ~NPY_ARRAY_OWNDATA, NULL);
    PyObject *base = Py_NewRef((PyObject *)matrix);
    if (column == NULL) {
        Py_DECREF(base);
    }
    else if (PyArray_SetBaseObject((PyArrayObject *)column, base) < 0) {
        Py_CLEAR(column);
    }
    return column;
}

/* Have each row of a matrix, whose last elements are places in C order, be one along each axis. */
static void
split_places(PyArrayObject *matrix, const npy_intp *shape)
{
    npy_intp count = PyArray_DIM(matrix, 0), axes = PyArray_DIM(matrix, 1);
    npy_intp *row = PyArray_DATA(matrix);
    const npy_intp *place = row + count * (axes - 1), columns = shape[axes - 1];
    npy_intp lines = 0, first = 0,
             at[NPY_MAXDIMS] = {0}; /* before this line, and its first place */
    for (npy_intp i = 0; i < count; i++, row += axes) {
        npy_intp last = place[i] - first;
        if (last >= columns) {
            npy_intp more = last / columns, left = lines += more;
            first += more * columns;
            last -= more * columns;
            for (npy_intp axis = axes - 1; axis-- > 0; left /= shape[axis]) {
                at[axis] = left % shape[axis];
            }
        }
        memcpy(row, at, (size_t)(axes - 1) * sizeof *row);
        row[axes - 1] = last;
    }
}

/* The places of an array's elements that are not zero, a row of a matrix for each; of all its axes
 * as one, or apart. */
static PyArrayObject *
places(PyArrayObject *array, bool are_apart)
{
    const void *from = PyArray_DATA(array);
    int shift = PyTypeNum_ISFLOAT(PyArray_TYPE(array));
    npy_intp size = PyArray_SIZE(array), done = 0;
    npy_intp shape[2] = {0, are_apart ? PyArray_NDIM(array) : 1};
    npy_intp width = PyArray_ITEMSIZE(array);
    switch (width) {
#define COUNT(WIDTH, TYPE)                                                                         \
    case WIDTH:                                                                                    \
        shape[0] = count_##WIDTH((const TYPE *)from, size, shift);                                 \
        break;
        NUMBERS(COUNT)
#undef COUNT
    }
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);
    npy_intp bytes = shape[0] * shape[1] * (npy_intp)sizeof(npy_intp);
    PyArrayObject *matrix = memory_new_array(descr, 2, shape, NULL, bytes);
    if (matrix == NULL) {
        return NULL;
    }
    npy_intp *to = (npy_intp *)PyArray_DATA(matrix) + shape[0] * (shape[1] - 1);
    patterns_begin();
    switch (width) {
#define PLACE(WIDTH, TYPE)                                                                         \
    case WIDTH:                                                                                    \
        done = place_##WIDTH(to, (const TYPE *)from, size, shape[0], shift);                       \
        break;
        NUMBERS(PLACE)
#undef PLACE
    }
    if (done < shape[0]) {
        Py_DECREF(matrix);
        have_changed();
        return NULL;
    }
    if (shape[1] > 1) {
        split_places(matrix, PyArray_DIMS(array));
    }
    return matrix;
}

/* `np.nonzero(array)`, `array.nonzero()`. */
static PyObject *
nonzero(PyObject *module, PyObject *array)
{
    if (!has_places(array)) {
        return PyObject_CallMethod(array, "nonzero", NULL);
    }
    PyArrayObject *matrix = places((PyArrayObject *)array, true);
    int axes = PyArray_NDIM((PyArrayObject *)array);
    PyObject *given = matrix == NULL ? NULL : PyTuple_New(axes);
    for (int axis = 0; given != NULL && axis < axes; axis++) {
        PyObject *column = column_of(matrix, axis);
        if (column == NULL) {
            Py_CLEAR(given);
            break;
        }
        PyTuple_SET_ITEM(given, axis, column);
    }
    Py_XDECREF(matrix);
    return given;
}

/* `np.flatnonzero(array)`. */
static PyObject *
flat_nonzero(PyObject *module, PyObject *array)
{
    if (has_places(array)) {
        PyArrayObject *matrix = places((PyArrayObject *)array, false);
        PyObject *column = matrix == NULL ? NULL : column_of(matrix, 0);
        Py_XDECREF(matrix);
        return column;
    }
    PyObject *flat = PyObject_CallMethod(array, "ravel", NULL);
    PyObject *given = flat == NULL ? NULL : PyObject_CallMethod(flat, "nonzero", NULL);
    Py_XDECREF(flat);
    PyObject *found = given == NULL ? NULL : PySequence_GetItem(given, 0);
    Py_XDECREF(given);
    return found;
}

PyMethodDef chosen_methods[] = {
    {"chosen", (PyCFunction)(void (*)(void))chosen, METH_FASTCALL,
     PyDoc_STR("chosen(array, mask, /)\n--\n\nThe elements that a mask chooses, as `array[mask]` "
               "has them.")},
    {"put_chosen", (PyCFunction)(void (*)(void))put_chosen, METH_FASTCALL,
     PyDoc_STR("put_chosen(array, mask, values, /)\n--\n\nAs `array[mask] = values` does.")},
    {"nonzero", nonzero, METH_O,
     PyDoc_STR("nonzero(array, /)\n--\n\nThe places of what is not zero, as `array.nonzero()` has "
               "them.")},
    {"flat_nonzero", flat_nonzero, METH_O,
     PyDoc_STR("flat_nonzero(array, /)\n--\n\nAs `np.flatnonzero` has them.")},
    {NULL},
};
