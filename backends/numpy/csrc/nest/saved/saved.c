/*
 * Elements of arrays, saved and restored. All arrays are saved before any is written: where two
 * share memory, both hold what it was. Only elements are touched, never what lies between: that may
 * be another thread's to write.
 */
#include "nest/saved/saved.h"

#include "nest/called/sharing.h"

enum {
    PARTS = 32,     /* of each array, for threads */
    LARGE = 1 << 17 /* bytes that threads might share */
};

/* Memory for few bytes, of the one call that may be under way: it holds the GIL, by law 3. */
static char few[(size_t)16 << 10] __attribute__((aligned(64)));

/* Add an axis at its place, by the size of its stride; the first axis is the innermost. */
static void
insert_axis(Walk *walk, npy_intp extent, npy_intp stride)
{
    int at = walk->axes++;
    for (; at > 0 && walk->stride[at - 1] > stride; at--) {
        walk->extent[at] = walk->extent[at - 1];
        walk->stride[at] = walk->stride[at - 1];
    }
    walk->extent[at] = extent;
    walk->stride[at] = stride;
}

/* Make one axis of two where the outer one goes on where the inner one ends. */
static void
join_axes(Walk *walk)
{
    int kept = 0;
    for (int i = 1; i < walk->axes; i++) {
        if (walk->stride[i] == walk->stride[kept] * walk->extent[kept]) {
            walk->extent[kept] *= walk->extent[i];
            continue;
        }
        kept++;
        walk->extent[kept] = walk->extent[i];
        walk->stride[kept] = walk->stride[i];
    }
    walk->axes = kept + 1;
}

/* Add what lies along each axis at so many places from the first on, of which nothing is copied
 * yet. */
static void
add_part(Saved *saved, PyArrayObject *array, const npy_intp *first, const npy_intp *count)
{
    struct SavedArray *one = &saved->array[saved->arrays++];
    Walk *walk = &one->walk;
    walk->base = PyArray_BYTES(array);
    walk->axes = 0;
    one->itemsize = PyArray_ITEMSIZE(array);
    one->elements = 1;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp extent = count[axis], stride = PyArray_STRIDE(array, axis);
        walk->base += first[axis] * stride;
        if (extent == 0) {
            one->elements = 0;
            return;
        }
        if (extent == 1 || stride == 0) {
            continue; /* the same memory at each index */
        }
        if (stride < 0) {
            walk->base += (extent - 1) * stride;
            stride = -stride;
        }
        one->elements *= extent;
        insert_axis(walk, extent, stride);
    }
    if (walk->axes == 0) {
        insert_axis(walk, 1, one->itemsize);
    }
    join_axes(walk);
    size_t bytes = (size_t)one->elements * (size_t)one->itemsize;
    saved->bytes = bytes > SIZE_MAX - saved->bytes ? SIZE_MAX : saved->bytes + bytes;
}

/* Add an array, of which nothing is copied yet. `saved->array` has room for it. */
void
saved_add(Saved *saved, PyArrayObject *array)
{
    static const npy_intp zeros[NPY_MAXDIMS];
    add_part(saved, array, zeros, PyArray_DIMS(array));
}

/* The same, of what lies along each axis at so many places from the first on. `turning`: these are
 * more, the more turns there are. */
void
saved_add_box(Saved *saved, PyArrayObject *array, const npy_intp *first, const npy_intp *count,
              bool turning)
{
    size_t before = saved->bytes;
    add_part(saved, array, first, count);
    saved->rowed += turning ? saved->bytes - before : 0;
}

/* Add elements that are neighbours, as `saved_add` does an array. */
void
saved_add_vector(Saved *saved, char *data, int64_t count, int itemsize)
{
    struct SavedArray *one = &saved->array[saved->arrays++];
    one->walk.base = data;
    one->walk.axes = 0;
    one->itemsize = itemsize;
    one->elements = count;
    insert_axis(&one->walk, count, itemsize);
    saved->bytes += (size_t)count * (size_t)itemsize;
}

/* Add bytes whose contents are known: those that others have now and then, or (NULL) zeros. Nothing
 * is copied. `saved->made` has room for them. */
void
saved_add_known(Saved *saved, char *data, size_t bytes, const char *equal)
{
    saved->made[saved->known++] = (struct KnownArray){data, bytes, equal};
}

/* The copy that was taken of what lies at an address; NULL: there is none. */
const char *
saved_copy(const Saved *saved, const char *data)
{
    const char *from = saved->memory;
    for (int i = 0; i < saved->arrays; i++) {
        const struct SavedArray *one = &saved->array[i];
        if (one->elements > 0 && one->walk.base == data) {
            return from;
        }
        from += one->elements * one->itemsize;
    }
    return NULL;
}

/* Copy parts of the arrays: so many of one part of all arrays, then those of the next. */
static int
save_parts(void *context, npy_intp first, npy_intp past)
{
    const Saved *saved = context;
    for (npy_intp task = first; task < past; task++) {
        npy_intp part = task / saved->arrays, array = task % saved->arrays;
        char *to = saved->memory;
        for (npy_intp i = 0; i < array; i++) {
            to += saved->array[i].elements * saved->array[i].itemsize;
        }
        const struct SavedArray *one = &saved->array[array];
        npy_intp from = one->elements / PARTS * part;
        npy_intp end = part + 1 < PARTS ? from + one->elements / PARTS : one->elements;
        if (end > from) {
            walk_gather(&one->walk, from, end - from, to + from * one->itemsize, one->itemsize);
        }
    }
    return 0;
}

/* Copy the elements of all arrays. False, with no exception: there is no memory. */
bool
saved_take(Saved *saved)
{
    if (saved->bytes > saved->room) {
        saved_drop(saved);
        saved->memory = saved->bytes <= sizeof(few) ? few : memory_take(saved->bytes);
        if (saved->memory == NULL) {
            return false;
        }
        saved->room = saved->bytes <= sizeof(few) ? sizeof(few) : saved->bytes;
    }
    if (saved->bytes >= LARGE && sharing_goes_on()) {
        return threads_run_awake(save_parts, saved, (npy_intp)saved->arrays * PARTS, saved->arrays);
    }
    char *to = saved->memory;
    for (int i = 0; i < saved->arrays; i++) {
        const struct SavedArray *one = &saved->array[i];
        if (one->elements > 0) {
            walk_gather(&one->walk, 0, one->elements, to, one->itemsize);
            to += one->elements * one->itemsize;
        }
    }
    return true;
}

/* Copy the elements back, and make again what was known of others. */
void
saved_restore(const Saved *saved)
{
    for (int i = 0; i < saved->known; i++) {
        const struct KnownArray *one = &saved->made[i];
        if (one->equal == NULL) {
            memset(one->data, 0, one->bytes);
        }
        else {
            memcpy(one->data, one->equal, one->bytes);
        }
    }
    const char *from = saved->memory;
    for (int i = 0; i < saved->arrays; i++) {
        const struct SavedArray *one = &saved->array[i];
        if (one->elements > 0) {
            walk_scatter(&one->walk, 0, one->elements, from, one->itemsize, one->itemsize);
            from += one->elements * one->itemsize;
        }
    }
}

/* Give the memory back. */
void
saved_drop(Saved *saved)
{
    if (saved->memory != few) {
        memory_give(saved->memory);
    }
    saved->memory = NULL;
    saved->room = 0;
}
