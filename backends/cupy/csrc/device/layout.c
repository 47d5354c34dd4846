/* Structs of CuPy's arrays, read through offsets that graph/typing/device_layout.py has learned. */
#include "device/device.h"

static DeviceLayout layout;
PyTypeObject *view_type;

/* Whether an object is exactly an array of the class that was learned. */
bool
is_device_array(PyObject *object)
{
    return is_array_of_layout(&layout, object);
}

/* The class of arrays, borrowed. */
PyObject *
layout_type(void)
{
    return (PyObject *)layout.type;
}

/* The address in what CuPy's allocator gives, of the type that arrays have. */
uintptr_t
address_in_memory(PyObject *memory)
{
    return *(const uintptr_t *)((const char *)memory + layout.address);
}

/* Fill a view of an array, or of what stands for one; false, without an exception, of others. */
bool
view_of(PyObject *object, DeviceView *view)
{
    if (!Py_IS_TYPE(object, view_type)) {
        return view_by_layout(&layout, object, view);
    }
    const View *found = (const View *)object;
    *view = (DeviceView){.data = found->data,
                         .ndim = found->ndim,
                         .shape = found->shape,
                         .strides = found->strides,
                         .dtype = found->dtype,
                         .device = found->device};
    return true;
}

/* Take the class of arrays and its offsets: shape, strides, dtype, memory, address, device. */
int
layout_use(PyObject *type, PyObject *offsets)
{
    return learn_layout(&layout, type, offsets);
}

/* view(object): ((length, stride), ...), dtype, address, device; None where it is no such array. */
PyObject *
layout_view(PyObject *Py_UNUSED(module), PyObject *object)
{
    return described_by_layout(&layout, object);
}
