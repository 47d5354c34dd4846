/*
 * Elements of rows by their rank (medians, quantiles), and rows that are sorted.
 *
 * 1. Short rows are sorted side by side, by a network of comparisons that is the same for all.
 * 2. Of a long row those between two numbers of a sample are kept, so that the wanted ones are
 *    among them, until few are left; these are parted by pivots. No step branches on an element.
 * 3. Equal numbers have equal bits: what holds NaN or -0.0 is NumPy's.
 */
#include "loops/vectors.h"

#include <math.h>

/* No operation here raises a flag: there is no NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-trapping-math")
#endif

enum {
    LANES = 16,
    SHORT = 64, /* elements of a row that is sorted by a network */
    MOST_PAIRS = 1024,
    SORTED_HERE = 12, /* elements of a row up to which NumPy takes longer to sort it */
    FEW_LEFT = 1000,  /* elements that are parted by pivots */
    MOST_SAMPLED = 2048,
    MOST_PARTED = 20, /* times as many steps as elements: then NumPy is asked */
};

/* Which elements of a row are compared, in order. */
typedef struct {
    int count;
    uint8_t low[MOST_PAIRS], high[MOST_PAIRS];
} Network;

/* Batcher's merge exchange. */
static void
make_network(Network *network, int size)
{
    network->count = 0;
    int top = 1;
    while (2 * top < size) {
        top *= 2;
    }
    for (int part = top; part > 0; part /= 2) {
        int rest = 0, distance = part;
        for (int whole = top;; whole /= 2) {
            for (int i = 0; i + distance < size; i++) {
                if ((i & part) == rest) {
                    network->low[network->count] = (uint8_t)i;
                    network->high[network->count++] = (uint8_t)(i + distance);
                }
            }
            if (whole == part) {
                break;
            }
            distance = whole - part;
            rest = part;
        }
    }
}

/* How many of the elements of a sample the band around a rank reaches over, to either side. */
static npy_intp
reach_of(npy_intp sampled, double share)
{
    return (npy_intp)(3 * sqrt((double)sampled * share * (1 - share))) + 2;
}

static npy_intp
sample_size(npy_intp count)
{
    double root = cbrt((double)count);
    double size = root * root / 2;
    return size > MOST_SAMPLED ? MOST_SAMPLED : (npy_intp)size;
}

#define DEFINE_NETWORK(NAME, NUMBER)                                                               \
    QUICK_NARROW static void NAME##_exchange(NUMBER *restrict low, NUMBER *restrict high)          \
    {                                                                                              \
        for (int lane = 0; lane < LANES; lane++) {                                                 \
            NUMBER a = low[lane], b = high[lane];                                                  \
            low[lane] = a < b ? a : b;                                                             \
            high[lane] = b < a ? a : b;                                                            \
        }                                                                                          \
    }                                                                                              \
    /* Sort up to LANES rows; element i of row k goes to `lanes[i][k]`. */                         \
    static void NAME##_sort_some(const Network *network, const NUMBER *from, npy_intp rows,        \
                                 npy_intp columns, NUMBER(*lanes)[LANES])                          \
    {                                                                                              \
        for (npy_intp lane = 0; lane < LANES; lane++) {                                            \
            const NUMBER *row = from + (lane < rows ? lane : rows - 1) * columns;                  \
            for (npy_intp i = 0; i < columns; i++) {                                               \
                lanes[i][lane] = row[i];                                                           \
            }                                                                                      \
        }                                                                                          \
        for (int k = 0; k < network->count; k++) {                                                 \
            NAME##_exchange(lanes[network->low[k]], lanes[network->high[k]]);                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_sort(const void *data, npy_intp rows, npy_intp columns, void *results)      \
    {                                                                                              \
        Network network;                                                                           \
        NUMBER lanes[SHORT][LANES];                                                                \
        make_network(&network, (int)columns);                                                      \
        for (npy_intp row = 0; row < rows; row += LANES) {                                         \
            npy_intp some = rows - row < LANES ? rows - row : LANES;                               \
            NAME##_sort_some(&network, (const NUMBER *)data + row * columns, some, columns,        \
                             lanes);                                                               \
            NUMBER *to = (NUMBER *)results + row * columns;                                        \
            for (npy_intp lane = 0; lane < some; lane++) {                                         \
                for (npy_intp i = 0; i < columns; i++) {                                           \
                    to[lane * columns + i] = lanes[i][lane];                                       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_select_short(const NUMBER *from, npy_intp rows, npy_intp columns,           \
                                    const npy_intp *places, npy_intp count, NUMBER *to)            \
    {                                                                                              \
        Network network;                                                                           \
        NUMBER lanes[SHORT][LANES];                                                                \
        make_network(&network, (int)columns);                                                      \
        for (npy_intp row = 0; row < rows; row += LANES) {                                         \
            npy_intp some = rows - row < LANES ? rows - row : LANES;                               \
            NAME##_sort_some(&network, from + row * columns, some, columns, lanes);                \
            for (npy_intp k = 0; k < count; k++) {                                                 \
                memcpy(to + k * rows + row, lanes[places[k]], (size_t)some * sizeof *to);          \
            }                                                                                      \
        }                                                                                          \
    }

/*
 * The element of rank `place`, and with `both` the next, into `found`. `left` and `right` have room
 * for as many elements as there are. False: it would take too long.
 */
#define DEFINE_SELECT(NAME, NUMBER, LEAST, GREATEST)                                               \
    static NUMBER NAME##_middle(const NUMBER *from, npy_intp count)                                \
    {                                                                                              \
        NUMBER a = from[count / 4], b = from[count / 2], c = from[count - 1 - count / 4];          \
        NUMBER low = a < b ? a : b, high = a < b ? b : a;                                          \
        return c < low ? low : c > high ? high : c;                                                \
    }                                                                                              \
    static NUMBER NAME##_least(const NUMBER *from, npy_intp count)                                 \
    {                                                                                              \
        NUMBER least = from[0];                                                                    \
        for (npy_intp i = 1; i < count; i++) {                                                     \
            least = from[i] < least ? from[i] : least;                                             \
        }                                                                                          \
        return least;                                                                              \
    }                                                                                              \
    static NUMBER NAME##_greatest(const NUMBER *from, npy_intp count)                              \
    {                                                                                              \
        NUMBER greatest = from[0];                                                                 \
        for (npy_intp i = 1; i < count; i++) {                                                     \
            greatest = from[i] > greatest ? from[i] : greatest;                                    \
        }                                                                                          \
        return greatest;                                                                           \
    }                                                                                              \
    static bool NAME##_part(const NUMBER *from, npy_intp count, npy_intp place, bool both,         \
                            NUMBER *room, NUMBER *other_room, NUMBER *found)                       \
    {                                                                                              \
        for (npy_intp left = MOST_PARTED * count; left > 0; left -= count) {                       \
            NUMBER pivot = NAME##_middle(from, count);                                             \
            npy_intp less = 0, greater = 0;                                                        \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                NUMBER one = from[i];                                                              \
                room[less] = one;                                                                  \
                room[count - 1 - greater] = one;                                                   \
                less += one < pivot;                                                               \
                greater += one > pivot;                                                            \
            }                                                                                      \
            npy_intp known = count - greater; /* so many are not above the pivot */                \
            NUMBER *above = room + known;                                                          \
            if (place + both < less) {                                                             \
                from = room;                                                                       \
                count = less;                                                                      \
            }                                                                                      \
            else if (place >= known) {                                                             \
                from = above;                                                                      \
                count = greater;                                                                   \
                place -= known;                                                                    \
            }                                                                                      \
            else {                                                                                 \
                found[0] = place < less ? NAME##_greatest(room, less) : pivot;                     \
                if (both) {                                                                        \
                    found[1] = place + 1 < known ? pivot : NAME##_least(above, greater);           \
                }                                                                                  \
                return true;                                                                       \
            }                                                                                      \
            NUMBER *next = other_room;                                                             \
            other_room = room;                                                                     \
            room = next;                                                                           \
        }                                                                                          \
        return false;                                                                              \
    }                                                                                              \
    /* Numbers between which the wanted ones very likely lie. */                                   \
    static bool NAME##_band(const NUMBER *from, npy_intp count, npy_intp place, NUMBER *band)      \
    {                                                                                              \
        NUMBER sample[MOST_SAMPLED], room[2][MOST_SAMPLED];                                        \
        npy_intp size = sample_size(count), step = count / size;                                   \
        uint32_t state = 1;                                                                        \
        for (npy_intp i = 0; i < size; i++) {                                                      \
            state = state * 1664525u + 1013904223u;                                                \
            sample[i] = from[i * step + (npy_intp)(state >> 8) % step];                            \
        }                                                                                          \
        double share = (double)place / (double)count;                                              \
        npy_intp rank = (npy_intp)(share * (double)size), reach = reach_of(size, share);           \
        band[0] = LEAST;                                                                           \
        band[1] = GREATEST;                                                                        \
        return (rank < reach ||                                                                    \
                NAME##_part(sample, size, rank - reach, false, room[0], room[1], &band[0])) &&     \
               (rank + reach >= size ||                                                            \
                NAME##_part(sample, size, rank + reach, false, room[0], room[1], &band[1]));       \
    }                                                                                              \
    static bool NAME##_pick(const NUMBER *from, npy_intp count, npy_intp place, bool both,         \
                            NUMBER *room, NUMBER *other_room, NUMBER *found)                       \
    {                                                                                              \
        while (count > FEW_LEFT) {                                                                 \
            NUMBER band[2];                                                                        \
            if (!NAME##_band(from, count, place, band)) {                                          \
                return false;                                                                      \
            }                                                                                      \
            npy_intp below = 0, kept = 0;                                                          \
            const NUMBER least = band[0], greatest = band[1];                                      \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                NUMBER one = from[i];                                                              \
                room[kept] = one;                                                                  \
                below += one < least;                                                              \
                kept += (one >= least) & (one <= greatest);                                        \
            }                                                                                      \
            if (place < below || place + both >= below + kept || kept > count / 2) {               \
                break;                                                                             \
            }                                                                                      \
            from = room;                                                                           \
            count = kept;                                                                          \
            place -= below;                                                                        \
            NUMBER *next = other_room;                                                             \
            other_room = room;                                                                     \
            room = next;                                                                           \
        }                                                                                          \
        return NAME##_part(from, count, place, both, room, other_room, found);                     \
    }                                                                                              \
    DEFINE_NETWORK(NAME, NUMBER)                                                                   \
    static bool NAME##_select(const void *data, npy_intp rows, npy_intp columns,                   \
                              const npy_intp *places, npy_intp count, void *results, void *room)   \
    {                                                                                              \
        const NUMBER *from = data;                                                                 \
        NUMBER *to = results, *rooms = room;                                                       \
        if (columns <= SHORT) {                                                                    \
            NAME##_select_short(from, rows, columns, places, count, to);                           \
            return true;                                                                           \
        }                                                                                          \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            for (npy_intp k = 0; k < count; k++) {                                                 \
                bool both = k + 1 < count && places[k + 1] == places[k] + 1;                       \
                NUMBER found[2];                                                                   \
                if (!NAME##_pick(from + row * columns, columns, places[k], both, rooms,            \
                                 rooms + columns, found)) {                                        \
                    return false;                                                                  \
                }                                                                                  \
                to[k * rows + row] = found[0];                                                     \
                if (both) {                                                                        \
                    to[++k * rows + row] = found[1];                                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

/* Whether there is neither NaN nor -0.0. */
#define DEFINE_IS_PLAIN(NAME, BITS, MOST, LEAST, INFINITE)                                         \
    QUICK_NARROW static bool NAME##_are_plain(const void *data, npy_intp count)                    \
    {                                                                                              \
        const char *from = data;                                                                   \
        BITS is_odd = 0;                                                                           \
        for (npy_intp i = 0; i < count; i++) {                                                     \
            BITS bits;                                                                             \
            memcpy(&bits, from + i * (npy_intp)sizeof bits, sizeof bits);                          \
            is_odd |= ((bits & MOST) > (INFINITE)) | (bits == LEAST);                              \
        }                                                                                          \
        return !is_odd;                                                                            \
    }
DEFINE_IS_PLAIN(doubles, int64_t, INT64_MAX, INT64_MIN, INT64_C(0x7ff0000000000000))
DEFINE_IS_PLAIN(floats, int32_t, INT32_MAX, INT32_MIN, INT32_C(0x7f800000))

DEFINE_SELECT(doubles, double, -INFINITY, INFINITY)
DEFINE_SELECT(floats, float, -INFINITY, INFINITY)
DEFINE_SELECT(int64s, int64_t, INT64_MIN, INT64_MAX)
DEFINE_SELECT(int32s, int32_t, INT32_MIN, INT32_MAX)

static const struct Ordering {
    int type;
    bool (*are_plain)(const void *data, npy_intp count);
    void (*sort)(const void *data, npy_intp rows, npy_intp columns, void *results);
    bool (*select)(const void *data, npy_intp rows, npy_intp columns, const npy_intp *places,
                   npy_intp count, void *results, void *room);
} orderings[] = {
    {NPY_DOUBLE, doubles_are_plain, doubles_sort, doubles_select},
    {NPY_FLOAT, floats_are_plain, floats_sort, floats_select},
    {NPY_INT64, NULL, int64s_sort, int64s_select},
    {NPY_INT32, NULL, int32s_sort, int32s_select},
};

/* How elements of rows are ordered; NULL: by NumPy. */
static const struct Ordering *
ordering_of(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!QUICK_HAS_NARROW || !is_read_in_order(object) || PyArray_NDIM(array) < 1 ||
        PyArray_SIZE(array) < 1) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof orderings / sizeof *orderings; i++) {
        if (orderings[i].type == PyArray_TYPE(array)) {
            return &orderings[i];
        }
    }
    return NULL;
}

static PyArrayObject *
new_array(PyArrayObject *like, int axes, const npy_intp *shape)
{
    PyArray_Descr *descr = PyArray_DESCR(like);
    npy_intp bytes = PyArray_ITEMSIZE(like);
    for (int axis = 0; axis < axes; axis++) {
        bytes *= shape[axis];
    }
    Py_INCREF(descr);
    return memory_new_array(descr, axes, shape, NULL, bytes);
}

/* Read ranks that rise into `places`; false with an exception. */
static bool
read_places(PyObject *given, npy_intp columns, npy_intp *places)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        places[i] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(given, i), PyExc_OverflowError);
        if (PyErr_Occurred()) {
            return false;
        }
        if (places[i] < (i == 0 ? 0 : places[i - 1] + 1) || places[i] >= columns) {
            PyErr_SetString(PyExc_ValueError, "ranks rise, and are those of elements");
            return false;
        }
    }
    return true;
}

enum { MOST_PLACES = 32 };

/* selected(array, places): an array more, whose first axis is that of the ranks, or None. */
static PyObject *
selected(PyObject *module, PyObject *arguments)
{
    PyObject *object, *given;
    if (!PyArg_ParseTuple(arguments, "OO!:selected", &object, &PyTuple_Type, &given)) {
        return NULL;
    }
    const struct Ordering *ordering = ordering_of(object);
    npy_intp count = PyTuple_GET_SIZE(given), places[MOST_PLACES], shape[NPY_MAXDIMS];
    if (ordering == NULL || count < 1 || count > MOST_PLACES) {
        Py_RETURN_NONE;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int axes = PyArray_NDIM(array);
    npy_intp columns = PyArray_DIM(array, axes - 1), rows = PyArray_SIZE(array) / columns;
    if (!read_places(given, columns, places)) {
        return NULL;
    }
    shape[0] = count;
    memcpy(shape + 1, PyArray_DIMS(array), (size_t)(axes - 1) * sizeof *shape);
    PyArrayObject *made = new_array(array, axes, shape);
    if (made == NULL) {
        return NULL;
    }
    bool has_room = columns > SHORT, is_done = false;
    const void *from = PyArray_DATA(array);
    Py_BEGIN_ALLOW_THREADS
        void *room = has_room ? malloc((size_t)(2 * columns * PyArray_ITEMSIZE(array))) : NULL;
        is_done = (!has_room || room != NULL) &&
                  (ordering->are_plain == NULL || ordering->are_plain(from, rows * columns)) &&
                  ordering->select(from, rows, columns, places, count, PyArray_DATA(made), room);
        free(room);
    Py_END_ALLOW_THREADS
    if (!is_done) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

/* sorted_rows(array): a sorted copy, or None. */
static PyObject *
sorted_rows(PyObject *module, PyObject *object)
{
    const struct Ordering *ordering = ordering_of(object);
    PyArrayObject *array = (PyArrayObject *)object;
    if (ordering == NULL) {
        Py_RETURN_NONE;
    }
    int axes = PyArray_NDIM(array);
    npy_intp columns = PyArray_DIM(array, axes - 1), rows = PyArray_SIZE(array) / columns;
    if (columns > SORTED_HERE || rows < LANES) {
        Py_RETURN_NONE;
    }
    PyArrayObject *made = new_array(array, axes, PyArray_DIMS(array));
    if (made == NULL) {
        return NULL;
    }
    bool is_done;
    const void *from = PyArray_DATA(array);
    Py_BEGIN_ALLOW_THREADS
        is_done = ordering->are_plain == NULL || ordering->are_plain(from, rows * columns);
        if (is_done) {
            ordering->sort(from, rows, columns, PyArray_DATA(made));
        }
    Py_END_ALLOW_THREADS
    if (!is_done) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return (PyObject *)made;
}

PyMethodDef ordered_methods[] = {
    {"selected", selected, METH_VARARGS,
     PyDoc_STR("selected(array, places, /)\n--\n\nThe elements of these ranks along the last axis, "
               "which is the first of the result; None: NumPy is to be asked.")},
    {"sorted_rows", sorted_rows, METH_O,
     PyDoc_STR("sorted_rows(array, /)\n--\n\nA copy that is sorted along its short last axis; "
               "None: NumPy is to be asked.")},
    {NULL},
};
