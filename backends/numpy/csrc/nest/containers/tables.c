/*
 * Lists of lists of numbers, all as long, which a nest gets as arrays of two axes; and whether the
 * lists that a nest changes are known to it by one name each.
 */
#include "nest/containers/tables.h"

#include "nest/form/costs.h"
#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/containers/addresses.h"
#include "nest/containers/rows.h"
#include "nest/containers/stacked.h"

/* Whether a slot's list, or rows of its table, change. */
bool
changes_list(const NestSlot *slot)
{
    return slot->kind == SLOT_GROWN || (slot->listed && slot->changed);
}

/* The lists in which a slot's numbers are, itself or the rows of a table: how many. Borrowed. */
int64_t
slot_lists(const NestSlot *slot, PyObject *const *object, PyObject *const **lists)
{
    if (!slot->listed || slot->axes == 1 || slot->stacked) {
        *lists = object;
        return 1;
    }
    *lists = PySequence_Fast_ITEMS(*object);
    return PySequence_Fast_GET_SIZE(*object);
}

static bool
is_list(PyObject *object, bool changed)
{
    return PyList_CheckExact(object) || (!changed && PyTuple_CheckExact(object));
}

/* Read the numbers of a row. False: some is of another type, or too large. */
static bool
read_row(const NestSlot *slot, PyObject *const *items, int64_t count, char *to)
{
    if (slot->item == SLOT_FLOAT && !slot->numpy) {
        for (int64_t i = 0; i < count; i++) {
            if (!PyFloat_CheckExact(items[i])) {
                return false;
            }
            ((double *)to)[i] = PyFloat_AS_DOUBLE(items[i]);
        }
        return true;
    }
    if (slot->item == SLOT_INT && !slot->numpy) {
        for (int64_t i = 0; i < count; i++) {
            int overflow = 1;
            ((int64_t *)to)[i] =
                PyLong_CheckExact(items[i]) ? PyLong_AsLongLongAndOverflow(items[i], &overflow) : 0;
            if (overflow != 0) {
                return false;
            }
        }
        return true;
    }
    const Number *number = item_number(slot->item, slot->numpy);
    for (int64_t i = 0; i < count; i++) {
        Register value;
        if (!number_read(number, items[i], &value)) {
            return false;
        }
        number_store(slot->type, to + i * slot->itemsize, value);
    }
    return true;
}

/* Read all numbers of a table. False: a nest cannot take it, or there is no memory. */
bool
table_read(Nest *nest, const NestSlot *slot, PyObject *const *object, int64_t left)
{
    if (!is_list(*object, slot->changed)) {
        return false;
    }
    NestMemory *memory = &nest->memory[slot->memory];
    PyObject *const *rows;
    int64_t count = slot_lists(slot, object, &rows), length = 0, numbers;
    for (int64_t i = 0; i < count; i++) {
        if (!is_list(rows[i], slot->changed) ||
            (i > 0 && PySequence_Fast_GET_SIZE(rows[i]) != length)) {
            return false;
        }
        length = PySequence_Fast_GET_SIZE(rows[i]);
    }
    memory->length[0] = count;
    memory->length[1] = length;
    if (__builtin_mul_overflow(count, length, &numbers) || numbers > INT64_MAX / slot->itemsize ||
        list_takes_too_long(nest, numbers, left) ||
        nest_grow(memory, numbers * slot->itemsize) < 0) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        char *to = memory->data + i * length * slot->itemsize;
        if (!read_row(slot, PySequence_Fast_ITEMS(rows[i]), length, to)) {
            return false;
        }
    }
    return true;
}

/* The words of a table that was read. */
void
table_words(const Nest *nest, const NestSlot *slot, int64_t *words)
{
    const NestMemory *memory = &nest->memory[slot->memory];
    words[0] = (int64_t)(intptr_t)memory->data;
    words[1] = memory->length[0];
    words[2] = memory->length[1];
    words[3] = memory->length[1] * slot->itemsize;
    words[4] = slot->itemsize;
}

/* How many numbers of a list or table, or elements of arrays, were read. */
int64_t
slot_numbers(const Nest *nest, const NestSlot *slot, PyObject *object)
{
    const int64_t *length = nest->memory[slot->memory].length;
    if (slot->stacked) {
        return stacked_elements(nest, slot);
    }
    return slot->axes == 1 ? PySequence_Fast_GET_SIZE(object) : length[0] * length[1];
}

/* The first place from `from` on where a list's numbers are no longer what they were, or their
 * count. */
int64_t
next_stored(const NestSlot *slot, const char *now, const char *before, int64_t from, int64_t count)
{
    switch (slot->itemsize) {
/* What is saved of one slot lies right behind that of another: it may lie anywhere. */
#define COMPARE(SIZE)                                                                              \
    case SIZE:                                                                                     \
        while (from < count && memcmp(now + from * (SIZE), before + from * (SIZE), SIZE) == 0) {   \
            from++;                                                                                \
        }                                                                                          \
        return from;
        COMPARE(8)
        COMPARE(4)
        COMPARE(2)
        COMPARE(1)
#undef COMPARE
    default:
        return from; /* no number is of another size: all are taken to differ */
    }
}

/* Whether a slot's numbers are items of lists. */
static bool
has_lists(const NestSlot *slot)
{
    return (slot->listed && slot->attribute == NULL) || slot->kind == SLOT_GROWN;
}

/* Note the lists that a nest changes. False: one comes twice. */
static bool
note_changed(const Nest *nest, PyObject *const *objects, const Addresses *noted)
{
    for (int i = 0; i < nest->slots; i++) {
        PyObject *const *lists;
        int64_t count = has_lists(&nest->slot[i]) && changes_list(&nest->slot[i])
                            ? slot_lists(&nest->slot[i], &objects[i], &lists)
                            : 0;
        for (int64_t k = 0; k < count; k++) {
            if (!addresses_add(noted, lists[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Whether some list that is only read is among those that change. */
static bool
reads_changed(const Nest *nest, PyObject *const *objects, const Addresses *noted)
{
    for (int i = 0; i < nest->slots; i++) {
        PyObject *const *lists;
        if (nest->slot[i].has_rows && rows_among(&nest->slot[i], objects[i], noted)) {
            return true;
        }
        int64_t count = nest->slot[i].listed && !changes_list(&nest->slot[i])
                            ? slot_lists(&nest->slot[i], &objects[i], &lists)
                            : 0;
        for (int64_t k = 0; k < count; k++) {
            if (addresses_have(noted, lists[k])) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Whether no list that changes, a row of a table too, is known by two names. False also where there
 * is no memory to see that. Tables were read. Runs no Python code, sets no exception.
 */
bool
lists_are_apart(const Nest *nest, PyObject *const *objects)
{
    if (nest->tables == 0 || nest->changing == 0) {
        return true;
    }
    size_t count = 1;
    for (int i = 0; i < nest->slots; i++) {
        PyObject *const *lists;
        if (has_lists(&nest->slot[i]) && changes_list(&nest->slot[i])) {
            count += (size_t)slot_lists(&nest->slot[i], &objects[i], &lists);
        }
    }
    Addresses noted;
    bool apart = addresses_begin(&noted, count) && note_changed(nest, objects, &noted) &&
                 !reads_changed(nest, objects, &noted);
    addresses_drop(&noted);
    return apart;
}
