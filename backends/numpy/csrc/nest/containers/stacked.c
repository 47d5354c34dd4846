/*
 * Arrays that the items of lists of objects have as an attribute. A nest gets those of all items as
 * one array, which has an axis more; behind a chunk of turns, what has changed is copied into the
 * items' own. The laws:
 *
 * 1. All are C-contiguous and of one shape: what eager computes depends on nothing else.
 * 2. What a nest writes lies in no memory that it reads elsewhere: an array that is copied shares
 *    none with any that is written, and one whose copy is copied back shares none with any other.
 * 3. Where the program binds an attribute to a new array, the item is marked, and gets one behind
 *    the chunk. The old one stays as it was; or nobody has it, where it might have been written.
 * 4. Copying back cannot fail, and no old array's death runs Python code.
 */
#include "nest/containers/where.h"

#include "nest/containers/stacked.h"

#include "nest/form/costs.h"
#include "nest/form/own_memory.h"
#include "nest/given/arrays.h"
#include "nest/containers/addresses.h"

/* Memory between two addresses. */
typedef struct {
    uintptr_t begin, end;
    bool written;
} Extent;

/* What law 2 needs to know: whose memory arrays have that are not copied, those that are copied and
 * written, and, of what is written, arrays that views were taken of. */
typedef struct {
    Addresses read, written, whole, viewed;
    Extent *extent; /* of copied views */
    size_t extents;
    bool ascending; /* they begin one behind another */
} Memories;

/* Whether an array's death, and that of those whose memory it shows, runs no Python code. */
static bool
dies_quietly(const PyArrayObject *array)
{
    while (((const PyArrayObject_fields *)array)->weakreflist == NULL) {
        PyObject *base = PyArray_BASE(array);
        if (base == NULL || !PyArray_CheckExact(base)) {
            return base == NULL;
        }
        array = (const PyArrayObject *)base;
    }
    return false;
}

/* Law 3, of the array that an item has at the beginning. */
static inline bool
may_be_replaced(const NestSlot *slot, const PyArrayObject *array)
{
    bool alone = Py_REFCNT(array) == 1 && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
    return slot->marked < 0 || ((alone || !slot->in_place) && dies_quietly(array));
}

/* The array that an item has as an attribute, borrowed; NULL: it is none that a nest takes. */
static inline PyArrayObject *
array_of(const NestSlot *slot, const Where *where, PyObject *item)
{
    PyObject **place, *dict, *value = value_in(where, item, &place, &dict);
    bool fits = value != NULL && array_fits(slot, value, slot->axes - 1, slot->in_place) &&
                PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value) &&
                may_be_replaced(slot, (PyArrayObject *)value);
    return fits ? (PyArrayObject *)value : NULL;
}

/* How many bytes one of the arrays has; the product of the lengths behind the first. */
static int64_t
bytes_of_one(const Nest *nest, const NestSlot *slot)
{
    int64_t bytes = slot->itemsize;
    for (int axis = 1; axis < slot->axes; axis++) {
        bytes *= nest->memory[slot->memory].length[axis];
    }
    return bytes;
}

/* Copy the arrays of all items of a list of objects. False: some item has none that is as the
 * others, or that is not worth it, or there is no memory. */
bool
stacked_read(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left)
{
    int64_t count = PySequence_Fast_GET_SIZE(list), all;
    PyObject *const *items = PySequence_Fast_ITEMS(list);
    NestMemory *memory = &nest->memory[slot->memory];
    memset(memory->length, 0, sizeof memory->length);
    if (count == 0) {
        return true;
    }
    Where where = where_of(slot, items[0]);
    PyArrayObject *first = array_of(slot, &where, items[0]);
    if (first == NULL) {
        return false;
    }
    int64_t bytes = PyArray_NBYTES(first);
    if (__builtin_mul_overflow(count, bytes, &all) ||
        saving_is_too_long(nest, (size_t)all * (slot->changed ? 2 : 1), left) ||
        nest_grow(memory, all) < 0) {
        return false;
    }
    const npy_intp *shape = PyArray_DIMS(first);
    memory->length[0] = count;
    for (int axis = 1; axis < slot->axes; axis++) {
        memory->length[axis] = shape[axis - 1];
    }
    for (int64_t i = 0; i < count; i++) {
        PyArrayObject *array = array_of(slot, &where, items[i]);
        if (array == NULL || !PyArray_CompareLists(PyArray_DIMS(array), shape, slot->axes - 1)) {
            return false;
        }
        if (bytes > 0) {
            memcpy(memory->data + i * bytes, PyArray_DATA(array), (size_t)bytes);
        }
    }
    return true;
}

/* The words of the arrays that were copied. */
void
stacked_words(const Nest *nest, const NestSlot *slot, int64_t *words)
{
    const NestMemory *memory = &nest->memory[slot->memory];
    words[0] = (int64_t)(intptr_t)memory->data;
    int64_t stride = slot->itemsize;
    for (int axis = slot->axes - 1; axis >= 0; axis--) {
        words[1 + axis] = memory->length[axis];
        words[1 + slot->axes + axis] = stride;
        stride *= memory->length[axis];
    }
}

/* How many elements were copied. */
int64_t
stacked_elements(const Nest *nest, const NestSlot *slot)
{
    return nest->memory[slot->memory].length[0] * (bytes_of_one(nest, slot) / slot->itemsize);
}

/* Mark no item of a list. False: there is no memory. */
bool
stacked_marks(Nest *nest, const NestSlot *slot, PyObject *list)
{
    NestMemory *memory = &nest->memory[slot->memory];
    int64_t count = PySequence_Fast_GET_SIZE(list);
    memory->length[0] = 0;
    if (nest_grow(memory, count) < 0) {
        return false;
    }
    if (count > 0) {
        memset(memory->data, 0, (size_t)count);
    }
    return true;
}

/* Whether an item is marked. */
bool
stacked_is_new(const Nest *nest, const NestSlot *slot, int64_t item)
{
    return slot->marked >= 0 && nest->memory[nest->slot[slot->marked].memory].data[item] != 0;
}

/* A new array for an item, or NULL, perhaps with an exception: there is no memory. */
PyObject *
stacked_new(const Nest *nest, const NestSlot *slot, int64_t item)
{
    const NestMemory *memory = &nest->memory[slot->memory];
    PyArray_Descr *descr = PyArray_DescrFromType(slot->type);
    if (descr == NULL) {
        return NULL;
    }
    npy_intp shape[MOST_LENGTHS];
    for (int axis = 1; axis < slot->axes; axis++) {
        shape[axis - 1] = memory->length[axis];
    }
    int64_t bytes = bytes_of_one(nest, slot);
    PyArrayObject *array = memory_new_array(descr, slot->axes - 1, shape, NULL, bytes);
    if (array != NULL && bytes > 0) {
        memcpy(PyArray_DATA(array), memory->data + item * bytes, (size_t)bytes);
    }
    return (PyObject *)array;
}

/* Copy back what is no longer what it was, and have marked items have the next new arrays, whose
 * references are taken over. Returns what is behind these. */
PyObject **
stacked_change(const Nest *nest, const NestSlot *slot, PyObject *list, const char *now,
               const char *before, PyObject **next)
{
    int64_t count = PySequence_Fast_GET_SIZE(list), bytes = bytes_of_one(nest, slot);
    PyObject *const *items = PySequence_Fast_ITEMS(list), **place, *dict;
    Where where = count > 0 ? where_of(slot, items[0]) : (Where){.field = -1};
    for (int64_t i = 0; i < count; i++) {
        if (stacked_is_new(nest, slot, i)) {
            set_value(&where, items[i], *next++);
        }
        else if (bytes > 0 && memcmp(now + i * bytes, before + i * bytes, (size_t)bytes) != 0) {
            PyObject *array = value_in(&where, items[i], &place, &dict);
            memcpy(PyArray_DATA((PyArrayObject *)array), now + i * bytes, (size_t)bytes);
        }
    }
    return next;
}

/* Note arrays that are not copied. False: some has memory of others than NumPy: it may be any. */
static bool
note_others(const Nest *nest, PyObject *const *objects, bool writes, Memories *memories)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (slot->kind != SLOT_ARRAY || slot->listed) {
            continue;
        }
        PyObject *owner = owner_of_memory((PyArrayObject *)objects[i]);
        if (owner == NULL && writes) {
            return false;
        }
        if (owner != NULL) {
            (void)addresses_add(slot->changed ? &memories->written : &memories->read, owner);
        }
    }
    return true;
}

static void
add_extent(Memories *memories, PyArrayObject *array, bool written)
{
    uintptr_t begin = (uintptr_t)PyArray_DATA(array);
    size_t count = memories->extents++;
    memories->ascending =
        memories->ascending && (count == 0 || memories->extent[count - 1].begin <= begin);
    memories->extent[count] = (Extent){begin, begin + (uintptr_t)PyArray_NBYTES(array), written};
}

/* Note an array that is copied, and perhaps written. False: it shares memory with another. */
static bool
note_copied(Memories *memories, PyArrayObject *array, bool written)
{
    PyObject *owner = owner_of_memory(array);
    if (owner == NULL) { /* it is not written, and something is */
        return false;
    }
    bool is_view = owner != (PyObject *)array;
    if (addresses_have(&memories->written, owner) || addresses_have(&memories->whole, owner) ||
        (written && addresses_have(&memories->read, owner)) ||
        (!is_view && addresses_have(&memories->viewed, owner))) {
        return false;
    }
    if (written) {
        (void)addresses_add(is_view ? &memories->viewed : &memories->whole, owner);
    }
    if (is_view && addresses_have(&memories->viewed, owner)) {
        add_extent(memories, array, written);
    }
    return true;
}

/* Note the arrays that are copied and written, or those that are only copied. */
static bool
note_all(const Nest *nest, PyObject *const *objects, bool written, Memories *memories)
{
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        if (!slot->stacked || slot->in_place != written) {
            continue;
        }
        int64_t count = PySequence_Fast_GET_SIZE(objects[i]);
        PyObject *const *items = PySequence_Fast_ITEMS(objects[i]);
        Where where = count > 0 ? where_of(slot, items[0]) : (Where){.field = -1};
        for (int64_t k = 0; k < count; k++) {
            if (!note_copied(memories, array_of(slot, &where, items[k]), written)) {
                return false;
            }
        }
    }
    return true;
}

static int
by_begin(const void *one, const void *other)
{
    uintptr_t a = ((const Extent *)one)->begin, b = ((const Extent *)other)->begin;
    return (a > b) - (a < b);
}

/* Whether none of the views that is written shares memory with another. */
static bool
extents_are_apart(Memories *memories)
{
    if (!memories->ascending) {
        qsort(memories->extent, memories->extents, sizeof(Extent), by_begin);
    }
    uintptr_t end = 0, end_of_written = 0;
    for (size_t i = 0; i < memories->extents; i++) {
        const Extent *one = &memories->extent[i];
        if (one->begin < (one->written ? end : end_of_written)) {
            return false;
        }
        end = one->end > end ? one->end : end;
        end_of_written = one->written && one->end > end_of_written ? one->end : end_of_written;
    }
    return true;
}

/* Whether law 2 holds. False also where there is no memory to see that. All was found to fit, and
 * copied. */
bool
stacked_are_apart(const Nest *nest, PyObject *const *objects)
{
    if (nest->lists == 0) {
        return true;
    }
    size_t copied = 0;
    bool writes = false, writes_copies = false;
    for (int i = 0; i < nest->slots; i++) {
        const NestSlot *slot = &nest->slot[i];
        bool is_array = slot->kind == SLOT_ARRAY && (slot->stacked || !slot->listed);
        copied += slot->stacked ? (size_t)PySequence_Fast_GET_SIZE(objects[i]) : 0;
        writes_copies = writes_copies || (slot->stacked && slot->in_place);
        writes = writes || writes_copies || (is_array && !slot->stacked && slot->changed);
    }
    if (copied == 0 || !writes) {
        return true;
    }
    Memories memories = {.ascending = true, .extent = PyMem_Malloc(copied * sizeof(Extent))};
    size_t slots = (size_t)nest->slots;
    bool apart =
        addresses_begin(&memories.read, slots) && addresses_begin(&memories.written, slots) &&
        addresses_begin(&memories.whole, copied) && addresses_begin(&memories.viewed, copied) &&
        memories.extent != NULL && note_others(nest, objects, writes_copies, &memories) &&
        note_all(nest, objects, true, &memories) && note_all(nest, objects, false, &memories) &&
        extents_are_apart(&memories);
    addresses_drop(&memories.read);
    addresses_drop(&memories.written);
    addresses_drop(&memories.whole);
    addresses_drop(&memories.viewed);
    PyMem_Free(memories.extent);
    return apart;
}
