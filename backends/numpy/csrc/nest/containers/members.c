/*
 * Lists of objects of one class: attributes of the items that are numbers. A nest gets each such
 * attribute of all items as an array; behind a chunk of turns, the attributes whose numbers have
 * changed are set. Guards have seen that the class reads and sets them as `object` does. The laws:
 *
 * 1. Nothing here runs Python code: what is set, and what was there before, is a number.
 * 2. A number that changes lies in one place of one array, and an item that is compared has one
 *    index. So a list whose items change, or are compared, is *apart*: no item is in it twice, or
 *    in another list of objects, too. And an object whose attributes the nest gets otherwise, a
 *    SLOT_OBJECT, is no item of any list. As two objects may have one `__dict__`, all this goes for
 *    dicts as for objects.
 */
#include "nest/containers/where.h"

#include "nest/containers/members.h"

#include "nest/form/costs.h"
#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/containers/addresses.h"
#include "nest/containers/tables.h"

/* Whether an object has one of some attributes itself, or nobody can tell. */
static bool
has_some(PyObject *object, const Where *wheres, Py_ssize_t count)
{
    PyObject *dict;
    PyDictValues *values = attributes_of(object, &dict);
    bool found = values == NULL && dict != NULL && !has_plain_keys(dict);
    for (Py_ssize_t i = 0; !found && i < count; i++) {
        if (values != NULL) {
            found = wheres[i].index >= 0 && values->values[wheres[i].index] != NULL;
        }
        else {
            found = dict != NULL && PyDict_GetItemWithError(dict, wheres[i].name) != NULL;
        }
    }
    return found;
}

/* Whether no item of a list has itself what it must lack. */
static bool
lacks_all(const NestSlot *slot, PyObject *const *items, int64_t count)
{
    PyTypeObject *type = Py_TYPE(items[0]);
    Py_ssize_t names = PyTuple_GET_SIZE(slot->lacked);
    Where wheres[names + 1];
    for (Py_ssize_t i = 0; i < names; i++) {
        wheres[i] = where_is(type, PyTuple_GET_ITEM(slot->lacked, i));
    }
    bool may_have =
        names > 0 && ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0 || type->tp_dictoffset != 0);
    for (int64_t i = 0; may_have && i < count; i++) {
        if (has_some(items[i], wheres, names)) {
            return false;
        }
    }
    return true;
}

/* Whether all items of a list have None where they must. */
static bool
have_nothing(const NestSlot *slot, PyObject *const *items, int64_t count)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(slot->nothing); k++) {
        Where where = where_is(Py_TYPE(items[0]), PyTuple_GET_ITEM(slot->nothing, k));
        for (int64_t i = 0; i < count; i++) {
            PyObject **place, *dict;
            if (value_in(&where, items[i], &place, &dict) != Py_None) {
                return false;
            }
        }
    }
    return true;
}

/* Whether the items of a list are what a nest takes, and reading them is worth it. */
bool
members_fit(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left)
{
    if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) {
        return false;
    }
    int64_t count = PySequence_Fast_GET_SIZE(list);
    PyObject *const *items = PySequence_Fast_ITEMS(list);
    nest->memory[slot->memory].length[0] = 0;
    if (count == 0) {
        return true;
    }
    int64_t numbers = 1 + slot->apart + slot->attributes + PyTuple_GET_SIZE(slot->nothing);
    if (list_takes_too_long(nest, count * numbers, left)) {
        return false;
    }
    for (int64_t i = 1; i < count; i++) {
        if (Py_TYPE(items[i]) != Py_TYPE(items[0])) {
            return false;
        }
    }
    for (int64_t i = 0; slot->width > 0 && i < count; i++) {
        if (!PyTuple_CheckExact(items[i]) || PyTuple_GET_SIZE(items[i]) != slot->width) {
            return false;
        }
    }
    return lacks_all(slot, items, count) && have_nothing(slot, items, count);
}

/* Read an attribute of all items of a list. False: some has none that is such a number, or there is
 * no memory. */
bool
members_read(Nest *nest, const NestSlot *slot, PyObject *list)
{
    int64_t count = PySequence_Fast_GET_SIZE(list);
    PyObject *const *items = PySequence_Fast_ITEMS(list);
    NestMemory *memory = &nest->memory[slot->memory];
    memory->length[0] = 0;
    if (count == 0) {
        return true;
    }
    if (nest_grow(memory, count * slot->itemsize) < 0) {
        return false;
    }
    Where where = where_of(slot, items[0]);
    const Number *number = item_number(slot->item, slot->numpy);
    bool is_float = slot->item == SLOT_FLOAT && !slot->numpy;
    for (int64_t i = 0; i < count; i++) {
        PyObject **place, *dict, *value = value_in(&where, items[i], &place, &dict);
        Register read;
        if (value != NULL && is_float && PyFloat_CheckExact(value)) {
            ((double *)memory->data)[i] = PyFloat_AS_DOUBLE(value);
            continue;
        }
        if (value == NULL || !number_read(number, value, &read)) {
            return false;
        }
        number_store(slot->type, memory->data + i * slot->itemsize, read);
    }
    return true;
}

/* Set the attribute of the items whose numbers are no longer what they were. `next` are the new
 * objects, one for each of these items in their order, whose references are taken over; those for
 * the slots behind this one follow, and are returned. */
PyObject **
members_change(const NestSlot *slot, PyObject *list, const char *now, const char *before,
               PyObject **next)
{
    int64_t count = PySequence_Fast_GET_SIZE(list);
    PyObject *const *items = PySequence_Fast_ITEMS(list);
    if (count == 0) {
        return next;
    }
    Where where = where_is(Py_TYPE(items[0]), slot->attribute);
    for (int64_t at = next_stored(slot, now, before, 0, count); at < count;
         at = next_stored(slot, now, before, at + 1, count)) {
        set_value(&where, items[at], *next++);
    }
    return next;
}

/* The index of an object in a list; -1: it is not there, or that is no list. */
int64_t
members_index(PyObject *list, PyObject *object)
{
    if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) {
        return -1;
    }
    int64_t at = PySequence_Fast_GET_SIZE(list) - 1;
    while (at >= 0 && PySequence_Fast_GET_ITEM(list, at) != object) {
        at--;
    }
    return at;
}

/* The item of a list: a new reference. NULL, with no exception: it has none there. */
PyObject *
members_item(PyObject *list, int64_t index)
{
    bool there = index >= 0 && index < PySequence_Fast_GET_SIZE(list);
    return there ? Py_NewRef(PySequence_Fast_GET_ITEM(list, index)) : NULL;
}

/* Add an object, and its dict. False: one of them was there already. */
static bool
note(const Addresses *noted, PyObject *object)
{
    PyObject *dict;
    (void)attributes_of(object, &dict);
    bool added = addresses_add(noted, object);
    return (dict == NULL || addresses_add(noted, dict)) && added;
}

/* Whether an object, or its dict, is among some. */
static bool
is_noted(const Addresses *noted, PyObject *object)
{
    PyObject *dict;
    (void)attributes_of(object, &dict);
    return addresses_have(noted, object) || (dict != NULL && addresses_have(noted, dict));
}

/* Note the objects of SLOT_OBJECTs, and then the items of lists that are apart. False: one of these
 * items is there already. */
static bool
note_all(const Nest *nest, PyObject *const *objects, const Addresses *noted)
{
    for (int i = 0; i < nest->slots; i++) {
        if (nest->slot[i].kind == SLOT_OBJECT) {
            (void)note(noted, objects[i]); /* one may be there by several names */
        }
    }
    for (int i = 0; i < nest->slots; i++) {
        int64_t count = nest->slot[i].apart ? PySequence_Fast_GET_SIZE(objects[i]) : 0;
        for (int64_t k = 0; k < count; k++) {
            if (!note(noted, PySequence_Fast_GET_ITEM(objects[i], k))) {
                return false;
            }
        }
    }
    return true;
}

/* Whether some item of a list that is not apart is among those. */
static bool
reads_noted(const Nest *nest, PyObject *const *objects, const Addresses *noted)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        int64_t count = slot->objects && !slot->apart ? PySequence_Fast_GET_SIZE(objects[i]) : 0;
        for (int64_t k = 0; k < count; k++) {
            if (is_noted(noted, PySequence_Fast_GET_ITEM(objects[i], k))) {
                return true;
            }
        }
    }
    return false;
}

/* Whether law 2 holds. False also where there is no memory to see that. The lists were found to
 * fit. */
bool
members_are_apart(const Nest *nest, PyObject *const *objects)
{
    if (nest->apart == 0) {
        return true;
    }
    size_t count = 1;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->apart || slot->kind == SLOT_OBJECT) {
            count += slot->apart ? 2 * (size_t)PySequence_Fast_GET_SIZE(objects[i]) : 2;
        }
    }
    Addresses noted;
    bool apart = addresses_begin(&noted, count) && note_all(nest, objects, &noted) &&
                 !reads_noted(nest, objects, &noted);
    addresses_drop(&noted);
    return apart;
}
