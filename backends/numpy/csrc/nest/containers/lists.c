/*
 * Lists that a nest changes. What is appended, or stored, lies in memory of the nest's own until a
 * chunk is committed: then objects are made of all of it, and put into the lists; arrays that items
 * of lists have get what differs. The laws:
 *
 * 1. Objects of what is stored are made before a list changes; what is appended can be taken away
 *    again. Where there is no memory for an object, no list has changed.
 * 2. Nothing here runs Python code: what is put into lists, and what was there before, is a number,
 *    a new array, or a tuple that is made while the garbage collector is off.
 */
#include "nest/containers/lists.h"

#include "nest/form/costs.h"
#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/saved/saved.h"
#include "nest/containers/given_keys.h"
#include "nest/containers/item_objects.h"
#include "nest/containers/members.h"
#include "nest/containers/stacked.h"
#include "nest/containers/tables.h"

/* Objects of what was stored, in the order in which they are put into lists. */
typedef struct {
    PyObject **object;
    int64_t count, room;
} Made;

/* Whether a list that changes is also another object of the call. */
static bool
has_other_name(const Nest *nest, PyObject *const *objects, int which)
{
    for (int i = 0; i < nest->slots; i++) {
        if (i != which && objects[i] == objects[which]) {
            return true;
        }
    }
    return false;
}

/* The columns begin with what is in a list, where that is read. */
static bool
begin_columns(const Nest *nest, const NestSlot *slot, PyObject *list)
{
    int64_t count = slot->read ? PyList_GET_SIZE(list) : 0;
    for (int k = 0; k < slot->columns; k++) {
        const NestColumn *column = &slot->column[k];
        NestMemory *memory = &nest->memory[column->memory];
        const Number *number = item_number(column->item, column->numpy);
        int type = nest->temporary[column->memory].type;
        short size = number_bytes(type);
        if (nest_grow(memory, count * size) < 0) {
            return false;
        }
        for (int64_t i = 0; i < count; i++) {
            Register value;
            if (!number_read(number, PyList_GET_ITEM(list, i), &value)) {
                return false;
            }
            number_store(type, memory->data + i * size, value);
        }
        memory->length[0] = memory->length[1] = count;
    }
    return true;
}

/* Prepare a call. False: a nest cannot take some list. Runs no Python code, sets no exception. */
bool
lists_begin(Nest *nest, PyObject *const *objects, int64_t left)
{
    if (!lists_are_apart(nest, objects) || !members_are_apart(nest, objects) ||
        !stacked_are_apart(nest, objects)) {
        return false;
    }
    for (int i = 0; nest->changing > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (!changes_list(slot) || slot->attribute != NULL) {
            continue;
        }
        if (!PyList_CheckExact(objects[i]) || has_other_name(nest, objects, i)) {
            return false;
        }
        if (slot->kind == SLOT_GROWN &&
            ((slot->read && list_takes_too_long(nest, PyList_GET_SIZE(objects[i]), left)) ||
             !begin_columns(nest, slot, objects[i]))) {
            return false;
        }
    }
    return keys_begin_call(nest, objects, left);
}

/* Forget what was appended, or put into dicts and sets, and is not committed. */
void
lists_undo(const Nest *nest, PyObject *const *objects)
{
    keys_undo(nest, objects);
    for (int i = 0; nest->changing > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        for (int k = 0; k < slot->columns; k++) {
            NestMemory *memory = &nest->memory[slot->column[k].memory];
            memory->length[0] = memory->length[1];
        }
    }
}

/* How many elements a column has got; -1: what machine code says cannot be. */
static int64_t
elements_added(const Nest *nest, const NestColumn *column)
{
    const NestMemory *memory = &nest->memory[column->memory];
    int64_t size = number_bytes(nest->temporary[column->memory].type);
    bool fits = memory->length[0] <= memory->capacity / size;
    return fits && memory->length[0] >= memory->length[1] ? memory->length[0] - memory->length[1]
                                                          : -1;
}

/* How many items a list gets; -1: what machine code says cannot be. */
static int64_t
items_added(const Nest *nest, const NestSlot *slot)
{
    int64_t count = elements_added(nest, &slot->column[0]);
    for (int k = 1; k < slot->columns; k++) {
        if (elements_added(nest, &slot->column[k]) != count) {
            return -1;
        }
    }
    return count;
}

/* A new list of the elements of the array of a number, which is a temporary of one axis; NULL: no
 * memory, with an exception, or no such array. */
PyObject *
list_given(const Nest *nest, const NestSlot *slot, int64_t number)
{
    int64_t temporary = number - nest->arrays;
    if (temporary < 0 || temporary >= nest->temporaries) {
        return NULL;
    }
    const NestMemory *memory = &nest->memory[temporary];
    int type = nest->temporary[temporary].type;
    int64_t count = memory->length[0];
    if (count < 0 || count > memory->capacity / number_bytes(type)) {
        return NULL;
    }
    PyObject *list = PyList_New(count);
    for (int64_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = number_in(slot->item, slot->numpy, type, memory->data, i);
        if (item == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* The number at a place of a column: a new object, or NULL. */
static PyObject *
number_of_column(const Nest *nest, const NestColumn *column, int64_t place)
{
    return number_in(column->item, column->numpy, nest->temporary[column->memory].type,
                     nest->memory[column->memory].data, place);
}

/* The item at a place of a list's columns: a new object, or NULL. */
static PyObject *
item_at(const Nest *nest, const NestSlot *slot, int64_t place)
{
    if (!slot->tuples) {
        return number_of_column(nest, &slot->column[0], place);
    }
    PyObject *tuple = PyTuple_New(slot->columns);
    for (int k = 0; tuple != NULL && k < slot->columns; k++) {
        PyObject *number = number_of_column(nest, &slot->column[k], place);
        if (number == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, k, number);
    }
    return tuple;
}

/* Take over an object. False: it is NULL, or there is no memory. */
static bool
keep(Made *made, PyObject *object)
{
    if (object == NULL) {
        return false;
    }
    if (made->count == made->room) {
        int64_t room = made->room == 0 ? 256 : 2 * made->room;
        PyObject **larger = PyMem_Realloc(made->object, (size_t)room * sizeof *larger);
        if (larger == NULL) {
            Py_DECREF(object);
            return false;
        }
        made->object = larger;
        made->room = room;
    }
    made->object[made->count++] = object;
    return true;
}

/* Make objects of those of a slot's numbers that are no longer what they were. */
static bool
make_stored(const Nest *nest, const NestSlot *slot, PyObject *object, const Saved *saved,
            Made *made)
{
    const char *now = nest->memory[slot->memory].data;
    const char *before = saved_copy(saved, now);
    int64_t count = slot_numbers(nest, slot, object);
    if (before == NULL) {
        return count == 0;
    }
    for (int64_t i = next_stored(slot, now, before, 0, count); i < count;
         i = next_stored(slot, now, before, i + 1, count)) {
        if (!keep(made, number_in(slot->item, slot->numpy, slot->type, now, i))) {
            return false;
        }
    }
    return true;
}

/* Make the arrays that items get in place of those that they have. */
static bool
make_new(const Nest *nest, const NestSlot *slot, PyObject *list, Made *made)
{
    int64_t count = slot->marked < 0 ? 0 : PySequence_Fast_GET_SIZE(list);
    for (int64_t i = 0; i < count; i++) {
        if (stacked_is_new(nest, slot, i) && !keep(made, stacked_new(nest, slot, i))) {
            return false;
        }
    }
    return true;
}

/* Make objects of all that was stored. */
static bool
make_objects(const Nest *nest, PyObject *const *objects, const Saved *saved, Made *made)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->stacked ? !make_new(nest, slot, objects[i], made)
                          : slot->kind != SLOT_GROWN && changes_list(slot) && !slot->marks &&
                                !make_stored(nest, slot, objects[i], saved, made)) {
            return false;
        }
    }
    return true;
}

/* Append an object, and take it over. False: it is NULL, or there is no memory. */
static bool
append(PyObject *list, PyObject *object)
{
    if (object == NULL) {
        return false;
    }
    Py_ssize_t count = PyList_GET_SIZE(list);
    if (count < ((PyListObject *)list)->allocated) {
        PyList_SET_ITEM(list, count, object);
        Py_SET_SIZE(list, count + 1);
        return true;
    }
    int status = PyList_Append(list, object);
    Py_DECREF(object);
    return status == 0;
}

/* Append new arrays of so many axes, of which the columns have the elements and the lengths. As
 * `append_all`, but that it may have got some of them. */
static bool
append_arrays(const Nest *nest, const NestSlot *slot, PyObject *list)
{
    const NestMemory *elements = &nest->memory[slot->column[ELEMENTS].memory];
    const NestMemory *lengths = &nest->memory[slot->column[LENGTHS].memory];
    int type = nest->temporary[slot->column[ELEMENTS].memory].type;
    int64_t left = elements_added(nest, &slot->column[ELEMENTS]);
    int64_t count = elements_added(nest, &slot->column[LENGTHS]);
    const char *from = elements->data + elements->length[1] * number_bytes(type);
    const int64_t *length = (const int64_t *)lengths->data + lengths->length[1];
    bool fits = left >= 0 && count >= 0 && count % slot->of_axes == 0;
    for (; fits && count > 0; count -= slot->of_axes, length += slot->of_axes) {
        int64_t size = 1;
        npy_intp shape[MOST_LENGTHS];
        for (int axis = 0; fits && axis < slot->of_axes; axis++) {
            shape[axis] = length[axis];
            fits = length[axis] >= 0 && !__builtin_mul_overflow(size, length[axis], &size);
        }
        fits = fits && size <= left;
        PyObject *array = fits ? PyArray_SimpleNew(slot->of_axes, shape, type) : NULL;
        if (array != NULL) {
            size_t bytes = (size_t)size * (size_t)number_bytes(type);
            memcpy(PyArray_DATA((PyArrayObject *)array), from, bytes);
            from += bytes;
            left -= size;
        }
        fits = append(list, array);
    }
    return fits && left == 0;
}

/* Append what a list gets. As `append_all`, but that it may have got some of it. */
static bool
append_added(const Nest *nest, const NestSlot *slot, PyObject *list)
{
    if (slot->of_axes > 0) {
        return append_arrays(nest, slot, list);
    }
    int64_t first = nest->memory[slot->column[0].memory].length[1];
    int64_t count = items_added(nest, slot);
    for (int64_t i = 0; i < count; i++) {
        if (!append(list, item_at(nest, slot, first + i))) {
            return false;
        }
    }
    return count >= 0;
}

/* Take the last items from a list, which are numbers, tuples of numbers, or new arrays. */
static void
shorten(PyObject *list, Py_ssize_t count)
{
    Py_ssize_t before = PyList_GET_SIZE(list);
    Py_SET_SIZE(list, count);
    for (Py_ssize_t i = count; i < before; i++) {
        Py_DECREF(((PyListObject *)list)->ob_item[i]);
    }
}

/* Append what all lists get. False: there is no memory, and the lists are as before. */
static bool
append_all(const Nest *nest, PyObject *const *objects)
{
    Py_ssize_t before[nest->slots];
    int i = 0;
    bool done = true;
    for (; done && i < nest->slots; i++) {
        if (nest->slot[i].kind == SLOT_GROWN) {
            before[i] = PyList_GET_SIZE(objects[i]);
            done = append_added(nest, &nest->slot[i], objects[i]);
        }
    }
    while (!done && i-- > 0) {
        if (nest->slot[i].kind == SLOT_GROWN) {
            shorten(objects[i], before[i]);
        }
    }
    return done;
}

/* Put what was made for a list's places into it. Returns what was made for the next list. */
static PyObject **
store_in(const NestSlot *slot, PyObject *list, const char *now, const char *before, PyObject **next)
{
    int64_t count = PyList_GET_SIZE(list);
    for (int64_t at = next_stored(slot, now, before, 0, count); at < count;
         at = next_stored(slot, now, before, at + 1, count)) {
        PyObject **item = &((PyListObject *)list)->ob_item[at];
        Py_SETREF(*item, *next++); /* a number: runs no code */
    }
    return next;
}

/* Put what was made for places into lists: takes over the objects, and drops what was there. */
static void
store_all(const Nest *nest, PyObject *const *objects, const Saved *saved, const Made *made)
{
    PyObject **next = made->object;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_GROWN || !changes_list(slot) || slot->marks) {
            continue;
        }
        const char *now = nest->memory[slot->memory].data;
        const char *before = saved_copy(saved, now);
        if (slot->stacked) {
            next = stacked_change(nest, slot, objects[i], now, before, next);
            continue;
        }
        if (slot->attribute != NULL) {
            next = before == NULL ? next : members_change(slot, objects[i], now, before, next);
            continue;
        }
        PyObject *const *lists;
        int64_t count = before == NULL ? 0 : slot_lists(slot, &objects[i], &lists);
        for (int64_t k = 0; k < count; k++) {
            int64_t bytes = PyList_GET_SIZE(lists[k]) * slot->itemsize;
            next = store_in(slot, lists[k], now, before, next);
            now += bytes;
            before += bytes;
        }
    }
}

/* What is in the lists now is committed. */
static void
note_committed(const Nest *nest, PyObject *const *objects)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->marks && PySequence_Fast_GET_SIZE(objects[i]) > 0) {
            memset(nest->memory[slot->memory].data, 0,
                   (size_t)PySequence_Fast_GET_SIZE(objects[i]));
        }
        for (int k = 0; k < slot->columns; k++) {
            int64_t *length = nest->memory[slot->column[k].memory].length;
            length[1] = length[0] = slot->read ? length[0] : 0;
        }
    }
}

/* Put what a chunk has appended and stored into the lists. False, with no exception: there is no
 * memory, or machine code says what cannot be; no list has changed. */
bool
lists_change(const Nest *nest, PyObject *const *objects, const Saved *saved)
{
    if (nest->changing == 0) {
        return true;
    }
    Made made = {0};
    int collects = PyGC_Disable();
    PyObject *entries = NULL;
    bool done = make_objects(nest, objects, saved, &made);
    if (done && nest->entered > 0) {
        entries = keys_made(nest, objects);
        done = entries != NULL && keys_put(nest, objects, entries);
    }
    if (done && !append_all(nest, objects)) {
        done = false;
        keys_take_back(nest, objects, entries);
    }
    if (done) {
        store_all(nest, objects, saved, &made);
        keys_replace(nest, objects, entries);
        note_committed(nest, objects);
    }
    else {
        PyErr_Clear();
        while (made.count > 0) {
            Py_DECREF(made.object[--made.count]);
        }
    }
    PyMem_Free(made.object);
    Py_XDECREF(entries);
    if (collects) {
        PyGC_Enable();
    }
    return done;
}
