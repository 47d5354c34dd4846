/* Axes of spaces: in which order they are walked, and as few as the arrays allow. */
#include "nest/called/space.h"

/* Take the axes that are longer than one, innermost first; one axis if there is none. Returns their
 * number. `steps`: for each axis those of all arrays. */
int
axes_take(Axis *axis, int64_t axes, const int64_t *lengths, npy_intp *steps, int64_t arrays)
{
    int taken = 0;
    for (int64_t i = axes - 1; i >= 0; i--) {
        if (lengths[i] != 1) {
            axis[taken++] = (Axis){lengths[i], steps + i * arrays};
        }
    }
    if (taken == 0) {
        axis[taken++] = (Axis){1, steps + (axes - 1) * arrays};
    }
    return taken;
}

/* Whether the inner of two axes should be the outer one: some array steps farther along it, and
 * none the other way round. */
static bool
are_in_order(const Axis *inner, const Axis *outer, int64_t arrays)
{
    bool worse = false;
    for (int64_t k = 0; k < arrays; k++) {
        npy_intp near = inner->step[k], far = outer->step[k];
        if (near != 0 && far != 0) {
            near = near < 0 ? -near : near;
            far = far < 0 ? -far : far;
            if (near <= far) {
                return true;
            }
            worse = true;
        }
    }
    return !worse;
}

/* Bring axes into the order in which the first arrays lie in memory, as NumPy's iterator does. */
void
axes_sort(Axis *axis, int axes, int64_t arrays)
{
    for (int i = 1; i < axes; i++) {
        for (int j = i; j > 0 && !are_in_order(&axis[j - 1], &axis[j], arrays); j--) {
            Axis inner = axis[j - 1];
            axis[j - 1] = axis[j];
            axis[j] = inner;
        }
    }
}

static bool
can_be_one(const Axis *inner, const Axis *outer, int64_t arrays)
{
    for (int64_t k = 0; k < arrays; k++) {
        if (outer->step[k] != inner->length * inner->step[k]) {
            return false;
        }
    }
    return true;
}

/* Make one axis of neighbours that all arrays step through as if they were one. Returns how many
 * there are then. */
int
axes_join(Axis *axis, int axes, int64_t arrays)
{
    int last = 0;
    for (int i = 1; i < axes; i++) {
        if (can_be_one(&axis[last], &axis[i], arrays)) {
            axis[last].length *= axis[i].length;
        }
        else {
            axis[++last] = axis[i];
        }
    }
    return last + 1;
}
