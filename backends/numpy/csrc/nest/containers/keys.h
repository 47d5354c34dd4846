/* Tables of whole numbers as keys, as keys.c and given_keys.c have them. */
#ifndef UFUSE_KEYS_H
#define UFUSE_KEYS_H

#include "nest/containers/item_objects.h"

/* Words of an index: how many keys are in it, and the bits of how many places it has; 0: none. */
enum { INDEXED, BITS };

/* `GIVEN_CONTAINERS` of graph/nest.py are in this order; a whole call gives no frozenset. */
enum { A_SET = 1, A_DICT, OF_INTS, OF_FLOATS, A_COUNTER, A_FROZENSET };

extern PyTypeObject *keys_defaultdict, *keys_counter;

static inline bool
is_set(const NestSlot *slot)
{
    return slot->container == A_SET || slot->container == A_FROZENSET;
}

/* An item of a list or tuple: a new reference, or NULL with no exception, where there is none. */
static inline PyObject *
item_of(PyObject *list, int64_t place)
{
    bool known = (PyList_CheckExact(list) || PyTuple_CheckExact(list)) &&
                 place < PySequence_Fast_GET_SIZE(list);
    return known ? Py_NewRef(PySequence_Fast_GET_ITEM(list, place)) : NULL;
}

int keys_begin(void);
int64_t nest_find(const int64_t *keys, int64_t count, NestMemory *index, int64_t key);
int64_t nest_enter(NestMemory *keys, NestMemory *index, NestMemory *column, NestMemory *words,
                   int64_t itemsize, int64_t count, int64_t key);
bool keys_fit(const Nest *nest, const NestSlot *slot);
PyObject *keys_given(const Nest *nest, const NestSlot *slot, PyObject *const *objects,
                     const Register *cells);
bool index_renew(const int64_t *keys, int64_t count, NestMemory *index);
bool keys_hold(const Nest *nest, int64_t temporary, SlotKind kind, int64_t least);

#endif
