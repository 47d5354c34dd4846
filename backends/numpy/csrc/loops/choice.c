/*
 * `np.where`: elements of one array or of another. Both are read, and bits choose between them: no
 * processor foresees what a mask of data holds.
 */
#include "loops/choice.h"

#include "loops/vectors.h"

typedef struct {
    uint64_t half[2];
} Item16;

typedef struct {
    uint64_t quarter[4];
} Item32;

#define DEFINE_CHOICE(NAME, TYPE)                                                                  \
    static void NAME##_from(npy_intp first, char **data, npy_intp count, const npy_intp *steps)    \
    {                                                                                              \
        for (npy_intp i = first; i < count; i++) {                                                 \
            TYPE a, b;                                                                             \
            memcpy(&a, data[1] + i * steps[1], sizeof a);                                          \
            memcpy(&b, data[2] + i * steps[2], sizeof b);                                          \
            a = data[0][i * steps[0]] ? a : b;                                                     \
            memcpy(data[3] + i * steps[3], &a, sizeof a);                                          \
        }                                                                                          \
    }

/* What is chosen lies apart from what is read: so a compiler makes vectors of it. */
#define DEFINE_WHERE(NAME, TYPE)                                                                   \
    DEFINE_CHOICE(NAME, TYPE)                                                                      \
    QUICK_NARROW static void NAME##_block(const uint8_t *mask, const TYPE *a, const TYPE *b,       \
                                          TYPE *restrict chosen)                                   \
    {                                                                                              \
        for (int i = 0; i < QUICK_BLOCK; i++) {                                                    \
            TYPE picked = (TYPE)(0 - (TYPE)(mask[i] != 0));                                        \
            chosen[i] = (TYPE)(b[i] ^ ((a[i] ^ b[i]) & picked));                                   \
        }                                                                                          \
    }                                                                                              \
    static int NAME(char **data, const npy_intp *count, const npy_intp *steps, void *unused)       \
    {                                                                                              \
        const npy_intp size = (npy_intp)sizeof(TYPE);                                              \
        npy_intp blocks = can_be_blocks(data, steps, size) ? *count / QUICK_BLOCK : 0;             \
        TYPE chosen[QUICK_BLOCK], repeated[2][QUICK_BLOCK];                                        \
        for (int k = 1; k <= 2 && blocks > 0; k++) {                                               \
            if (steps[k] == 0) {                                                                   \
                copy_strided((char *)repeated[k - 1], size, data[k], 0, QUICK_BLOCK, size);        \
            }                                                                                      \
        }                                                                                          \
        for (npy_intp first = 0; first < blocks * QUICK_BLOCK; first += QUICK_BLOCK) {             \
            const void *a = data[1] + first * steps[1], *b = data[2] + first * steps[2];           \
            NAME##_block((const uint8_t *)data[0] + first, steps[1] == 0 ? repeated[0] : a,        \
                         steps[2] == 0 ? repeated[1] : b, chosen);                                 \
            memcpy(data[3] + first * size, chosen, sizeof chosen);                                 \
        }                                                                                          \
        NAME##_from(blocks * QUICK_BLOCK, data, *count, steps);                                    \
        return 0;                                                                                  \
    }

/* Whether elements lie side by side, or are one that is repeated. */
static bool
can_be_blocks(char **data, const npy_intp *steps, npy_intp size)
{
    uintptr_t places = (uintptr_t)data[1] | (uintptr_t)data[2];
    return QUICK_HAS_NARROW && steps[0] == 1 && steps[3] == size &&
           (steps[1] == size || steps[1] == 0) && (steps[2] == size || steps[2] == 0) &&
           places % (uintptr_t)size == 0;
}

DEFINE_WHERE(where_1, uint8_t)
DEFINE_WHERE(where_2, uint16_t)
DEFINE_WHERE(where_4, uint32_t)
DEFINE_WHERE(where_8, uint64_t)

#define DEFINE_WIDE(NAME, TYPE)                                                                    \
    DEFINE_CHOICE(NAME, TYPE)                                                                      \
    static int NAME(char **data, const npy_intp *count, const npy_intp *steps, void *unused)       \
    {                                                                                              \
        NAME##_from(0, data, *count, steps);                                                       \
        return 0;                                                                                  \
    }

DEFINE_WIDE(where_16, Item16)
DEFINE_WIDE(where_32, Item32)

LoopFunction *
where_function(npy_intp itemsize)
{
    switch (itemsize) {
    case 1:
        return where_1;
    case 2:
        return where_2;
    case 4:
        return where_4;
    case 8:
        return where_8;
    case 16:
        return where_16;
    case 32:
        return where_32;
    default:
        return NULL;
    }
}
