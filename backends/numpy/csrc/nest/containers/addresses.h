/* Objects by their addresses, in a hash table of which half the places are free. */
#ifndef UFUSE_ADDRESSES_H
#define UFUSE_ADDRESSES_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Addresses {
    PyObject **place; /* `mask` and one more; borrowed */
    size_t mask;
} Addresses;

/* Make room for so many. False, with no exception: there is no memory. */
static inline bool
addresses_begin(Addresses *all, size_t count)
{
    all->mask = 1;
    while (all->mask < 2 * count) {
        all->mask = 2 * all->mask + 1;
    }
    all->place = PyMem_Calloc(all->mask + 1, sizeof *all->place);
    return all->place != NULL;
}

static inline void
addresses_drop(Addresses *all)
{
    PyMem_Free(all->place);
}

/* The place of an object, or where it would be. */
static inline PyObject **
addresses_place(const Addresses *all, PyObject *object)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)object * UINT64_C(0x9E3779B97F4A7C15) >> 20);
    while (all->place[at & all->mask] != NULL && all->place[at & all->mask] != object) {
        at++;
    }
    return &all->place[at & all->mask];
}

static inline bool
addresses_have(const Addresses *all, PyObject *object)
{
    return *addresses_place(all, object) != NULL;
}

/* Add an object. False: it is there already. */
static inline bool
addresses_add(const Addresses *all, PyObject *object)
{
    PyObject **place = addresses_place(all, object);
    if (*place != NULL) {
        return false;
    }
    *place = object;
    return true;
}

#endif
