/* The elements of arrays that are written, and where they lie. */
#ifndef UFUSE_NEST_SAVED_H
#define UFUSE_NEST_SAVED_H

#include "nest/form/nest.h"

typedef struct {
    int arrays;
    size_t bytes; /* SIZE_MAX: more than there can be */
    size_t rowed; /* of these, those that are more, the more turns there are */
    char *memory; /* or NULL */
    size_t room;  /* bytes of that memory */
    struct SavedArray {
        Walk walk;
        npy_intp elements, itemsize;
    } *array;
    size_t spared; /* bytes of arrays that need no copy */
    int known;     /* those of them that are made again */
    struct KnownArray {
        char *data;
        size_t bytes;
        const char *equal; /* what it was; NULL: zeros */
    } *made;
} Saved;

void saved_add(Saved *saved, PyArrayObject *array);
void saved_add_box(Saved *saved, PyArrayObject *array, const npy_intp *first, const npy_intp *count,
                   bool turning);
void saved_add_vector(Saved *saved, char *data, int64_t count, int itemsize);
void saved_add_known(Saved *saved, char *data, size_t bytes, const char *equal);
const char *saved_copy(const Saved *saved, const char *data);
bool saved_take(Saved *saved);
void saved_restore(const Saved *saved);
void saved_drop(Saved *saved);

#endif
