/* Calling a program: slots on the stack, steps in order. */
#include "program/program.h"

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

static void
store(PyObject **slots, int slot, PyObject *value)
{
    PyObject *before = slots[slot];
    slots[slot] = value;
    Py_XDECREF(before);
}

/* What was expected to be several results, as many as there are slots. */
static int
store_items(const Step *step, PyObject **slots, PyObject *made)
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
        store(slots, step->outs.slot[i], Py_NewRef(PySequence_Fast_GET_ITEM(items, i)));
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
    if (kernel_run((Kernel *)step->object, operands, run, results) < 0) {
        return -1;
    }
    for (int i = 0; i < step->outs.count; i++) {
        store(slots, step->outs.slot[i], results[i]);
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
    int status = made == NULL ? -1 : store_items(step, slots, made);
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

static int
run_step(const Step *step, PyObject **slots, Run *run)
{
    if (step->kind == STEP_KERNEL) {
        return run_kernel(step, slots, run);
    }
    if (step->kind == STEP_RUN) {
        return run_python(step, slots, run);
    }
    if (step->kind == STEP_UNPACK) {
        return store_items(step, slots, slots[step->reads.slot[0]]);
    }
    PyObject *reads[step->reads.count + 1];
    for (int i = 0; i < step->reads.count; i++) {
        reads[i] = slots[step->reads.slot[i]];
    }
    PyObject *made = step->kind == STEP_CALL      ? called(step, reads)
                     : step->kind == STEP_GETITEM ? PyObject_GetItem(reads[0], reads[1])
                                                  : tuple_of(reads, step->reads.count);
    if (made == NULL) {
        return -1;
    }
    store(slots, step->outs.slot[0], made);
    return 0;
}

/* An array of another device's is CuPy's own to refuse or to reach. */
static bool
is_elsewhere(const Program *self, PyObject *const *inputs, int device)
{
    DeviceView view;
    for (int i = 0; i < self->inputs; i++) {
        if (is_device_array(inputs[i]) && (!view_of(inputs[i], &view) || view.device != device)) {
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

/* Run the steps; `*number` is set to the one that raises. */
static int
run_steps(const Program *self, PyObject **slots, Run *run, int *number)
{
    *number = 0;
    if (check_numbers(self, slots) < 0) {
        return -1;
    }
    for (; *number < self->steps; ++*number) {
        const Step *step = &self->step[*number];
        if (run_step(step, slots, run) < 0) {
            return -1;
        }
        for (int i = 0; i < step->clear.count; i++) {
            Py_CLEAR(slots[step->clear.slot[i]]);
        }
    }
    return 0;
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

/*
 * What to give where a step raised: Python decides which errors are refusals, once the slots are
 * empty, so that memory is free for plain Python.
 */
static PyObject *
answer_to_error(const Program *self, bool late)
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
    PyObject *answer =
        PyObject_CallFunctionObjArgs(self->refused, value, late ? Py_True : Py_False, NULL);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return answer;
}

static PyObject *
run_program(const Program *self, PyObject *const *inputs, int device)
{
    PyObject *slots[self->slots + 1];
    memset(slots, 0, sizeof(slots));
    for (int i = 0; i < self->inputs; i++) {
        slots[i] = Py_NewRef(inputs[i]);
    }
    for (int i = 0; i < self->constants; i++) {
        slots[self->constant_slot[i]] = Py_NewRef(self->constant[i]);
    }
    Run run = {.device = device};
    int number;
    PyObject *result = NULL;
    bool fine = run_steps(self, slots, &run, &number) == 0;
    if (fine) {
        result = outputs_of(self, slots);
    }
    for (int i = 0; i < self->slots; i++) {
        Py_CLEAR(slots[i]);
    }
    return fine ? result : answer_to_error(self, number > self->committed);
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
    if (is_elsewhere(self, args, device)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    Py_INCREF(self); /* another thread may forget it */
    PyObject *result = run_program(self, args, device);
    Py_DECREF(self);
    return result;
}
