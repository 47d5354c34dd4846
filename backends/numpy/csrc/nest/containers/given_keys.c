/*
 * Dicts and sets of whole numbers that a nest is given: read before a call into temporaries as
 * those of keys.c are, and changed where a chunk is committed. The laws:
 *
 * 1. What a commit puts in are new objects, in the order of the keys; there is memory for all of
 *    them before one is put in, and where a container gets none for a new entry, what it has got is
 *    taken out again.
 * 2. Nothing here runs Python code: keys are ints, or pairs of these, and what they lead to are
 *    numbers; the containers are of exact types, whose own methods are not called.
 */
#include "nest/containers/given_keys.h"

#include "nest/form/costs.h"
#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/containers/item_objects.h"
#include "nest/containers/keys.h"
#include "nest/containers/rows.h"

/* To read an entry, and to find its key later, takes as long as to read so many items of a list,
 * where what plain Python does with one is but a few times as slow. */
enum { AS_ITEMS = 24 };

/* How many entries all dicts and sets have, as the nest has them. */
int64_t
keys_held(const Nest *nest)
{
    int64_t count = 0;
    for (int i = 0; nest->keyed > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        count += slot->kind == SLOT_KEYS ? nest->memory[slot->memory].length[0] : 0;
    }
    return count;
}

/* Whether an object is the container that a slot is of. */
static bool
is_container(const NestSlot *slot, PyObject *object)
{
    switch (slot->container) {
    case A_SET:
        return PySet_CheckExact(object);
    case A_FROZENSET:
        return PyFrozenSet_CheckExact(object);
    case A_DICT:
        return PyDict_CheckExact(object) || (slot->in_dict && Py_TYPE(object) == keys_defaultdict);
    case A_COUNTER:
        return Py_TYPE(object) == keys_counter;
    default:
        break;
    }
    if (Py_TYPE(object) != keys_defaultdict) {
        return false;
    }
    PyObject *factory = PyObject_GetAttrString(object, "default_factory"); /* a C member */
    Py_XDECREF(factory);
    if (factory == NULL) {
        PyErr_Clear();
    }
    return factory == (PyObject *)(slot->container == OF_INTS ? &PyLong_Type : &PyFloat_Type);
}

static Py_ssize_t
entries_of(const NestSlot *slot, PyObject *object)
{
    return is_set(slot) ? PySet_GET_SIZE(object) : PyDict_GET_SIZE(object);
}

/* A key as a table has it. False: it is no int, no pair of ints, or too large. */
static bool
key_read(const NestSlot *slot, PyObject *object, int64_t *key)
{
    const Number *number = item_number(SLOT_INT, false);
    Register first, second;
    if (!slot->pairs) {
        bool read = number_read(number, object, &first);
        *key = first.whole;
        return read;
    }
    if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) != 2 ||
        !number_read(number, PyTuple_GET_ITEM(object, 0), &first) ||
        !number_read(number, PyTuple_GET_ITEM(object, 1), &second) ||
        first.whole != (int32_t)first.whole || second.whole != (int32_t)second.whole) {
        return false;
    }
    *key = (int64_t)((uint64_t)first.whole << 32 | (uint32_t)second.whole);
    return true;
}

/* The object of a new key at a place, which may be an item of a list: a new reference, or NULL,
 * perhaps with an exception. */
static PyObject *
key_object(const Nest *nest, const NestSlot *slot, PyObject *const *objects, int64_t place)
{
    int64_t key = ((const int64_t *)nest->memory[slot->memory].data)[place];
    int64_t at =
        slot->places < 0 ? -1 : ((const int64_t *)nest->memory[slot->places].data)[place + 1];
    if (at >= 0) {
        return item_of(objects[slot->origin], at);
    }
    if (!slot->pairs) {
        return PyLong_FromLongLong(key);
    }
    return Py_BuildValue("(ii)", (int)(key >> 32), (int)(int32_t)key);
}

/* Read the members of a set. False: some is no such key. */
static bool
members_into(const NestSlot *slot, PyObject *object, int64_t *keys)
{
    PyObject *iterator = PyObject_GetIter(object), *one;
    bool done = iterator != NULL;
    for (int64_t i = 0; done && (one = PyIter_Next(iterator)) != NULL; i++) {
        done = key_read(slot, one, &keys[i]);
        Py_DECREF(one); /* which the set has, too */
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return done;
}

/* Read keys and what they lead to. False: it has other keys or values; or no memory. */
static bool
read_columns(const Nest *nest, const NestSlot *slot, PyObject *object)
{
    NestMemory *keys = &nest->memory[slot->memory], *index = &nest->memory[slot->index];
    int64_t count = entries_of(slot, object);
    index->length[INDEXED] = index->length[BITS] = 0;
    keys->length[0] = keys->length[1] = count;
    if (nest_grow(keys, count * (int64_t)sizeof(int64_t)) < 0) {
        return false;
    }
    if (slot->places >= 0) {
        NestMemory *places = &nest->memory[slot->places];
        places->length[0] = count + 1;
        if (nest_grow(places, (count + 1) * (int64_t)sizeof(int64_t)) < 0) {
            return false;
        }
    }
    int64_t *found = (int64_t *)keys->data;
    if (is_set(slot)) {
        return members_into(slot, object, found);
    }
    NestMemory *values = &nest->memory[slot->values];
    const Number *number = item_number(slot->value, slot->numpy_value);
    int type = nest->temporary[slot->values].type;
    short size = number_bytes(type);
    if (nest_grow(values, (count + 1) * size) < 0) {
        return false;
    }
    values->length[0] = count + 1;
    memset(values->data, 0, (size_t)size);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (int64_t i = 0; PyDict_Next(object, &at, &key, &value); i++) {
        Register given = {.whole = i};
        if (!key_read(slot, key, &found[i]) ||
            (!slot->in_dict && !number_read(number, value, &given))) {
            return false;
        }
        number_store(type, values->data + (i + 1) * size, given);
    }
    return true;
}

/* Read a dict or set into its temporaries. False: it has other keys or values; or no memory. Where
 * calls before have made an index, it is made now: within a turn, that would be taken for the
 * turn's time. */
static bool
read_entries(const Nest *nest, const NestSlot *slot, PyObject *object)
{
    const NestMemory *keys = &nest->memory[slot->memory];
    return read_columns(nest, slot, object) &&
           (!slot->asked ||
            index_renew((const int64_t *)keys->data, keys->length[0], &nest->memory[slot->index]));
}

/* Whether some dict or set that changes is known by two names. Rows were not read yet. */
static bool
changes_another(const Nest *nest, PyObject *const *objects)
{
    for (int i = 0; i < nest->slots; i++) {
        for (int k = 0; nest->slot[i].kind == SLOT_KEYS && k < nest->given; k++) {
            const NestSlot *other = &nest->slot[k];
            if (nest->slot[i].entered && k != i &&
                (objects[k] == objects[i] ||
                 (other->of_sets && rows_have(other, objects[k], objects[i])))) {
                return true;
            }
        }
    }
    return false;
}

/* Read all dicts and sets for a call. False: a nest cannot take one, or that would take too long.
 * Runs no Python code, sets no exception. */
bool
keys_begin_call(Nest *nest, PyObject *const *objects, int64_t left)
{
    int64_t count = 0;
    for (int i = 0; nest->keyed > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_KEYS) {
            if (!is_container(slot, objects[i])) {
                return false;
            }
            count += entries_of(slot, objects[i]);
        }
    }
    if (nest->keyed == 0) {
        return true;
    }
    if (list_takes_too_long(nest, AS_ITEMS * count, left) || changes_another(nest, objects)) {
        return false;
    }
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_KEYS && !read_entries(nest, slot, objects[i])) {
            return false;
        }
    }
    return true;
}

/* Remember of which dicts and sets a call has made an index. */
void
keys_end_call(Nest *nest)
{
    for (int i = 0; nest->keyed > 0 && i < nest->slots; i++) {
        NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_KEYS) {
            slot->asked = slot->asked || nest->memory[slot->index].length[BITS] > 0;
        }
    }
}

/* Have all that changes be as it is in the program's dicts and sets, before machine code runs. */
void
keys_undo(const Nest *nest, PyObject *const *objects)
{
    for (int i = 0; nest->entered > 0 && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind == SLOT_KEYS && slot->entered) {
            int64_t *length = nest->memory[slot->memory].length;
            if (length[2] != 0) {
                read_entries(nest, slot, objects[i]); /* there is memory for them */
            }
            length[2] = 1; /* machine code may change them */
        }
    }
}

/* What a key leads to now: a new object, or NULL. */
static PyObject *
value_now(const Nest *nest, const NestSlot *slot, int64_t place)
{
    return number_in(slot->value, slot->numpy_value, nest->temporary[slot->values].type,
                     nest->memory[slot->values].data, place + 1);
}

/* Whether a key that a dict has leads to another number now. */
static bool
is_replaced(const Nest *nest, const NestSlot *slot, int64_t place, PyObject *value)
{
    const Number *number = item_number(slot->value, slot->numpy_value);
    int type = nest->temporary[slot->values].type;
    short size = number_bytes(type);
    char before[sizeof(Register)];
    Register given;
    if (!number_read(number, value, &given)) {
        return true;
    }
    number_store(type, before, given);
    return memcmp(before, nest->memory[slot->values].data + (place + 1) * size, (size_t)size) != 0;
}

/* Put a new object behind others, and take it over. False: it is NULL, or there is no memory. */
static bool
put_behind(PyObject *made, PyObject *object)
{
    bool done = object != NULL && PyList_Append(made, object) == 0;
    Py_XDECREF(object);
    return done;
}

static bool
changes_keys(const NestSlot *slot)
{
    return slot->kind == SLOT_KEYS && slot->entered;
}

/* Whether machine code says of keys, and of what they lead to, what can be. */
static bool
fits_keys(const Nest *nest, const NestSlot *slot)
{
    int64_t count = nest->memory[slot->memory].length[0];
    return count >= nest->memory[slot->memory].length[1] &&
           keys_hold(nest, slot->memory, SLOT_INT, count) &&
           (slot->values < 0 || keys_hold(nest, slot->values, slot->value, count + 1)) &&
           (slot->places < 0 || keys_hold(nest, slot->places, SLOT_INT, count + 1));
}

/* Make the objects of new entries. False: there is no memory. */
static bool
make_added(const Nest *nest, const NestSlot *slot, PyObject *const *objects, PyObject *made)
{
    const NestMemory *keys = &nest->memory[slot->memory];
    bool done = true;
    for (int64_t i = keys->length[1]; done && i < keys->length[0]; i++) {
        done = put_behind(made, key_object(nest, slot, objects, i)) &&
               (slot->values < 0 || put_behind(made, value_now(nest, slot, i)));
    }
    return done;
}

/* Make the objects that come in the place of what keys lead to. False: there is no memory. */
static bool
make_replaced(const Nest *nest, const NestSlot *slot, PyObject *object, PyObject *made)
{
    int64_t before = slot->values < 0 ? 0 : nest->memory[slot->memory].length[1];
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool done = true;
    for (int64_t i = 0; done && i < before && PyDict_Next(object, &at, &key, &value); i++) {
        done = !is_replaced(nest, slot, i, value) || put_behind(made, value_now(nest, slot, i));
    }
    return done;
}

/* A list of the objects that a commit puts into dicts and sets: those of all new entries, then
 * those of other values. NULL: there is no memory, perhaps with an exception, or machine code says
 * what cannot be. */
PyObject *
keys_made(const Nest *nest, PyObject *const *objects)
{
    PyObject *made = PyList_New(0);
    for (int i = 0; made != NULL && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (changes_keys(slot) &&
            (!fits_keys(nest, slot) || !make_added(nest, slot, objects, made))) {
            Py_CLEAR(made);
        }
    }
    for (int i = 0; made != NULL && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (changes_keys(slot) && !make_replaced(nest, slot, objects[i], made)) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* Put new entries into a dict or set, or take them out. Returns how many of the objects were used,
 * with those before; less than nothing, with an exception: there was no memory behind as many. */
static Py_ssize_t
move_added(const Nest *nest, const NestSlot *slot, PyObject *object, PyObject *made,
           Py_ssize_t next, Py_ssize_t stop, bool are_put)
{
    const int64_t *length = nest->memory[slot->memory].length;
    bool has_values = slot->values >= 0;
    for (int64_t i = length[1]; i < length[0] && next < stop; i++, next += 1 + has_values) {
        PyObject *key = PyList_GET_ITEM(made, next);
        int status;
        if (has_values) {
            status = are_put ? PyDict_SetItem(object, key, PyList_GET_ITEM(made, next + 1))
                             : PyDict_DelItem(object, key);
        }
        else {
            status = are_put ? PySet_Add(object, key) : PySet_Discard(object, key);
        }
        if (status < 0) {
            return -1 - next - !has_values; /* a set may have it all the same */
        }
    }
    return next;
}

/* Put new entries into all dicts and sets, or take the first ones out. As `move_added`. */
static Py_ssize_t
move_all(const Nest *nest, PyObject *const *objects, PyObject *made, Py_ssize_t stop, bool are_put)
{
    Py_ssize_t next = 0;
    for (int i = 0; next >= 0 && i < nest->slots; i++) {
        if (changes_keys(&nest->slot[i])) {
            next = move_added(nest, &nest->slot[i], objects[i], made, next, stop, are_put);
        }
    }
    return next;
}

/* Put what `keys_made` has made of new entries into the dicts and sets. False, with an exception:
 * there is no memory, and they are as before. */
bool
keys_put(const Nest *nest, PyObject *const *objects, PyObject *made)
{
    Py_ssize_t done = move_all(nest, objects, made, PY_SSIZE_T_MAX, true);
    if (done < 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        move_all(nest, objects, made, -1 - done, false);
        PyErr_Restore(type, value, traceback);
    }
    return done >= 0;
}

/* Take them out again; they may be NULL: nothing was put in. */
void
keys_take_back(const Nest *nest, PyObject *const *objects, PyObject *made)
{
    if (made != NULL) {
        move_all(nest, objects, made, PY_SSIZE_T_MAX, false);
    }
}

/* Put other values in the place of those that there were; all is committed then. A dict needs no
 * memory for that, and what was there is a number: no code runs. */
void
keys_replace(const Nest *nest, PyObject *const *objects, PyObject *made)
{
    Py_ssize_t next = 0;
    for (int i = 0; made != NULL && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        const int64_t *length = nest->memory[slot->memory].length;
        next += changes_keys(slot) ? (length[0] - length[1]) * (1 + (slot->values >= 0)) : 0;
    }
    for (int i = 0; made != NULL && i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (!changes_keys(slot)) {
            continue;
        }
        int64_t *length = nest->memory[slot->memory].length;
        PyObject *key, *value;
        Py_ssize_t at = 0;
        for (int64_t k = 0; slot->values >= 0 && k < length[1]; k++) {
            if (PyDict_Next(objects[i], &at, &key, &value) && is_replaced(nest, slot, k, value)) {
                PyDict_SetItem(objects[i], key, PyList_GET_ITEM(made, next++));
            }
        }
        length[1] = length[0];
        length[2] = 0;
    }
}
