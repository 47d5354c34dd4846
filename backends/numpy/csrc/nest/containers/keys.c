/*
 * Tables of whole numbers as keys: dicts and sets that a nest makes, or is given (given_keys.c).
 * The keys lie one behind another, in the order in which they came, and what they lead to in a
 * column beside them. An index says where a key lies: open addressing, each place the number of a
 * key and one more, or zero. It is brought up to date when it is asked, as other code takes all
 * keys away.
 */
#include "nest/containers/keys.h"

#include "nest/form/items.h"
#include "nest/form/own_memory.h"
#include "nest/containers/item_objects.h"

/* CPython's own, which no public header has in every version. */
PyAPI_FUNC(PyObject *) _PyDict_NewPresized(Py_ssize_t count);

enum { FEWEST_BITS = 4, MOST_BITS = 31 };

PyTypeObject *keys_defaultdict, *keys_counter;

/* Where the search for a key begins. */
static inline uint64_t
first_place(int64_t key, int64_t bits)
{
    uint64_t mixed = (uint64_t)key ^ ((uint64_t)key >> 32);
    return (mixed * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
}

/* The place in an index where a key is, or where it has to be. */
static inline int32_t *
place_of(const int64_t *keys, const NestMemory *index, int64_t key)
{
    uint64_t mask = (UINT64_C(1) << index->length[BITS]) - 1;
    int32_t *places = (int32_t *)index->data;
    uint64_t at = first_place(key, index->length[BITS]);
    while (places[at] != 0 && keys[places[at] - 1] != key) {
        at = (at + 1) & mask;
    }
    return &places[at];
}

/* Have an index be of the first keys, with room for one more. False: there is no memory. */
bool
index_renew(const int64_t *keys, int64_t count, NestMemory *index)
{
    int64_t bits = index->length[BITS] < FEWEST_BITS || index->length[INDEXED] > count
                       ? FEWEST_BITS
                       : index->length[BITS];
    while (bits < MOST_BITS && ((int64_t)1 << bits) < 2 * (count + 1)) {
        bits++;
    }
    if (bits == MOST_BITS || nest_grow(index, (int64_t)sizeof(int32_t) << bits) < 0) {
        return false;
    }
    memset(index->data, 0, sizeof(int32_t) << bits);
    index->length[BITS] = bits;
    for (int64_t i = 0; i < count; i++) {
        *place_of(keys, index, keys[i]) = (int32_t)(i + 1);
    }
    index->length[INDEXED] = count;
    return true;
}

/* Whether an index is of all keys, and has room for one more. */
static inline bool
index_fits(const NestMemory *index, int64_t count)
{
    return index->length[INDEXED] == count && 2 * (count + 1) <= (int64_t)1 << index->length[BITS];
}

/* What machine code calls for the place of a key: -1: there is none such, -2: there is no memory.
 */
int64_t
nest_find(const int64_t *keys, int64_t count, NestMemory *index, int64_t key)
{
    if (!index_fits(index, count) && !index_renew(keys, count, index)) {
        return -2;
    }
    return *place_of(keys, index, key) - 1;
}

/* Whether memory, unless it is NULL, holds so many elements, or does now. */
static inline bool
has_room(NestMemory *memory, int64_t count, int64_t itemsize)
{
    return memory == NULL || count * itemsize <= memory->capacity ||
           nest_extend(memory, count * itemsize) == 0;
}

/*
 * What machine code calls for the place of a key, which gets one behind all others where there is
 * none such: then a zero goes into the column and into the words, unless these are NULL, behind as
 * many elements as there are keys, and one more. -1: there is no memory.
 */
int64_t
nest_enter(NestMemory *keys, NestMemory *index, NestMemory *column, NestMemory *words,
           int64_t itemsize, int64_t count, int64_t key)
{
    if (!index_fits(index, count) && !index_renew((int64_t *)keys->data, count, index)) {
        return -1;
    }
    int32_t *place = place_of((int64_t *)keys->data, index, key);
    if (*place != 0) {
        return *place - 1;
    }
    if (!has_room(keys, count + 1, sizeof key) || !has_room(column, count + 2, itemsize) ||
        !has_room(words, count + 2, sizeof key)) {
        return -1;
    }
    ((int64_t *)keys->data)[count] = key;
    if (column != NULL) {
        memset(column->data + (count + 1) * itemsize, 0, (size_t)itemsize);
    }
    if (words != NULL) {
        ((int64_t *)words->data)[count + 1] = 0;
    }
    *place = (int32_t)(count + 1);
    index->length[INDEXED] = count + 1;
    return count;
}

/* Whether a nest can be given, or a whole call can give, what a slot says of keys. */
bool
keys_fit(const Nest *nest, const NestSlot *slot)
{
    const NestSlot *list = slot->origin < 0 ? NULL : &nest->slot[slot->origin];
    bool of_rows = slot->container == A_DICT && slot->value == SLOT_INT && !slot->numpy_value &&
                   !slot->entered;
    bool is_fixed = slot->container == A_FROZENSET && (slot->kind != SLOT_KEYS || slot->entered);
    bool known =
        slot->container >= A_SET && slot->container <= A_FROZENSET && !is_fixed &&
        slot->origin < slot - nest->slot &&
        (list == NULL || (list->listed && list->axes == 1 && !list->objects && !list->has_rows));
    return known && (of_rows || !slot->in_dict) && slot->item == SLOT_INT &&
           (slot->value == SLOT_ARRAY) == is_set(slot);
}

/* An empty container for so many keys: a new object, or NULL with an exception. A dict has room for
 * all from the start, as much as it would get if it grew: the smallest power of two of which two
 * thirds are enough. Up to 3.13 CPython takes the next one where that is just enough. */
static PyObject *
empty(int container, int64_t count)
{
    if (container == A_COUNTER) { /* a dict of a subclass, whose own methods are not called */
        PyObject *nothing = PyTuple_New(0);
        PyObject *made = nothing == NULL ? NULL : keys_counter->tp_new(keys_counter, nothing, NULL);
        Py_XDECREF(nothing);
        return made;
    }
    int64_t places = (3 * count + 1) / 2;
    bool is_power = (places & (places - 1)) == 0;
    return container == A_SET ? PySet_New(NULL)
                              : _PyDict_NewPresized((Py_ssize_t)(count - (count > 0 && is_power)));
}

/* A defaultdict with the entries of a dict, which is dropped: a new object, or NULL with an
 * exception. What is no such container is given as it is. */
static PyObject *
with_factory(int container, PyObject *dict)
{
    if (dict == NULL || container <= A_DICT || container == A_COUNTER) {
        return dict;
    }
    PyObject *factory = (PyObject *)(container == OF_INTS ? &PyLong_Type : &PyFloat_Type);
    PyObject *found = PyObject_CallOneArg((PyObject *)keys_defaultdict, factory);
    if (found != NULL && PyDict_Update(found, dict) < 0) {
        Py_CLEAR(found);
    }
    Py_DECREF(dict);
    return found;
}

/* Put a key into a container, and what it leads to. -1 with an exception: there is no memory. */
static int
put(const Nest *nest, const NestSlot *slot, PyObject *container, PyObject *key, int64_t values,
    int64_t place)
{
    if (slot->container == A_SET) {
        return PySet_Add(container, key);
    }
    PyObject *value = number_in(slot->value, slot->numpy_value, nest->temporary[values].type,
                                nest->memory[values].data, place + 1);
    int status = value == NULL ? -1 : PyDict_SetItem(container, key, value);
    Py_XDECREF(value);
    return status;
}

/* Whether there is a temporary of a kind of numbers that holds what it says, and enough. */
bool
keys_hold(const Nest *nest, int64_t temporary, SlotKind kind, int64_t least)
{
    if (temporary < 0 || temporary >= nest->temporaries ||
        nest->temporary[temporary].type != item_number(kind, true)->type) {
        return false;
    }
    const NestMemory *memory = &nest->memory[temporary];
    return memory->length[0] >= least &&
           memory->length[0] <= memory->capacity / nest->temporary[temporary].itemsize;
}

/* The key at a place, which may be an item of a list: a new reference, or NULL, perhaps with an
 * exception, where it is none. */
static PyObject *
key_at(const NestSlot *slot, const NestMemory *keys, const NestMemory *places, PyObject *list,
       int64_t place)
{
    int64_t at = places == NULL ? -1 : ((int64_t *)places->data)[place + 1];
    if (at < 0) {
        return number_in(slot->item, slot->numpy, NPY_LONG, keys->data, place);
    }
    return item_of(list, at);
}

/*
 * A new set or dict of the keys in the temporary whose number the first cell has, of what they lead
 * to in that of the next one, and of which items of a list they are in that of the last: all are
 * numbers, so no code of the program runs. NULL: there is no memory, perhaps with an exception, or
 * no such temporary.
 */
PyObject *
keys_given(const Nest *nest, const NestSlot *slot, PyObject *const *objects, const Register *cells)
{
    bool has_values = !is_set(slot), has_places = slot->origin >= 0;
    int64_t keys = cells[0].whole - nest->arrays;
    int64_t values = has_values ? cells[1].whole - nest->arrays : 0;
    int64_t places = has_places ? cells[1 + has_values].whole - nest->arrays : 0;
    if (!keys_hold(nest, keys, SLOT_INT, 0)) {
        return NULL;
    }
    int64_t count = nest->memory[keys].length[0];
    if ((has_values && !keys_hold(nest, values, slot->value, count + 1)) ||
        (has_places && !keys_hold(nest, places, SLOT_INT, count + 1))) {
        return NULL;
    }
    int collects = PyGC_Disable();
    PyObject *found = empty(slot->container, count);
    for (int64_t i = 0; found != NULL && i < count; i++) {
        PyObject *key = key_at(slot, &nest->memory[keys], has_places ? &nest->memory[places] : NULL,
                               has_places ? objects[slot->origin] : NULL, i);
        if (key == NULL || put(nest, slot, found, key, values, i) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(key);
    }
    found = with_factory(slot->container, found);
    if (collects) {
        PyGC_Enable();
    }
    return found;
}

/* A type of a module: a new reference, or NULL with an exception. */
static PyTypeObject *
type_of(const char *module, const char *name)
{
    PyObject *found = PyImport_ImportModule(module);
    PyObject *type = found == NULL ? NULL : PyObject_GetAttrString(found, name);
    Py_XDECREF(found);
    return (PyTypeObject *)type;
}

/* Returns 0, or -1 with an exception. */
int
keys_begin(void)
{
    keys_defaultdict = type_of("_collections", "defaultdict");
    keys_counter = keys_defaultdict == NULL ? NULL : type_of("collections", "Counter");
    return keys_counter == NULL ? -1 : 0;
}
