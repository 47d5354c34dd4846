/* How operands of loops lie to one another, and numbers as their elements. */
#include "loops/operands.h"

#include <stdlib.h>

static bool
may_overlap(const char *one, npy_intp step, const char *other, npy_intp other_step, npy_intp count,
            npy_intp itemsize)
{
    npy_intp reach = (count - 1) * step, other_reach = (count - 1) * other_step;
    const char *begin = one + (reach < 0 ? reach : 0);
    const char *end = one + (reach < 0 ? 0 : reach) + itemsize;
    const char *other_begin = other + (other_reach < 0 ? other_reach : 0);
    const char *other_end = other + (other_reach < 0 ? 0 : other_reach) + itemsize;
    return begin < other_end && other_begin < end;
}

Overlap
overlap_of(char **data, npy_intp count, const npy_intp *steps, npy_intp itemsize)
{
    Overlap found = LIES_APART;
    for (int i = 0; i < 2; i++) {
        if (may_overlap(data[2], steps[2], data[i], steps[i], count, itemsize)) {
            if (data[2] != data[i] || steps[2] != steps[i] || labs(steps[2]) < itemsize) {
                return LIES_ACROSS;
            }
            found = LIES_ON_OPERAND;
        }
    }
    return found;
}

bool
store_number(int type, double number, char *to)
{
#define STORE(TYPE, NUMBER, LEAST, MOST)                                                           \
    case TYPE: {                                                                                   \
        if (number < (LEAST) || number > (MOST)) {                                                 \
            return false;                                                                          \
        }                                                                                          \
        NUMBER stored = (NUMBER)number;                                                            \
        memcpy(to, &stored, sizeof stored);                                                        \
        return true;                                                                               \
    }
    switch (type) {
        STORE(NPY_DOUBLE, double, -1e300, 1e300)
        STORE(NPY_FLOAT, float, -1e38, 1e38)
        STORE(NPY_BYTE, npy_byte, -128, 127)
        STORE(NPY_UBYTE, npy_ubyte, 0, 255)
        STORE(NPY_SHORT, npy_short, -32768, 32767)
        STORE(NPY_USHORT, npy_ushort, 0, 65535)
        STORE(NPY_INT, npy_int, -2147483648.0, 2147483647.0)
        STORE(NPY_UINT, npy_uint, 0, 4294967295.0)
        STORE(NPY_LONG, npy_long, -1e15, 1e15)
        STORE(NPY_ULONG, npy_ulong, 0, 1e15)
        STORE(NPY_LONGLONG, npy_longlong, -1e15, 1e15)
        STORE(NPY_ULONGLONG, npy_ulonglong, 0, 1e15)
    }
#undef STORE
    return false;
}
