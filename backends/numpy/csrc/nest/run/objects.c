/* The objects that a nest is given, as words and cells; the objects that it gives back. */
#include "nest/run/objects.h"

#include <numpy/arrayscalars.h>

#include "nest/form/costs.h"
#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/given/arrays.h"
#include "nest/given/grids.h"
#include "nest/given/iterators.h"
#include "nest/given/ranges.h"
#include "nest/containers/given_keys.h"
#include "nest/containers/keys.h"
#include "nest/containers/lists.h"
#include "nest/containers/members.h"
#include "nest/containers/rows.h"
#include "nest/containers/stacked.h"
#include "nest/containers/tables.h"

/* Numbers of a list that are read for a call; the next call reads the next ones. */
enum { MOST_ITEMS = 1 << 15 };
enum { NO_ARRAY = -1 }; /* in the place of an array's number: a call gives None */

/* The parts of a complex number of Python or NumPy, then whether it is NumPy's. */
static bool
complex_cells(PyObject *object, Register *cells)
{
    bool numpy = Py_IS_TYPE(object, &PyCDoubleArrType_Type);
    cells[2].whole = numpy;
    if (numpy) {
        memcpy(cells, &PyArrayScalar_VAL(object, CDouble), 2 * sizeof(double));
        return true;
    }
    if (!PyComplex_CheckExact(object)) {
        return false;
    }
    cells[0].twice = PyComplex_RealAsDouble(object);
    cells[1].twice = PyComplex_ImagAsDouble(object);
    return true;
}

/* A new complex number, or NULL with an exception. */
static PyObject *
complex_object(const Register *cells)
{
    if (cells[2].whole == 0) {
        return PyComplex_FromDoubles(cells[0].twice, cells[1].twice);
    }
    PyObject *made = PyArrayScalar_New(CDouble);
    if (made != NULL) {
        memcpy(&PyArrayScalar_VAL(made, CDouble), cells, 2 * sizeof(double));
    }
    return made;
}

static bool
number_cells(SlotKind kind, PyObject *object, Register *cells)
{
    if (kind == SLOT_COMPLEX) {
        return complex_cells(object, cells);
    }
    bool numpy = Py_IS_TYPE(object, item_number(kind, true)->object_type);
    cells[0].natural = 0; /* all bits: they are compared */
    cells[1].whole = numpy;
    return number_read(item_number(kind, numpy), object, &cells[0]);
}

/* Whether a slot is of an iterator over several axes. */
static bool
is_grid(SlotKind kind)
{
    return kind == SLOT_PRODUCT || kind == SLOT_FLAT;
}

/* The words of the numbers that `objects_read_lists` has read; where an iterator goes over them
 * they are what comes next, at the places that they have in the whole. */
static void
list_words(const Nest *nest, const NestSlot *slot, PyObject *list, int64_t *words)
{
    const NestMemory *memory = &nest->memory[slot->memory];
    short size = number_bytes(slot->type);
    words[0] = (int64_t)(intptr_t)memory->data - memory->length[0] * size;
    words[1] = slot->iterator < 0 && !slot->has_rows ? items_of(list)
                                                     : memory->length[0] + memory->length[1];
    words[2] = size;
}

/* Read `count` numbers of a list or tuple, backwards from the last. Returns how many there are
 * before the first of another type, or -1: there is no memory. */
static int64_t
read_items(const NestSlot *slot, PyObject *const *items, int64_t count, bool is_backwards,
           NestMemory *memory)
{
    const Number *number = item_number(slot->item, slot->numpy);
    short size = number_bytes(slot->type);
    if (nest_grow(memory, count * size) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t place = is_backwards ? count - 1 - i : i;
        Register value;
        if (!number_read(number, items[place], &value)) {
            return i;
        }
        number_store(slot->type, memory->data + place * size, value);
    }
    return count;
}

/* Read `count` characters of a str as their numbers, or bytes, from the first on. As `read_items`.
 */
static int64_t
read_characters(const NestSlot *slot, PyObject *object, int64_t first, int64_t count,
                NestMemory *memory)
{
    bool text = PyUnicode_CheckExact(object);
    if (slot->item != (text ? SLOT_UINT32 : SLOT_INT) || slot->numpy != text ||
        nest_grow(memory, count * number_bytes(slot->type)) < 0) {
        return -1;
    }
    if (text) {
        int kind = PyUnicode_KIND(object);
        const void *data = PyUnicode_DATA(object);
        for (int64_t i = 0; i < count; i++) {
            ((Py_UCS4 *)memory->data)[i] = PyUnicode_READ(kind, data, first + i);
        }
        return count;
    }
    const char *data =
        PyBytes_CheckExact(object) ? PyBytes_AS_STRING(object) : PyByteArray_AS_STRING(object);
    for (int64_t i = 0; i < count; i++) {
        ((int64_t *)memory->data)[i] = (unsigned char)data[first + i];
    }
    return count;
}

/* Read `count` items of a list, a tuple, a str, or bytes, from the first on. As `read_items`. */
static int64_t
read_some(const NestSlot *slot, PyObject *object, int64_t first, int64_t count, bool is_backwards,
          NestMemory *memory)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        return read_characters(slot, object, first, count, memory);
    }
    return read_items(slot, PySequence_Fast_ITEMS(object) + first, count, is_backwards, memory);
}

/* Read those that an iterator gives next. As `read_items`. */
static int64_t
read_coming(const Nest *nest, const NestSlot *slot, PyObject *object, const Register *cells,
            NestMemory *memory)
{
    bool is_backwards = nest->slot[slot->iterator].kind == SLOT_BACKWARDS;
    int64_t next = cells[0].whole, left = cells[2].whole;
    int64_t count = left < MOST_ITEMS ? left : MOST_ITEMS;
    memory->length[0] = is_backwards ? next - count + 1 : next;
    memory->length[1] = count;
    return read_some(slot, object, memory->length[0], count, is_backwards, memory);
}

/* The least number of turns that some iterator still has, to which all are set. */
static int64_t
least_left(const Nest *nest, Register *cells, int64_t left)
{
    for (int set = 0; set < 2; set++) {
        Register *cell = cells;
        for (int i = 0; i < nest->slots; cell += nest->slot[i++].cells) {
            if (!slot_iterates(&nest->slot[i])) {
                continue;
            }
            if (set) {
                cell[2].whole = left;
            }
            else if (cell[2].whole < left) {
                left = cell[2].whole;
            }
        }
    }
    return left;
}

/*
 * Read the numbers of lists, behind the cells: so many as turns are left, perhaps fewer, which the
 * cells say then. False: a nest cannot take some list. Runs no Python code, sets no exception.
 */
bool
objects_read_lists(Nest *nest, PyObject *const *objects, Register *cells)
{
    const Register *cell[nest->slots], *next = cells;
    for (int i = 0; i < nest->slots; i++) {
        cell[i] = next;
        next += nest->slot[i].cells;
    }
    int64_t left = least_left(nest, cells, INT64_MAX);
    for (int i = 0; left > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (!slot->listed) {
            continue;
        }
        if (slot->axes == 2 || slot->objects || slot->has_rows || slot->attribute != NULL) {
            bool read = slot->has_rows            ? rows_read(nest, slot, objects[i], left)
                        : slot->objects           ? members_fit(nest, slot, objects[i], left)
                        : slot->marks             ? stacked_marks(nest, slot, objects[i])
                        : slot->stacked           ? stacked_read(nest, slot, objects[i], left)
                        : slot->attribute != NULL ? members_read(nest, slot, objects[i])
                                                  : table_read(nest, slot, &objects[i], left);
            if (!read) {
                return false;
            }
            continue;
        }
        int64_t count = items_of(objects[i]);
        if (count < 0 || (slot->changed && !PyList_CheckExact(objects[i]))) {
            return false;
        }
        NestMemory *memory = &nest->memory[slot->memory];
        if (slot->iterator >= 0) {
            int64_t coming = read_coming(nest, slot, objects[i], cell[slot->iterator], memory);
            left = least_left(nest, cells, coming);
            continue;
        }
        memory->length[0] = 0;
        if (list_takes_too_long(nest, count, left) ||
            read_some(slot, objects[i], 0, count, false, memory) != count) {
            return false;
        }
    }
    return left >= 0;
}

/*
 * Fill the words from borrowed objects. False: a nest cannot take some array. Runs no Python code,
 * sets no exception.
 */
bool
objects_read_arrays(const Nest *nest, PyObject *const *objects, int64_t *words)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind != SLOT_ARRAY) {
            continue;
        }
        if (slot->stacked) {
            stacked_words(nest, slot, words);
        }
        else if (slot->listed && slot->axes == 2) {
            table_words(nest, slot, words);
        }
        else if (slot->listed) {
            list_words(nest, slot, objects[i], words);
        }
        if (slot->listed) {
            words += 1 + 2 * slot->axes;
            continue;
        }
        if (!array_fits(slot, objects[i], slot->axes, slot->changed)) {
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
    return true;
}

/* Fill all cells but the last, as `objects_read_arrays` does the words. */
bool
objects_read_cells(const Nest *nest, PyObject *const *objects, Register *cells)
{
    int arrays = 0;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_ARRAY) {
            memset(cells, 0, sizeof(Register) * (size_t)slot->cells);
            if (slot->rebound) {
                cells[0].whole = arrays;
            }
            arrays++;
        }
        else if (slot->kind == SLOT_GENERATOR || slot->kind >= SLOT_OBJECT) {
            continue;
        }
        else if (slot->kind < SLOT_ARRAY) {
            memset(cells, 0, sizeof(Register) * (size_t)slot->cells);
            cells[0].whole = slot->kind == SLOT_RESULT ? NO_ARRAY : 0;
        }
        else if (slot_iterates(slot)) {
            Range range = {.next = 0, .step = 1, .left = 1};
            if (slot->kind != SLOT_ONCE &&
                !(slot->kind == SLOT_RANGE ? range_read(objects[i], &range)
                  : is_grid(slot->kind)    ? grid_read(slot->kind, objects[i], &range)
                                           : iterator_read(slot->kind, objects[i], &range))) {
                return false;
            }
            cells[0].whole = range.next;
            cells[1].whole = range.step;
            cells[2].whole = range.left;
        }
        else if (slot->made) {
            memset(cells, 0, sizeof(Register) * (size_t)slot->cells);
        }
        else if (slot->kind == SLOT_MEMBER) {
            cells[0].whole = members_index(objects[slot->owner], objects[i]);
            if (cells[0].whole < 0) {
                return false;
            }
        }
        else if (slot->kind != SLOT_GROWN && !number_cells(slot->kind, objects[i], cells)) {
            return false;
        }
        cells += slot->cells;
    }
    return true;
}

/* How large the objects are, about: lengths, and numbers that do not change, which may be bounds of
 * inner loops. */
double
objects_size(const Nest *nest, const int64_t *words, const Register *cells)
{
    double size = 0;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_ARRAY) {
            for (int axis = 1; axis <= slot->axes; axis++) {
                size += (double)words[axis];
            }
            words += 1 + 2 * slot->axes;
        }
        else if (slot->kind == SLOT_INT && !slot->changed) {
            size += cells->whole < 0 ? -(double)cells->whole : (double)cells->whole;
        }
        cells += slot->cells;
    }
    return size + (double)keys_held(nest);
}

/* Whether some of the objects are NumPy's: then turns clear the flags that were set before. */
bool
objects_clear_status(const Nest *nest, const Register *cells)
{
    if (nest->words > 0) {
        return true;
    }
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        cells += slot->cells;
        if (slot->kind > SLOT_ARRAY && slot->kind < SLOT_RANGE && cells[-1].whole != 0) {
            return true;
        }
    }
    return false;
}

/* Move all iterators on by so many turns; products take their tuples from `results`. */
void
objects_move(const Nest *nest, PyObject *const *objects, int64_t turns, PyObject **results)
{
    for (int i = 0; i < nest->slots; i++) {
        SlotKind kind = nest->slot[i].kind;
        if (kind == SLOT_RANGE) {
            Range range;
            if (range_read(objects[i], &range)) {
                range_move(objects[i], range.left - turns);
            }
        }
        else if (is_grid(kind)) {
            grid_move(kind, objects[i], turns, results);
            results += kind == SLOT_PRODUCT;
        }
        else if (slot_iterates(&nest->slot[i]) && kind != SLOT_ONCE) {
            iterator_move(kind, objects[i], turns);
        }
    }
}

/* The object of the array of this number, among those that the nest is given. Borrowed. */
static PyObject *
array_numbered(const Nest *nest, PyObject *const *objects, int64_t number)
{
    int i = 0;
    for (; nest->slot[i].kind != SLOT_ARRAY || number > 0; i++) {
        number -= nest->slot[i].kind == SLOT_ARRAY;
    }
    return objects[i];
}

/*
 * The view of an array that begins at `place` and has these lengths: a new reference. NULL: there
 * is no memory, with an exception; or it would reach beyond the array.
 */
static PyObject *
view_now(const NestView *view, PyArrayObject *array, const Register *place, const Register *length)
{
    npy_intp shape[MOST_LENGTHS], strides[MOST_LENGTHS];
    int64_t low[MOST_LENGTHS], high[MOST_LENGTHS];
    char *data = PyArray_BYTES(array);
    int axes = PyArray_NDIM(array);
    bool is_empty = false;
    if (axes > MOST_LENGTHS) {
        return NULL;
    }
    for (int i = 0; i < axes; i++) {
        low[i] = high[i] = place[i].whole;
        if (low[i] < 0 || low[i] > PyArray_DIM(array, i)) {
            return NULL;
        }
    }
    for (int i = 0; i < view->axes; i++) {
        int axis = view->axis[i];
        shape[i] = length[i].whole;
        strides[i] = 0;
        is_empty = is_empty || shape[i] == 0;
        if (axis < 0 && shape[i] == 1) {
            continue;
        }
        int64_t way;
        if (axis < 0 || axis >= axes || shape[i] < 0 ||
            __builtin_mul_overflow(view->step[i], PyArray_STRIDE(array, axis), &strides[i]) ||
            __builtin_mul_overflow(view->step[i], shape[i] - (shape[i] > 0), &way) ||
            way < -PyArray_DIM(array, axis) || way > PyArray_DIM(array, axis)) {
            return NULL;
        }
        *(way < 0 ? &low[axis] : &high[axis]) += way;
    }
    for (int i = 0; i < axes; i++) {
        if (low[i] < 0 || high[i] > PyArray_DIM(array, i) - !is_empty) {
            return NULL;
        }
        data += place[i].whole * PyArray_STRIDE(array, i);
    }
    PyArray_Descr *descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    PyArrayObject *found = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, view->axes, shape, strides, data,
        PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
    if (found != NULL && PyArray_SetBaseObject(found, Py_NewRef(array)) < 0) {
        Py_CLEAR(found);
    }
    return (PyObject *)found;
}

/* What is given, and the arrays made so far, with their numbers: there is one of each. */
typedef struct {
    const Nest *nest;
    PyObject *const *objects;
    int count;
    int64_t *number;
    PyObject **array;
} Arrays;

/*
 * The array of a number, not that of a view: a new reference. NULL: there is no memory, perhaps
 * with an exception, or no such array.
 */
static PyObject *
array_now(Arrays *arrays, int64_t number)
{
    const Nest *nest = arrays->nest;
    if (number < 0 || number >= nest->arrays + nest->temporaries) {
        return NULL;
    }
    return number < nest->arrays ? Py_NewRef(array_numbered(nest, arrays->objects, number))
                                 : own_memory_array(nest, (int)number - nest->arrays);
}

/* The array of a number that was made before, or is made now. As `array_now`. */
static PyObject *
shared_array(Arrays *arrays, int64_t number)
{
    for (int i = 0; i < arrays->count; i++) {
        if (arrays->number[i] == number) {
            return Py_NewRef(arrays->array[i]);
        }
    }
    PyObject *array = array_now(arrays, number);
    if (array != NULL) {
        arrays->number[arrays->count] = number;
        arrays->array[arrays->count++] = Py_NewRef(array);
    }
    return array;
}

/* What an array variable is now, by its cells. As `array_now`. */
static PyObject *
variable_now(Arrays *arrays, const Register *cells)
{
    const Nest *nest = arrays->nest;
    int64_t number = cells[0].whole, view = number - nest->arrays - nest->temporaries;
    if (view < 0) {
        return shared_array(arrays, number);
    }
    for (int i = 0; i < arrays->count; i++) {
        if (arrays->number[i] == number) {
            return Py_NewRef(arrays->array[i]);
        }
    }
    if (view >= nest->views) {
        return NULL;
    }
    PyObject *array = shared_array(arrays, nest->view[view].array);
    if (array == NULL) {
        return NULL;
    }
    PyObject *found =
        view_now(&nest->view[view], (PyArrayObject *)array, &cells[1], &cells[1 + MOST_LENGTHS]);
    if (found != NULL) {
        arrays->number[arrays->count] = number;
        arrays->array[arrays->count++] = Py_NewRef(found);
    }
    Py_DECREF(array);
    return found;
}

static PyObject *
number_now(const NestSlot *slot, PyObject *object, const Register *before, const Register *after)
{
    if (!slot->made && memcmp(before, after, sizeof(Register) * (size_t)slot->cells) == 0) {
        return Py_NewRef(object);
    }
    if (slot->kind == SLOT_COMPLEX) {
        return complex_object(after);
    }
    return number_object(item_number(slot->kind, after[1].whole != 0), after[0]);
}

/* A number that a whole call gives, from its cells; NULL, perhaps with an exception. */
static PyObject *
number_given(const NestSlot *slot, const Register *cells)
{
    uint64_t place = cells[0].natural / 2;
    if (place >= (uint64_t)slot->kinds) {
        return NULL;
    }
    return number_object(item_number(slot->one_of[place], cells[0].natural % 2 != 0),
                         cells[1 + place]);
}

/*
 * Make what the changed numbers and the rebound arrays are now: new references. A number that is as
 * it was is the object that was given. False, with no exception and nothing made: no memory, or
 * cells that cannot be. Runs no Python code, as long as the garbage collector is off.
 */
bool
objects_make(const Nest *nest, PyObject *const *objects, const Register *before,
             const Register *after, PyObject **made)
{
    int64_t numbers[2 * nest->outputs + 1];
    PyObject *known[2 * nest->outputs + 1];
    Arrays arrays = {.nest = nest, .objects = objects, .number = numbers, .array = known};
    int count = 0;
    bool done = true;
    for (int i = 0, cell = 0; done && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        bool is_array = slot->kind == SLOT_ARRAY;
        if (is_array ? slot->rebound : slot->changed) {
            bool is_none = slot->kind == SLOT_RESULT && after[cell].whole == NO_ARRAY;
            made[count] = is_none           ? Py_NewRef(Py_None)
                          : slot->container ? keys_given(nest, slot, objects, &after[cell])
                          : slot->is_list   ? list_given(nest, slot, after[cell].whole)
                          : is_array || slot->kind == SLOT_RESULT
                              ? variable_now(&arrays, &after[cell])
                          : slot->kind == SLOT_NUMBER ? number_given(slot, &after[cell])
                          : slot->kind == SLOT_MEMBER
                              ? members_item(objects[slot->owner], after[cell].whole)
                              : number_now(slot, objects[i], &before[cell], &after[cell]);
            done = made[count] != NULL;
            count += done;
        }
        cell += slot->cells;
    }
    while (arrays.count > 0) {
        Py_DECREF(known[--arrays.count]);
    }
    while (!done && count > 0) {
        Py_DECREF(made[--count]);
    }
    if (!done) {
        PyErr_Clear();
    }
    return done;
}
