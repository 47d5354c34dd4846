/* Which inputs a program's kernels have declined, so that they need not be asked again. */
#include "program/declined.h"
#include "kernel/runs.h"

enum { ALIGNMENT = 32 }; /* of what is read at once: an address matters as far as that */

/*
 * A hash of the device and of the shapes, strides and alignment of the inputs. Where two are alike
 * by chance `otherwise` runs, whose results are the same.
 */
static uint64_t
hash_of_inputs(const Program *self, PyObject *const *inputs, int device)
{
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < self->inputs; i++) {
        DeviceView view;
        if (!is_device_array(inputs[i]) || !view_of(inputs[i], &view)) {
            continue;
        }
        Py_ssize_t key[2 + 2 * (size_t)view.ndim];
        size_t words = put_key(&view, 1, device, key);
        for (size_t word = 0; word < words; word++) {
            hash = (hash ^ (uint64_t)key[word]) * 1099511628211u;
            hash ^= hash >> 29;
        }
        hash = (hash ^ view.data % ALIGNMENT) * 1099511628211u;
    }
    return hash;
}

bool
is_declined(const Program *self, PyObject *const *inputs, int device)
{
    if (self->declines == 0) {
        return false;
    }
    uint64_t hash = hash_of_inputs(self, inputs, device);
    for (int i = 0; i < Py_MIN(self->declines, DECLINED); i++) {
        if (self->declined[i] == hash) {
            return true;
        }
    }
    return false;
}

/* Remember inputs, in the place of those that were remembered first. */
void
note_declined(Program *self, PyObject *const *inputs, int device)
{
    self->declined[self->declines % DECLINED] = hash_of_inputs(self, inputs, device);
    self->declines = self->declines == 2 * DECLINED - 1 ? DECLINED : self->declines + 1;
}
