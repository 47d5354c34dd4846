/*
 * Memory that a call of a program is done with, and that its next kernels take again, without
 * CuPy's allocator: all are on one stream, so whoever writes it comes behind whoever has read it.
 */
#include "device/device.h"

static const double MOST_BYTES = 32 << 20;

/* Keep memory, a reference that is taken; false where there is no room, and it is left. */
bool
spare_put(Spare *spare, PyObject *memory, Py_ssize_t size, uintptr_t data)
{
    if (spare->count == MOST_SPARE || spare->bytes + (double)size > MOST_BYTES) {
        return false;
    }
    spare->memory[spare->count] = memory;
    spare->size[spare->count] = size;
    spare->data[spare->count++] = data;
    spare->bytes += (double)size;
    return true;
}

/* Memory of exactly this size, a new reference, and its address; NULL where there is none. */
PyObject *
spare_take(Spare *spare, Py_ssize_t size, uintptr_t *data)
{
    for (int i = spare->count; i-- > 0;) {
        if (spare->size[i] != size) {
            continue;
        }
        PyObject *memory = spare->memory[i];
        int last = --spare->count;
        *data = spare->data[i];
        spare->memory[i] = spare->memory[last];
        spare->size[i] = spare->size[last];
        spare->data[i] = spare->data[last];
        spare->bytes -= (double)size;
        spare->taken += (double)size;
        return memory;
    }
    return NULL;
}

/* Give all back to CuPy. May run Python code. */
void
spare_drop(Spare *spare)
{
    spare->bytes = 0;
    while (spare->count > 0) {
        Py_DECREF(spare->memory[--spare->count]);
    }
}
