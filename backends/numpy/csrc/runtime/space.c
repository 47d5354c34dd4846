/* Spaces and walks: broadcasting, axis order, coalescing, copying to and from tiles. */
#include "runtime/tiles.h"

/* Widen `space` by the shape of `array`. Returns -1, with no exception, where they do not
 * broadcast. */
int
space_broadcast(Space *space, PyArrayObject *array)
{
    int axes = PyArray_NDIM(array);
    if (axes > MAX_AXES) {
        return -1;
    }
    const npy_intp *shape = PyArray_SHAPE(array);
    if (axes > space->axes) {
        int more = axes - space->axes;
        memmove(space->shape + more, space->shape, sizeof(npy_intp) * (size_t)space->axes);
        for (int i = 0; i < more; i++) {
            space->shape[i] = 1;
        }
        space->axes = axes;
    }
    npy_intp *tail = space->shape + (space->axes - axes);
    for (int i = 0; i < axes; i++) {
        if (tail[i] == shape[i] || shape[i] == 1) {
            continue;
        }
        if (tail[i] != 1) {
            return -1;
        }
        tail[i] = shape[i];
    }
    return 0;
}

/* Set the order of the walk, C order where `axes` is -1; count the elements. -1: not such an order.
 */
int
space_set_order(Space *space, int axes, const signed char *order)
{
    if (axes >= 0 && axes != space->axes) {
        return -1;
    }
    npy_intp size = 1;
    for (int i = 0; i < space->axes; i++) {
        if (__builtin_mul_overflow(size, space->shape[i], &size)) {
            return -1;
        }
    }
    space->size = size;
    space->c_order = axes < 0;
    if (axes < 0) {
        for (int i = 0; i < space->axes; i++) {
            space->order[i] = (signed char)i;
        }
    }
    else {
        memcpy(space->order, order, (size_t)axes);
    }
    return 0;
}

void
walk_linear(Walk *walk, char *base, npy_intp size, npy_intp stride)
{
    walk->base = base;
    walk->axes = 1;
    walk->extent[0] = size;
    walk->stride[0] = stride;
}

/* Walk memory with `strides`, one per axis of the space; its first `axes` axes in walk order count.
 */
void
walk_strides(Walk *walk, const Space *space, char *base, const npy_intp *strides, int axes)
{
    int made = 0;
    for (int i = axes - 1; i >= 0; i--) {
        int axis = space->order[i];
        npy_intp extent = space->shape[axis], stride = strides[axis];
        if (extent == 1) {
            continue;
        }
        if (made > 0 && stride == walk->stride[made - 1] * walk->extent[made - 1]) {
            walk->extent[made - 1] *= extent;
        }
        else {
            walk->extent[made] = extent;
            walk->stride[made] = stride;
            made++;
        }
    }
    walk->base = base;
    walk->axes = made;
}

/* Walk `array` broadcast over the space, without its last `axes_dropped` axes in walk order. */
void
walk_array(Walk *walk, const Space *space, PyArrayObject *array, int axes_dropped)
{
    npy_intp strides[MAX_AXES];
    int axes = PyArray_NDIM(array), more = space->axes - axes;
    for (int i = 0; i < more; i++) {
        strides[i] = 0;
    }
    for (int i = 0; i < axes; i++) {
        strides[more + i] = PyArray_DIM(array, i) == 1 ? 0 : PyArray_STRIDE(array, i);
    }
    walk_strides(walk, space, PyArray_BYTES(array), strides, space->axes - axes_dropped);
}

void
cursor_seek(const Walk *walk, npy_intp position, Cursor *cursor)
{
    char *at = walk->base;
    cursor->left = NPY_MAX_INTP;
    for (int i = 0; i < walk->axes; i++) {
        npy_intp extent =
            walk->extent[i] > 0 ? walk->extent[i] : 1; /* a total of nothing has a tile */
        npy_intp index = position % extent;
        if (i == walk->axes - 1) {
            index = position;
        }
        position /= extent;
        cursor->index[i] = index;
        at += index * walk->stride[i];
        if (i == 0) {
            cursor->left = extent - index;
        }
    }
    cursor->at = at;
}

/* Move on by at most `left` elements. */
void
cursor_advance(const Walk *walk, Cursor *cursor, npy_intp elements)
{
    cursor->at += elements * walk->stride[0];
    cursor->left -= elements;
    cursor->index[0] += elements;
    if (cursor->left > 0) {
        return;
    }
    cursor->at -= walk->extent[0] * walk->stride[0];
    cursor->index[0] = 0;
    cursor->left = walk->extent[0];
    for (int i = 1; i < walk->axes; i++) {
        cursor->at += walk->stride[i];
        if (++cursor->index[i] < walk->extent[i] || i == walk->axes - 1) {
            return;
        }
        cursor->at -= walk->extent[i] * walk->stride[i];
        cursor->index[i] = 0;
    }
}

#define COPY_ITEMS(TYPE)                                                                           \
    for (npy_intp i = 0; i < count; i++) {                                                         \
        TYPE item;                                                                                 \
        memcpy(&item, from + i * from_step, sizeof item);                                          \
        memcpy(to + i * to_step, &item, sizeof item);                                              \
    }

typedef struct {
    uint64_t half[2];
} Item16;

typedef struct {
    uint64_t quarter[4];
} Item32;

/* Copy `count` items between disjoint memory, aligned or not, as bits. */
void
copy_strided(char *to, npy_intp to_step, const char *from, npy_intp from_step, npy_intp count,
             npy_intp itemsize)
{
    if (to_step == itemsize && from_step == itemsize) {
        memcpy(to, from, (size_t)(count * itemsize));
        return;
    }
    if (itemsize == 8 && to_step == 8) {
        if (from_step == 0) {
            uint64_t item;
            memcpy(&item, from, 8);
            for (npy_intp i = 0; i < count; i++) {
                memcpy(to + i * 8, &item, 8);
            }
            return;
        }
        npy_intp i = 0;
        for (; i + 4 <= count; i += 4) {
            uint64_t item[4];
            for (int k = 0; k < 4; k++) {
                memcpy(&item[k], from + k * from_step, 8);
            }
            memcpy(to + i * 8, item, sizeof item);
            from += 4 * from_step;
        }
        for (; i < count; i++) {
            memcpy(to + i * 8, from, 8);
            from += from_step;
        }
        return;
    }
    switch (itemsize) {
    case 1:
        COPY_ITEMS(uint8_t) return;
    case 2:
        COPY_ITEMS(uint16_t) return;
    case 4:
        COPY_ITEMS(uint32_t) return;
    case 8:
        COPY_ITEMS(uint64_t) return;
    case 16:
        COPY_ITEMS(Item16) return;
    default:
        COPY_ITEMS(Item32) return;
    }
}

/* A two-level copy in one call, for inner extents too short to be worth a call each. */
#define GATHER_ITEMS(TYPE)                                                                         \
    for (npy_intp outer = 0; outer < rows; outer++) {                                              \
        const char *row = from + outer * outer_stride;                                             \
        for (npy_intp i = 0; i < inner; i++) {                                                     \
            memcpy(to, row + i * inner_stride, sizeof(TYPE));                                      \
            to += sizeof(TYPE);                                                                    \
        }                                                                                          \
    }

/* Of rows that lie together in so few bytes, which one or two moves copy. */
#define GATHER_BYTES(BYTES)                                                                        \
    case BYTES:                                                                                    \
        for (npy_intp row = 0; row < rows; row++) {                                                \
            memcpy(to + row * (BYTES), from + row * outer_stride, BYTES);                          \
        }                                                                                          \
        return to + rows * (BYTES);

static char *
gather_rows(char *to, const char *from, npy_intp rows, npy_intp outer_stride, npy_intp inner,
            npy_intp inner_stride, npy_intp itemsize)
{
    npy_intp bytes = inner_stride == itemsize ? inner * itemsize : 0;
    switch (bytes) {
        GATHER_BYTES(8)
        GATHER_BYTES(12)
        GATHER_BYTES(16)
        GATHER_BYTES(24)
        GATHER_BYTES(32)
        GATHER_BYTES(48)
    }
    if (bytes > 48) {
        for (npy_intp row = 0; row < rows; row++, to += bytes) {
            memcpy(to, from + row * outer_stride, (size_t)bytes);
        }
        return to;
    }
    switch (itemsize) {
    case 1:
        GATHER_ITEMS(uint8_t) return to;
    case 2:
        GATHER_ITEMS(uint16_t) return to;
    case 4:
        GATHER_ITEMS(uint32_t) return to;
    case 8:
        GATHER_ITEMS(uint64_t) return to;
    case 16:
        GATHER_ITEMS(Item16) return to;
    default:
        GATHER_ITEMS(Item32) return to;
    }
}

/* Copy elements `from` and on of the walk to contiguous memory. */
void
walk_gather(const Walk *walk, npy_intp from, npy_intp count, char *to, npy_intp itemsize)
{
    Cursor cursor;
    cursor_seek(walk, from, &cursor);
    while (count > 0) {
        npy_intp inner = walk->axes == 0 ? count : walk->extent[0];
        if (walk->axes > 1 && inner < 32 && cursor.index[0] == 0 && count >= inner) {
            npy_intp rows = count / inner, whole = walk->extent[1] - cursor.index[1];
            if (walk->axes > 2 && rows > whole) {
                rows = whole;
            }
            to =
                gather_rows(to, cursor.at, rows, walk->stride[1], inner, walk->stride[0], itemsize);
            count -= rows * inner;
            /* All rows but the last are stepped over by hand; the last one carries. */
            cursor.at += (rows - 1) * walk->stride[1];
            cursor.index[1] += rows - 1;
            cursor_advance(walk, &cursor, inner);
            continue;
        }
        npy_intp piece = count < cursor.left ? count : cursor.left;
        copy_strided(to, itemsize, cursor.at, walk_step(walk), piece, itemsize);
        to += piece * itemsize;
        count -= piece;
        if (count > 0) {
            cursor_advance(walk, &cursor, piece);
        }
    }
}

/* Copy items `step` apart over elements `from` and on of the walk. */
void
walk_scatter(const Walk *walk, npy_intp from, npy_intp count, const char *source, npy_intp step,
             npy_intp itemsize)
{
    Cursor cursor;
    cursor_seek(walk, from, &cursor);
    while (count > 0) {
        npy_intp piece = count < cursor.left ? count : cursor.left;
        copy_strided(cursor.at, walk_step(walk), source, step, piece, itemsize);
        source += piece * step;
        count -= piece;
        if (count > 0) {
            cursor_advance(walk, &cursor, piece);
        }
    }
}
