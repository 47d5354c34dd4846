/* Objects of the numbers that lie in memory of a nest's own. */
#ifndef UFUSE_ITEM_OBJECTS_H
#define UFUSE_ITEM_OBJECTS_H

#include "nest/form/items.h"

/* The number at a place of some, which are elements of a type of NumPy's: a new object, or NULL. */
static inline PyObject *
number_in(SlotKind item, bool numpy, int type, const char *data, int64_t place)
{
    if (item == SLOT_FLOAT && !numpy) {
        return PyFloat_FromDouble(((const double *)data)[place]);
    }
    if (item == SLOT_INT && !numpy) {
        return PyLong_FromLong(((const long *)data)[place]);
    }
    Register value = number_load(type, data + place * number_bytes(type));
    return number_object(item_number(item, numpy), value);
}

#endif
