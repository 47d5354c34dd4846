/* kernel_run: bind the arguments, find the space, run the tiles, return the results. */
#include "kernel/arguments.h"
#include "kernel/results.h"
#include "kernel/tiling.h"
#include "kernel/total_memory.h"
#include "kernel/plan.h"
#include "kernel/rolls.h"

#include <stdlib.h>

/* More than NumPy has memory for, in any of its steps: it says so at once, where a fused reduction
 * would take hours. */
static const npy_intp MOST_ELEMENTS = (npy_intp)1 << 38;

/* Set how many elements a row has: the last axis, in kernels by rows. */
static bool
split_rows(Binding *binding)
{
    Run *run = &binding->run;
    const Space *space = &binding->space;
    binding->elements = space->size;
    run->size = space->size;
    run->row = 1;
    if (!run->kernel->rows) {
        return true;
    }
    if (space->axes == 0 || !space->c_order) {
        return false;
    }
    run->row = space->shape[space->axes - 1];
    run->size = 1;
    for (int i = 0; i < space->axes - 1; i++) {
        run->size *= space->shape[i];
    }
    return true;
}

/*
 * Whether an argument is a view of one element whose stride is not its itemsize: NumPy takes its
 * loops for strided memory then, although its flags say that it is contiguous.
 */
static bool
is_odd_single(PyObject *argument)
{
    if (!PyArray_CheckExact(argument)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)argument;
    return PyArray_NDIM(array) == 1 && PyArray_STRIDE(array, 0) != PyArray_ITEMSIZE(array);
}

static void
read_operand(Binding *binding, int i)
{
    Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    PyObject *argument = binding->arguments[i];
    Walk *walk = &run->walks[i];
    run->readings[i] = READ_LINEAR;
    const Roll *roll = kernel->value[i].roll;
    if (roll != NULL) {
        PyArrayObject *array = (PyArrayObject *)argument;
        walk_array(walk, &binding->space, array, 0);
        rolled_bind(&run->rolled[run->rolls++], roll, &binding->space, array, walk);
        run->readings[i] = READ_COPY;
        run->any_copies = true;
        return;
    }
    if (!PyArray_CheckExact(argument)) {
        walk_linear(walk, binding->packed[i], binding->elements, 0);
        return;
    }
    PyArrayObject *array = (PyArrayObject *)argument;
    if (binding->same_shape && binding->space.c_order) {
        walk_linear(walk, PyArray_BYTES(array), binding->elements, kernel->value[i].itemsize);
        return;
    }
    walk_array(walk, &binding->space, array, 0);
    bool aligned = PyArray_ISALIGNED(array);
    if (aligned && walk_is_linear(walk)) {
        return;
    }
    run->readings[i] = READ_PIECES;
    bool feeds_total = false;
    for (int t = 0; t < run->total_count; t++) {
        feeds_total |= run->totals[t].input == i;
    }
    if (!aligned || feeds_total || walk->extent[0] < SHORT_PIECE) {
        run->readings[i] = READ_COPY;
        run->any_copies = true;
    }
}

/* Kernels by rows with map_row: walks of operands with one element per row. False: one has more. */
static bool
read_row_operands(Binding *binding, const Plan *plan)
{
    Run *run = &binding->run;
    const Space *space = &binding->space;
    for (int s = 0; s < plan->segments; s++) {
        const Segment *segment = &plan->segment[s];
        for (int j = 0; segment->kind == SEGMENT_MAP_ROW && j < segment->loop->inputs; j++) {
            int v = segment->values[j];
            if (v >= run->kernel->operands) {
                continue;
            }
            PyObject *argument = binding->arguments[v];
            if (!PyArray_CheckExact(argument)) {
                walk_linear(&run->row_walks[v], binding->packed[v], run->size, 0);
                continue;
            }
            PyArrayObject *array = (PyArrayObject *)argument;
            int axes = PyArray_NDIM(array);
            if (run->row != 1 && axes > 0 && PyArray_DIM(array, axes - 1) != 1) {
                return false;
            }
            walk_array(&run->row_walks[v], space, array, 1);
        }
    }
    return true;
}

/* Where rows are short: the most row values that one map needs repeated along their rows. */
static int
count_expansions(const Kernel *kernel, const Plan *plan)
{
    int most = 0;
    for (int s = 0; kernel->rows && s < plan->segments; s++) {
        const Segment *segment = &plan->segment[s];
        int here = 0;
        for (int j = 0; segment->mixes_rows && j < segment->loop->inputs; j++) {
            here += kernel->value[segment->values[j]].is_row;
        }
        most = here > most ? here : most;
    }
    return most;
}

static PyObject *
flags_tuple(const Run *run)
{
    const Plan *plan = run->plain;
    int count = 0;
    for (int i = 0; i < plan->segments; i++) {
        count += (run->bits[i] & run->mask) != 0;
    }
    if (count == 0) {
        return Py_NewRef(Py_None);
    }
    PyObject *flags = PyTuple_New(count);
    for (int i = 0, at = 0; flags != NULL && i < plan->segments; i++) {
        if ((run->bits[i] & run->mask) != 0) {
            PyObject *pair = Py_BuildValue("(ii)", plan->segment[i].node, run->bits[i] & run->mask);
            if (pair == NULL) {
                Py_CLEAR(flags);
                break;
            }
            PyTuple_SET_ITEM(flags, at++, pair);
        }
    }
    return flags;
}

static bool
must_not_be_empty(const Binding *binding)
{
    const Run *run = &binding->run;
    for (int s = 0; s < run->plain->segments; s++) {
        const Segment *segment = &run->plain->segment[s];
        if (segment->kind >= SEGMENT_REDUCE && segment->initial == NULL) {
            return true;
        }
    }
    return false;
}

/* In the main thread, as soon as it runs Python code again. */
static int
raise_given(void *exception)
{
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

/* Where that cannot be said: yes. */
static bool
is_main_thread(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *number = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    bool other = number && PyLong_AsUnsignedLong(number) != PyThread_get_thread_ident();
    Py_XDECREF(number);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    PyErr_Clear();
    return !other;
}

/*
 * Raise the current exception as if it came when this thread next runs Python code. Only the main
 * thread runs signal handlers: in another, some thread has asked for an exception of this type.
 */
static void
raise_later(PyObject *context)
{
    PyObject *type, *exception, *trace;
    PyErr_Fetch(&type, &exception, &trace);
    PyErr_NormalizeException(&type, &exception, &trace);
    if (trace != NULL) {
        PyException_SetTraceback(exception, trace);
    }
    if (!is_main_thread()) {
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
    }
    else if (Py_AddPendingCall(raise_given, Py_NewRef(exception)) < 0) { /* its queue is full */
        Py_DECREF(exception);
        PyErr_Restore(type, exception, trace);
        PyErr_WriteUnraisable(context);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(exception);
    Py_XDECREF(trace);
}

/*
 * Call `on_hot`, once, when the kernel has done `hot` elements of work. It handles its own
 * failures: an exception is an interrupt's, or a signal handler's. It is raised when this has
 * returned, where nothing takes it for a failure of ours, and `on_hot` is called later.
 */
static void
call_on_hot(Kernel *kernel)
{
    PyObject *on_hot = kernel->on_hot;
    kernel->on_hot = NULL;
    PyObject *done = PyObject_CallOneArg(on_hot, (PyObject *)kernel);
    if (done == NULL) {
        Py_XSETREF(kernel->on_hot, Py_NewRef(on_hot));
        raise_later(on_hot);
    }
    Py_XDECREF(done);
    Py_DECREF(on_hot);
}

static int
give_results(Binding *binding, char (*out)[MAX_ITEM], PyObject **results)
{
    const Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    for (int i = 0; i < kernel->results; i++) {
        const Result *result = &kernel->result[i];
        results[i] = NULL;
        if (result->kind == RESULT_INTO) {
            results[i] = Py_NewRef(binding->arguments[result->operand]);
        }
        else if (result->kind == RESULT_SCALAR) {
            for (int t = 0; t < run->total_count; t++) {
                if (run->totals[t].value == result->value) {
                    results[i] = PyArray_Scalar(out[t], kernel->value[result->value].descr, NULL);
                }
            }
        }
        else {
            results[i] = (PyObject *)binding->arrays[i];
            binding->arrays[i] = NULL;
        }
        if (results[i] == NULL) {
            while (--i >= 0) {
                Py_CLEAR(results[i]);
            }
            return -1;
        }
    }
    return 0;
}

/*
 * Whether the loops treat every element as NumPy's do, wherever tiles begin. Not where NumPy may
 * write with other steps than the kernel: into memory that is not contiguous (one operation that
 * both write there has the same), or in place to one element.
 */
static bool
keeps_all_places(const Binding *binding)
{
    const Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    if (binding->elements == 0) {
        return true;
    }
    if (kernel->rows || binding->elements == 1) {
        return false;
    }
    for (int i = 0; i < kernel->results; i++) {
        const Result *result = &kernel->result[i];
        if (result->kind != RESULT_INTO) {
            continue;
        }
        bool linear = run->readings[result->operand] == READ_LINEAR;
        npy_intp step = walk_step(&run->walks[result->operand]);
        bool as_numpy = result->given_out && step > 0 && run->native == NULL &&
                        run->plain->segments == 1 && result->read_before &&
                        !has_twin(binding, result->operand);
        if (!linear || (step != kernel->value[result->operand].itemsize && !as_numpy)) {
            return false;
        }
    }
    for (int s = 0; s < run->plain->segments; s++) {
        const Segment *segment = &run->plain->segment[s];
        if (!segment->loop->position_dependent || segment->kind >= SEGMENT_REDUCE) {
            continue;
        }
        if (segment->loop->position_dependent_limit != 0) {
            return false;
        }
        for (int j = 0; j < segment->loop->inputs; j++) {
            int v = segment->values[j];
            if ((v < kernel->operands && run->readings[v] != READ_LINEAR) || run->apart[v]) {
                return false;
            }
        }
    }
    return true;
}

/* The elements of tiles that were withheld, as pairs (first, past). NULL: an exception. */
static PyObject *
withheld_pairs(const Run *run)
{
    PyObject *found = PyList_New(0);
    for (npy_intp i = 0; found != NULL && i < run->tiles; i++) {
        npy_intp first = i;
        while (i < run->tiles && run->withheld[i]) {
            i++;
        }
        if (i == first) {
            continue;
        }
        PyObject *pair = Py_BuildValue("(nn)", tile_start(run, first) * run->row,
                                       tile_past(run, i - 1) * run->row);
        if (pair == NULL || PyList_Append(found, pair) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(pair);
    }
    return found;
}

/*
 * What the totals were made of, in the order of the walk, by the numbers of their results: not of
 * those that any order of elements gives. NULL: an exception.
 */
static PyObject *
withheld_totals(const Run *run)
{
    const Kernel *kernel = run->kernel;
    PyObject *found = PyDict_New();
    for (int i = 0; found != NULL && i < kernel->results; i++) {
        for (int t = 0; found != NULL && t < run->total_count; t++) {
            const Total *total = &run->totals[t];
            if (kernel->result[i].value != total->value || total->whole == NULL) {
                continue;
            }
            npy_intp size = run->size, bytes = size * total->input_itemsize;
            PyArray_Descr *descr = kernel->value[total->input].descr;
            Py_INCREF(descr);
            PyArrayObject *whole = memory_new_array(descr, 1, &size, NULL, bytes);
            PyObject *number = PyLong_FromLong(i);
            if (whole == NULL || number == NULL ||
                PyDict_SetItem(found, number, (PyObject *)whole) < 0) {
                Py_CLEAR(found);
            }
            else {
                memcpy(PyArray_BYTES(whole), total->whole, (size_t)bytes);
            }
            Py_XDECREF(number);
            Py_XDECREF((PyObject *)whole);
        }
    }
    return found;
}

/* What NumPy has to know to compute what was withheld; NULL also where nothing was. */
static PyObject *
withheld_pair(const Run *run)
{
    if (memchr(run->withheld, 1, (size_t)run->tiles) == NULL) {
        return NULL;
    }
    PyObject *pairs = withheld_pairs(run), *totals = pairs ? withheld_totals(run) : NULL;
    PyObject *made = totals ? PyTuple_Pack(2, pairs, totals) : NULL;
    Py_XDECREF(pairs);
    Py_XDECREF(totals);
    return made;
}

/*
 * Find the values that NumPy may have in memory otherwise than the kernel walks: arrays that are
 * not linear in its walk, those of one element, and what is made of such. With these NumPy's loop
 * may run in another order, or over other lengths, so elements have other places in it.
 */
static void
find_apart(const Binding *binding)
{
    const Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    bool any = false;
    memset(run->apart, 0, sizeof(bool) * (size_t)kernel->values);
    for (int i = 0; i < kernel->operands && binding->elements > 1; i++) {
        const Walk *walk = &run->walks[i];
        run->apart[i] = PyArray_CheckExact(binding->arguments[i]) &&
                        (!walk_is_linear(walk) || walk_step(walk) == 0);
        any = any || run->apart[i];
    }
    for (int s = 0; any && s < run->plain->segments; s++) {
        const Segment *segment = &run->plain->segment[s];
        bool is_apart = false;
        for (int j = 0; j < segment->arguments; j++) {
            int v = segment->values[j];
            if (j < segment->loop->inputs) {
                is_apart = is_apart || run->apart[v];
            }
            else {
                run->apart[v] = is_apart;
            }
        }
    }
}

/* From the known space to computed results; 0, 1, -1 as kernel_run. */
static int
run_bound(Binding *binding, char (*out)[MAX_ITEM])
{
    Run *run = &binding->run;
    const Kernel *kernel = run->kernel;
    if (kernel->totals > 0) {
        list_totals(run);
    }
    if ((binding->elements == 0 && must_not_be_empty(binding)) ||
        binding->elements > MOST_ELEMENTS) {
        return RUN_REFUSED;
    }
    for (int i = 0; i < kernel->operands; i++) {
        if (kernel->depends_on_strides && binding->elements == 1 &&
            is_odd_single(binding->arguments[i])) {
            return RUN_REFUSED;
        }
        if (kernel->value[i].roll != NULL && !PyArray_CheckExact(binding->arguments[i])) {
            return RUN_REFUSED;
        }
        read_operand(binding, i);
    }
    if (kernel->rows) {
        if (run->row_walks != NULL && !read_row_operands(binding, run->plain)) {
            return RUN_REFUSED;
        }
        if (run->row_walks != NULL && run->native != NULL &&
            !read_row_operands(binding, run->native)) {
            return RUN_REFUSED;
        }
        run->expansions = count_expansions(kernel, run->plain);
        if (run->native != NULL) {
            int native = count_expansions(kernel, run->native);
            run->expansions = native > run->expansions ? native : run->expansions;
        }
        if (run->row >= SHORT_PIECE) {
            run->expansions = 0;
        }
    }
    if (run->checks_for_unlike) {
        find_apart(binding);
    }
    if (run->checks_for_unlike && kernel->has_into) {
        run->withholds = run->checks_for_unlike = !keeps_all_places(binding);
    }
    int result = bind_results(binding);
    if (result != 0) {
        return result;
    }
    return run_space(binding, out, kernel->cost * (double)binding->elements);
}

/* The same, with the arrays that only some kernels need on this function's stack. */
static int
run_with_memory(Binding *binding, PyObject **results, PyObject **flags, PyObject **withheld)
{
    Run *run = &binding->run;
    Kernel *kernel = run->kernel;
    Walk walks[kernel->operands + 1], row_walks[kernel->maps_rows ? kernel->operands + 1 : 1];
    Rolled rolled[kernel->rolled + 1];
    unsigned char readings[kernel->operands + 1], bits[run->plain->segments + 1];
    char *direct[kernel->values + 1];
    npy_intp direct_step[kernel->values + 1];
    bool apart[kernel->values + 1];
    Commit commits[kernel->results + 1];
    Walk commit_walks[kernel->results + 1];
    Total totals[kernel->totals + 1];
    _Alignas(16) char out[kernel->totals + 1][MAX_ITEM];
    PyArrayObject *arrays[kernel->results + 1];
    memset(direct, 0, sizeof direct);
    memset(arrays, 0, sizeof arrays);
    memset(bits, 0, sizeof bits);
    run->walks = walks;
    run->row_walks = kernel->maps_rows ? row_walks : NULL;
    run->readings = readings;
    run->rolled = rolled;
    run->rolls = 0;
    run->bits = bits;
    run->direct = direct;
    run->direct_step = direct_step;
    run->apart = apart;
    run->commits = commits;
    run->totals = totals;
    binding->commit_walks = commit_walks;
    binding->arrays = arrays;
    int result = run_bound(binding, out);
    kernel->flagged += run->flagged;
    if (result == 0 && give_results(binding, out, results) < 0) {
        result = RUN_FAILED;
    }
    if (result == 0) {
        *flags = flags_tuple(run);
        if (*flags == NULL) {
            for (int i = 0; i < kernel->results; i++) {
                Py_CLEAR(results[i]);
            }
            result = RUN_FAILED;
        }
    }
    if (result == 0 && run->withholds) {
        *withheld = withheld_pair(run);
        if (*withheld == NULL && PyErr_Occurred()) {
            Py_CLEAR(*flags);
            for (int i = 0; i < kernel->results; i++) {
                Py_CLEAR(results[i]);
            }
            result = RUN_FAILED;
        }
    }
    free(binding->withheld_many);
    free_total_memory(binding);
    for (int i = 0; i < kernel->results; i++) {
        Py_XDECREF(arrays[i]);
    }
    return result;
}

/*
 * Run the kernel on borrowed `arguments`, one per operand. RUN_DONE: `results`, one for each of the
 * kernel's, and `flags` (None or a tuple) are new references. RUN_REFUSED: nothing was written and
 * there is no exception. RUN_FAILED: exception. Only flags in `mask` are reported. Runs Python code
 * only through on_hot, and may release the GIL.
 *
 * Where the bits would not be NumPy's (unlike.c) the kernel refuses or, if it writes over operands,
 * gives in `withheld` a pair, which is NULL otherwise: a list of pairs (first, past), the elements,
 * in the order of the walk, that are in no result yet; and for the number of each total that they
 * may change all elements that it was made of. Where the pointer is NULL, nobody looks for such
 * elements in kernels that write over operands.
 */
int
kernel_run(Kernel *kernel, PyObject *const *arguments, unsigned mask, PyObject **results,
           PyObject **flags, PyObject **withheld)
{
    _Alignas(16) char packed[kernel->operands + 1][MAX_ITEM];
    Binding binding;
    binding.run.kernel = kernel;
    binding.run.mask = mask;
    binding.run.commit_count = 0;
    binding.run.total_count = 0;
    binding.run.expansions = 0;
    binding.run.any_copies = false;
    binding.run.starts = NULL;
    binding.run.flagged = 0;
    binding.run.checks_for_unlike =
        kernel->position_dependent && (!kernel->has_into || withheld != NULL);
    binding.run.met_unlike = false;
    binding.run.withholds = false;
    binding.run.withheld = NULL;
    binding.run.unsure = false;
    binding.arguments = arguments;
    binding.packed = packed;
    binding.starts = NULL;
    binding.partials = NULL;
    binding.withheld_many = NULL;
    if (!take_arguments(&binding)) {
        return RUN_REFUSED;
    }
    const Result *order = kernel->order;
    if (space_set_order(&binding.space, order ? order->axes : -1, order ? order->order : NULL) <
            0 ||
        !split_rows(&binding)) {
        return RUN_REFUSED;
    }
    kernel->runs++;
    kernel->elements += binding.elements;
    if (kernel->on_hot != NULL && kernel->elements >= kernel->hot) {
        call_on_hot(kernel);
    }
    Plan *plain = kernel->plain, *native = kernel->native;
    binding.run.plain = plain;
    binding.run.native = native;
    plain->references++;
    if (native != NULL) {
        native->references++;
    }
    Py_INCREF(kernel);
    if (withheld != NULL) {
        *withheld = NULL;
    }
    int result = run_with_memory(&binding, results, flags, withheld);
    plan_release(plain);
    plan_release(native);
    Py_DECREF(kernel);
    return result;
}
