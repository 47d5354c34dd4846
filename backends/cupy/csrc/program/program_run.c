/* Calling a program: slots on the stack, steps in order. */
#include "program/program_run.h"

#include "program/declined.h"
#include "kernel/numbers.h"
#include "kernel/runs.h"

static PyObject *handled_errors; /* a tuple of exceptions, or NULL */

/* Take the exceptions that programs ask Python about. */
int
program_use(PyObject *errors)
{
    Py_XSETREF(handled_errors, Py_NewRef(errors));
    return 0;
}

/* Whether the exception that is set may be a refusal. */
static bool
is_handled_error(void)
{
    return handled_errors != NULL && PyErr_ExceptionMatches(handled_errors);
}

/* What a view that nobody else has is of, in its place: references are taken, and given. */
static PyObject *
base_of(PyObject *object)
{
    while (Py_IS_TYPE(object, view_type) && Py_REFCNT(object) == 1 &&
           ((View *)object)->kind != VIEW_OF_MEMORY) {
        PyObject *base = Py_NewRef(((View *)object)->base);
        Py_DECREF(object);
        object = base;
    }
    return object;
}

/*
 * Drop an object, behind the launches that wait: they may read or write its memory, which the next
 * kernels of this call may take.
 */
static void
release(Run *run, PyObject *object)
{
    if (object == NULL) {
        return;
    }
    object = base_of(object);
    if (spare_view(&run->spare, object)) {
        return;
    }
    if (run->queue != NULL && run->queue->launches > 0) {
        queue_keep(run->queue, object);
    }
    else {
        Py_DECREF(object);
    }
}

static void
store(PyObject **slots, int slot, PyObject *value, Run *run)
{
    PyObject *before = slots[slot];
    slots[slot] = value;
    release(run, before);
}

/* What was expected to be several results, as many as there are slots. */
static int
store_items(const Step *step, PyObject **slots, PyObject *made, Run *run)
{
    PyObject *items = PySequence_Fast(made, "a step's results are a sequence");
    if (items == NULL) {
        return -1;
    }
    int status = 0;
    if (PySequence_Fast_GET_SIZE(items) != step->outs.count) {
        PyErr_Format(PyExc_ValueError, "%zd results, not %d", PySequence_Fast_GET_SIZE(items),
                     step->outs.count);
        status = -1;
    }
    for (int i = 0; status == 0 && i < step->outs.count; i++) {
        store(slots, step->outs.slot[i], Py_NewRef(PySequence_Fast_GET_ITEM(items, i)), run);
    }
    Py_DECREF(items);
    return status;
}

static int
run_kernel(const Step *step, PyObject **slots, Run *run)
{
    PyObject *operands[step->reads.count + 1], *results[step->outs.count + 1];
    memset(results, 0, sizeof(results));
    for (int i = 0; i < step->reads.count; i++) {
        operands[i] = slots[step->reads.slot[i]];
    }
    if (kernel_run((Kernel *)step->object, operands, run, step->for_kernels, results) < 0) {
        return -1;
    }
    for (int i = 0; i < step->outs.count; i++) {
        store(slots, step->outs.slot[i], results[i], run);
    }
    return 0;
}

/* Call Python code that takes a list of what the step reads, and the device. */
static int
run_python(const Step *step, PyObject **slots, Run *run)
{
    PyObject *reads = PyList_New(step->reads.count);
    for (int i = 0; reads != NULL && i < step->reads.count; i++) {
        PyList_SET_ITEM(reads, i, Py_XNewRef(slots[step->reads.slot[i]]));
    }
    PyObject *made =
        reads == NULL ? NULL : PyObject_CallFunction(step->object, "Oi", reads, run->device);
    Py_XDECREF(reads);
    int status = made == NULL ? -1 : store_items(step, slots, made, run);
    Py_XDECREF(made);
    return status;
}

static PyObject *
called(const Step *step, PyObject *const *reads)
{
    Py_ssize_t named = step->names == NULL ? 0 : PyTuple_GET_SIZE(step->names);
    return PyObject_Vectorcall(step->object, reads, (size_t)(step->reads.count - named),
                               step->names);
}

static PyObject *
tuple_of(PyObject *const *items, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    }
    return tuple;
}

/* Whether a key takes a view of an array: numbers, slices, new axes and an ellipsis. */
static bool
is_basic(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) {
        return PyLong_CheckExact(key) || PySlice_Check(key) || key == Py_None || key == Py_Ellipsis;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        if (PyTuple_CheckExact(item) || !is_basic(item)) {
            return false;
        }
    }
    return true;
}

/* A view that a step takes of an array: one for kernels where only they read it. */
static int
take_view(const Step *step, PyObject **slots, Run *run)
{
    PyObject *base = slots[step->reads.slot[0]], *key = slots[step->reads.slot[1]];
    ViewKind kind = step->kind == STEP_TRANSPOSE ? VIEW_TRANSPOSED
                    : step->kind == STEP_RESHAPE ? VIEW_RESHAPED
                                                 : VIEW_INDEXED;
    PyObject *made = NULL;
    if (step->for_kernels[0] && (kind != VIEW_INDEXED || is_basic(key))) {
        made = new_view(base, key, kind);
    }
    if (made == NULL && !PyErr_Occurred()) {
        PyObject *array = as_array(base);
        if (array != NULL) {
            PyObject *given[] = {array, key};
            made = kind == VIEW_INDEXED ? PyObject_GetItem(array, key)
                                        : PyObject_Vectorcall(step->object, given, 2, NULL);
            Py_DECREF(array);
        }
    }
    if (made == NULL) {
        return -1;
    }
    store(slots, step->outs.slot[0], made, run);
    return 0;
}

/* New memory in C order; where its shape is no tuple of lengths CuPy's own function says what it
 * is. */
static int
make_empty(const Step *step, PyObject **slots, Run *run)
{
    PyObject *reads[] = {slots[step->reads.slot[0]], slots[step->reads.slot[1]]}, *made = NULL;
    Py_ssize_t shape[MOST_AXES_OF_VIEW];
    int ndim = PyArray_DescrCheck(reads[1]) ? read_shape(reads[0], shape) : -1;
    if (ndim < 0) {
        made = called(step, reads);
    }
    else {
        uintptr_t data;
        made = new_result(step->for_kernels[0], ndim, shape, reads[1], run->device, &run->spare,
                          &data);
        double bytes = (double)PyDataType_ELSIZE((PyArray_Descr *)reads[1]);
        for (int axis = 0; axis < ndim; axis++) {
            bytes *= (double)shape[axis];
        }
        if (run->queue != NULL) {
            run->queue->bytes += bytes;
        }
    }
    if (made == NULL) {
        return -1;
    }
    store(slots, step->outs.slot[0], made, run);
    return 0;
}

static int
run_step(const Step *step, PyObject **slots, Run *run)
{
    if (step->kind == STEP_GETITEM || step->kind == STEP_TRANSPOSE || step->kind == STEP_RESHAPE) {
        return take_view(step, slots, run);
    }
    if (step->kind == STEP_EMPTY) {
        return make_empty(step, slots, run);
    }
    if (step->kind == STEP_KERNEL) {
        return run_kernel(step, slots, run);
    }
    if (step->kind == STEP_RUN) {
        return run_python(step, slots, run);
    }
    if (step->kind == STEP_UNPACK) {
        return store_items(step, slots, slots[step->reads.slot[0]], run);
    }
    PyObject *reads[step->reads.count + 1];
    for (int i = 0; i < step->reads.count; i++) {
        reads[i] = slots[step->reads.slot[i]];
    }
    PyObject *made =
        step->kind == STEP_TUPLE ? tuple_of(reads, step->reads.count) : called(step, reads);
    if (made == NULL) {
        return -1;
    }
    store(slots, step->outs.slot[0], made, run);
    return 0;
}

/* Whether elements lie between an array's own, as fields of records do. */
static bool
lies_between(const DeviceView *view)
{
    Py_ssize_t item = (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)view->dtype);
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] > 1 && view->strides[axis] % item != 0) {
            return true;
        }
    }
    return false;
}

/*
 * An array of another device's is CuPy's own to refuse or to reach; one whose elements no kernel
 * finds is left to it before something is written that the caller sees.
 */
static bool
is_left_to_cupy(const Program *self, PyObject *const *inputs, int device)
{
    DeviceView view;
    for (int i = 0; i < self->inputs; i++) {
        if (!is_device_array(inputs[i])) {
            continue;
        }
        if (!view_of(inputs[i], &view) || view.device != device) {
            return true;
        }
        if (self->committed < self->steps && lies_between(&view)) {
            return true;
        }
    }
    return false;
}

/* Look at the numbers that could be refused too late. */
static int
check_numbers(const Program *self, PyObject *const *slots)
{
    for (int i = 0; i < self->numbers; i++) {
        const CheckedNumber *number = &self->number[i];
        if (slots[number->slot] == NULL) {
            refuse("a number is not known yet");
            return -1;
        }
        if (check_fits(slots[number->slot], number->dtype) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether all kernels may run now: -1 with an exception where not. Many have one condition. */
static int
check_conditions(const Program *self)
{
    const PyObject *last = NULL;
    for (int i = 0; self->has_conditions && i < self->steps; i++) {
        if (self->step[i].kind != STEP_KERNEL) {
            continue;
        }
        const Kernel *kernel = (const Kernel *)self->step[i].object;
        if (kernel->condition != NULL && kernel->condition != last) {
            last = kernel->condition;
            if (check_condition(kernel) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Launch what waits: at the place `*place` of the program, which is counted. */
static int
launch_all(const Program *self, Run *run, int *place)
{
    if (run->queue == NULL || run->queue->launches == 0) {
        return 0;
    }
    if (find_stream(run) < 0) {
        queue_forget(run->queue);
        return -1;
    }
    Replay *replay = *place < REPLAYS ? &self->replay[*place] : NULL;
    ++*place;
    return launch_waiting(run->queue, replay, run->device, run->stream);
}

/* Whether a step hands nothing to the device by itself: launches may wait behind it. */
bool
leaves_waiting(const Step *step)
{
    return step->kind != STEP_RUN && step->kind != STEP_CALL;
}

/* Have nothing wait that a step could be before, and room for what the step lets go. */
static int
prepare_step(const Program *self, const Step *step, PyObject *const *slots, Run *run, int *place)
{
    enum { MOST_WAITING = 512 };
    const double most_bytes = 32 << 20; /* that wait to be given back */
    Queue *queue = run->queue;
    if (queue == NULL) {
        if (!leaves_waiting(step)) {
            spare_drop(&run->spare); /* it is CuPy's to give away again */
        }
        return 0;
    }
    queue->bytes -= Py_MIN(run->spare.taken, queue->bytes); /* no new memory */
    run->spare.taken = 0;
    bool waits = leaves_waiting(step) &&
                 (step->kind != STEP_GETITEM || is_basic(slots[step->reads.slot[1]])) &&
                 (step->kind != STEP_RESHAPE || lies_in_order(slots[step->reads.slot[0]])) &&
                 queue->launches < MOST_WAITING && queue->bytes < most_bytes;
    if (!waits && launch_all(self, run, place) < 0) {
        return -1;
    }
    if (!leaves_waiting(step)) {
        spare_drop(&run->spare);
    }
    /* What the step drops, and memory of a kernel's own. */
    return queue_reserve(queue, 0, 0, step->outs.count + step->clear.count + 1);
}

/*
 * Run a step. Where there is no memory for it, what waits is launched, which gives back what is
 * kept for it, as is spare memory, and the step is run once more: a kernel, or a call that makes an
 * array, fails before it has done anything.
 */
static int
run_with_memory(const Program *self, const Step *step, PyObject **slots, Run *run, int *place)
{
    int status = run_step(step, slots, run);
    bool is_kept = run->spare.count > 0 || (run->queue != NULL && run->queue->objects > 0);
    bool may_free = is_kept && (step->kind == STEP_KERNEL || step->kind == STEP_APART ||
                                step->kind == STEP_EMPTY);
    if (status == 0 || !may_free || !is_handled_error() || is_refusal()) {
        return status;
    }
    PyErr_Clear();
    if (launch_all(self, run, place) < 0) {
        return -1;
    }
    spare_drop(&run->spare);
    if (prepare_step(self, step, slots, run, place) < 0) {
        return -1;
    }
    return run_step(step, slots, run);
}

/* Run the steps; `*number` is set to the one that raises. */
static int
run_steps(const Program *self, PyObject **slots, Run *run, int *number, int *place)
{
    *number = 0;
    if (check_numbers(self, slots) < 0 || check_conditions(self) < 0) {
        return -1;
    }
    for (; *number < self->steps; ++*number) {
        const Step *step = &self->step[*number];
        if (prepare_step(self, step, slots, run, place) < 0 ||
            run_with_memory(self, step, slots, run, place) < 0) {
            return -1;
        }
        if (!leaves_waiting(step)) {
            run->has_stream = false; /* another may be current */
        }
        for (int i = 0; i < step->clear.count; i++) {
            store(slots, step->clear.slot[i], NULL, run);
        }
    }
    return launch_all(self, run, place);
}

/*
 * A step has raised: what waits is launched where it has written what the caller sees, else left.
 * An exception of these launches takes the place of the other.
 */
static void
launch_behind_error(const Program *self, Run *run, bool late, int *place)
{
    if (run->queue == NULL || !late) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (launch_all(self, run, place) == 0) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* A queue for a call, where launches may wait. */
static int
take_queue(Program *self, Run *run)
{
    if (self->replay == NULL || !may_replay()) {
        return 0;
    }
    run->queue = self->queue;
    self->queue = NULL;
    if (run->queue == NULL) {
        run->queue = PyMem_Calloc(1, sizeof(Queue));
    }
    if (run->queue == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Keep a queue for the next call. May run Python code. */
static void
give_queue_back(Program *self, Run *run)
{
    if (run->queue == NULL) {
        return;
    }
    queue_forget(run->queue);
    if (self->queue == NULL) {
        self->queue = run->queue;
    }
    else {
        queue_free(run->queue);
    }
}

static PyObject *
outputs_of(const Program *self, PyObject *const *slots)
{
    if (self->outputs.count == 1) {
        return Py_NewRef(slots[self->outputs.slot[0]]);
    }
    PyObject *outputs[self->outputs.count + 1];
    for (int i = 0; i < self->outputs.count; i++) {
        outputs[i] = slots[self->outputs.slot[i]];
    }
    return tuple_of(outputs, self->outputs.count);
}

/* Whether a refusal says that it is one for all arrays such as these. */
static bool
is_lasting(PyObject *error)
{
    PyObject *answer = PyObject_GetAttrString(error, "is_lasting");
    PyErr_Clear();
    bool is_so = answer == Py_True;
    Py_XDECREF(answer);
    return is_so;
}

/*
 * What to give where a step raised: Python decides which errors are refusals, once the slots are
 * empty, so that memory is free for plain Python.
 */
static PyObject *
answer_to_error(Program *self, PyObject *const *inputs, const Run *run, bool late)
{
    if (!is_handled_error()) {
        return NULL;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    if (self->otherwise != NULL && (run->declines || is_lasting(value))) {
        note_declined(self, inputs, run->device);
    }
    PyObject *answer =
        PyObject_CallFunctionObjArgs(self->refused, value, late ? Py_True : Py_False, NULL);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return answer;
}

static PyObject *
run_program(Program *self, PyObject *const *inputs, int device)
{
    Run run = {.device = device};
    if (take_queue(self, &run) < 0) {
        return NULL;
    }
    PyObject *slots[self->slots + 1];
    memset(slots, 0, sizeof(slots));
    for (int i = 0; i < self->inputs; i++) {
        slots[i] = Py_NewRef(inputs[i]);
    }
    for (int i = 0; i < self->constants; i++) {
        slots[self->constant_slot[i]] = Py_NewRef(self->constant[i]);
    }
    int number, place = 0;
    PyObject *result = NULL;
    bool fine = run_steps(self, slots, &run, &number, &place) == 0;
    if (fine) {
        result = outputs_of(self, slots);
    }
    else {
        launch_behind_error(self, &run, number > self->committed, &place);
    }
    for (int i = 0; i < self->slots; i++) {
        Py_CLEAR(slots[i]);
    }
    spare_drop(&run.spare);
    give_queue_back(self, &run);
    return fine ? result : answer_to_error(self, inputs, &run, number > self->committed);
}

/*
 * Call a program with its inputs, borrowed. NotImplemented, with nothing done, where plain Python
 * is to run. Runs Python code, and lets other threads run while a kernel is launched.
 */
PyObject *
program_vectorcall(PyObject *program, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Program *self = (Program *)program;
    if (PyVectorcall_NARGS(nargsf) != self->inputs ||
        (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        return PyErr_Format(PyExc_TypeError, "a program of %d inputs", self->inputs);
    }
    int device = current_device();
    if (device < 0) {
        return NULL;
    }
    if (is_left_to_cupy(self, args, device)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    Py_INCREF(self); /* another thread may forget it */
    PyObject *result = is_declined(self, args, device) ? Py_NewRef(Py_NotImplemented)
                                                       : run_program(self, args, device);
    if (result == Py_NotImplemented && self->otherwise != NULL) {
        Py_DECREF(result);
        result = PyObject_Vectorcall(self->otherwise, args, (size_t)self->inputs, NULL);
    }
    Py_DECREF(self);
    return result;
}
