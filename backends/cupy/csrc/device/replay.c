/*
 * Graphs of CUDA's: launches that come again are handed to the driver as one. A graph is built node
 * by node, each behind the one before; a replay sets the arguments and the blocks of what differs
 * from the last one. Where the driver refuses anything, kernels are launched one by one.
 */
#include "device/queue.h"

#include <time.h>

enum { CALLS_BEFORE = 2, TRIALS = 8, MOST_CHANGES = 8, MOST_ELSEWHERE = 8 };

/* CUDA_KERNEL_NODE_PARAMS, in the form that every driver from CUDA 10 on takes. */
typedef struct {
    void *function;
    unsigned blocks[3], threads[3], shared;
    void **arguments, **extra;
} NodeParameters;

static struct {
    int (*create)(void **graph, unsigned flags);
    int (*add)(void **node, void *graph, void *const *behind, size_t count, const NodeParameters *);
    int (*instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*set)(void *executable, void *node, const NodeParameters *);
    int (*launch)(void *executable, void *stream);
    int (*is_capturing)(void *stream, int *status);
    int (*destroy_executable)(void *executable);
    int (*destroy)(void *graph);
} driver;

static const struct {
    const char *name;
    void **place;
} table[] = {
    {"cuGraphCreate", (void **)&driver.create},
    {"cuGraphAddKernelNode", (void **)&driver.add},
    {"cuGraphInstantiateWithFlags", (void **)&driver.instantiate},
    {"cuGraphExecKernelNodeSetParams", (void **)&driver.set},
    {"cuGraphLaunch", (void **)&driver.launch},
    {"cuStreamIsCapturing", (void **)&driver.is_capturing},
    {"cuGraphExecDestroy", (void **)&driver.destroy_executable},
    {"cuGraphDestroy", (void **)&driver.destroy},
};

static bool has_functions; /* all of them */
static ReplayMode mode = REPLAY_MEASURED;
static long long built, replayed;

/* Take the addresses of the driver's functions by name; where one is missing, none is used. */
int
replay_use(PyObject *functions)
{
    void *found[Py_ARRAY_LENGTH(table)];
    has_functions = false;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(table); i++) {
        found[i] = address_in(functions, table[i].name);
        if (found[i] == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(table); i++) {
        *table[i].place = found[i];
    }
    has_functions = true;
    return 0;
}

/* replay("never" | "measured" | "always") */
PyObject *
replay_mode(PyObject *Py_UNUSED(module), PyObject *name)
{
    static const char *const names[] = {"never", "measured", "always"};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(names); i++) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            mode = (ReplayMode)i;
            Py_RETURN_NONE;
        }
    }
    return PyErr_Format(PyExc_ValueError, "no way to replay: %R", name);
}

/* replays(): how many graphs were built, and how often one was replayed. */
PyObject *
replay_counts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return Py_BuildValue("LL", built, replayed);
}

/* Whether launches may be replayed at all: else none has to wait. */
bool
may_replay(void)
{
    return has_functions && mode != REPLAY_NEVER;
}

static int64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- the graph ---- */

static bool
is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/*
 * A process that ends leaves its graphs to the driver, which may be gone. Lets other threads run,
 * as all that asks the driver does: it may wait for one that has called it.
 */
static void
destroy_graph(Replay *replay)
{
    void *graph = replay->graph, *executable = replay->executable;
    replay->graph = replay->executable = NULL;
    PyMem_Free(replay->node);
    replay->node = NULL;
    if ((graph == NULL && executable == NULL) || is_finalizing()) {
        return;
    }
    Py_BEGIN_ALLOW_THREADS
        if (executable != NULL) {
            driver.destroy_executable(executable);
        }
        if (graph != NULL) {
            driver.destroy(graph);
        }
    Py_END_ALLOW_THREADS
}

/* Free what a replay owns. */
void
replay_free(Replay *replay)
{
    destroy_graph(replay);
    PyMem_Free(replay->launch);
    PyMem_Free(replay->cell);
    replay->launch = NULL;
    replay->cell = NULL;
}

/* Put the addresses of a launch's arguments, for which there is room. */
static void
put_arguments(const Waiting *waiting, Cell *cells, void **arguments)
{
    for (int i = 0; i < waiting->count; i++) {
        arguments[i] = &cells[waiting->first + i];
    }
}

/* What the driver is told of a launch; `arguments` has room for the addresses of its arguments. */
static NodeParameters
parameters_of(const Waiting *waiting, Cell *cells, void **arguments)
{
    put_arguments(waiting, cells, arguments);
    return (NodeParameters){.function = waiting->grid.function,
                            .blocks = {waiting->grid.blocks, 1, 1},
                            .threads = {waiting->grid.threads, 1, 1},
                            .arguments = arguments};
}

/* Copy launches that wait, as many as there is room for. */
static void
copy_waiting(Replay *replay, const Queue *queue)
{
    memcpy(replay->launch, queue->launch, (size_t)queue->launches * sizeof(*replay->launch));
    memcpy(replay->cell, queue->cell, (size_t)queue->cells * sizeof(*replay->cell));
}

/* Build the graph of the launches that wait, without the GIL. Returns false where the driver
 * refuses. */
static bool
build_graph(Replay *replay, Queue *queue)
{
    void *arguments[queue->most_arguments + 1];
    if (driver.create(&replay->graph, 0) != 0) {
        return false;
    }
    for (int i = 0; i < queue->launches; i++) {
        NodeParameters parameters = parameters_of(&queue->launch[i], queue->cell, arguments);
        void *const *behind = i == 0 ? NULL : &replay->node[i - 1];
        if (driver.add(&replay->node[i], replay->graph, behind, i > 0, &parameters) != 0) {
            return false;
        }
    }
    copy_waiting(replay, queue);
    return driver.instantiate(&replay->executable, replay->graph, 0) == 0;
}

/* Have the nodes launch what waits: those that differ from it are set. Needs no GIL. */
static bool
set_nodes(Replay *replay, Queue *queue)
{
    void *arguments[queue->most_arguments + 1];
    for (int i = 0; i < queue->launches; i++) {
        const Waiting *waiting = &queue->launch[i];
        const Grid *before = &replay->launch[i].grid;
        size_t bytes = (size_t)waiting->count * sizeof(Cell);
        if (before->blocks == waiting->grid.blocks && before->threads == waiting->grid.threads &&
            memcmp(&replay->cell[waiting->first], &queue->cell[waiting->first], bytes) == 0) {
            continue;
        }
        NodeParameters parameters = parameters_of(waiting, queue->cell, arguments);
        if (driver.set(replay->executable, replay->node[i], &parameters) != 0) {
            return false;
        }
        replay->launch[i] = *waiting;
        memcpy(&replay->cell[waiting->first], &queue->cell[waiting->first], bytes);
    }
    return true;
}

/* ---- which launches come again ---- */

/* Whether the launches that wait are of the same functions, in the same order, as the last ones. */
static bool
is_alike(const Replay *replay, const Queue *queue, int device)
{
    if (replay->launches != queue->launches || replay->cells != queue->cells ||
        replay->device != device) {
        return false;
    }
    for (int i = 0; i < queue->launches; i++) {
        if (replay->launch[i].grid.function != queue->launch[i].grid.function ||
            replay->launch[i].count != queue->launch[i].count) {
            return false;
        }
    }
    return true;
}

/* Remember the launches that wait in place of others. Where memory is short nothing is replayed. */
static void
remember(Replay *replay, const Queue *queue, int device, intptr_t stream)
{
    int changes = replay->changes + (replay->launch != NULL);
    replay->busy = true; /* other threads run meanwhile */
    replay_free(replay);
    *replay = (Replay){.changes = changes, .device = device, .stream = stream};
    replay->launch = PyMem_Calloc((size_t)queue->launches, sizeof(*replay->launch));
    replay->cell = PyMem_Calloc((size_t)queue->cells + 1, sizeof(*replay->cell));
    replay->node = PyMem_Calloc((size_t)queue->launches, sizeof(*replay->node));
    if (replay->launch == NULL || replay->cell == NULL || replay->node == NULL) {
        replay->broken = true;
        return;
    }
    replay->launches = queue->launches;
    replay->cells = queue->cells;
    copy_waiting(replay, queue);
}

typedef enum { EACH, EACH_TIMED, AS_GRAPH } Way;

/* How it is tried next, or was found to be faster. */
static Way
fastest(const Replay *replay)
{
    if (mode == REPLAY_ALWAYS) {
        return AS_GRAPH;
    }
    if (replay->tried[0] >= TRIALS && replay->tried[1] >= TRIALS) {
        return replay->best[1] <= replay->best[0] ? AS_GRAPH : EACH;
    }
    return replay->tried[1] <= replay->tried[0] ? AS_GRAPH : EACH_TIMED;
}

/*
 * How to launch what waits. The launches of an executable graph are one behind the other, on
 * whatever streams: so it belongs to one stream, until eight calls in a row were on others.
 */
static Way
way_of(Replay *replay, const Queue *queue, int device, intptr_t stream)
{
    if (replay == NULL || replay->broken || replay->busy || queue->launches < LEAST_REPLAYED ||
        !may_replay() || replay->changes > MOST_CHANGES) {
        return EACH;
    }
    bool is_elsewhere = replay->launch != NULL && replay->stream != stream;
    replay->elsewhere = is_elsewhere ? replay->elsewhere + 1 : 0;
    if (is_elsewhere && replay->elsewhere < MOST_ELSEWHERE) {
        return EACH;
    }
    if (is_elsewhere || !is_alike(replay, queue, device)) {
        remember(replay, queue, device, stream);
        return EACH;
    }
    replay->seen += replay->seen < CALLS_BEFORE;
    return replay->seen < CALLS_BEFORE ? EACH : fastest(replay);
}

/* Note what a call took; behind the trials nothing is noted. */
static void
note_time(Replay *replay, bool as_graph, int64_t taken)
{
    if (replay->tried[as_graph] == TRIALS) {
        return;
    }
    if (replay->tried[as_graph] == 0 || taken < replay->best[as_graph]) {
        replay->best[as_graph] = taken;
    }
    replay->tried[as_graph]++;
}

/*
 * Replay what waits; the graph is built the first time. Returns false, with nothing launched, where
 * the driver refuses, and while the stream captures: then the launches are the user's.
 */
static bool
run_graph(Replay *replay, Queue *queue, intptr_t stream)
{
    int capturing = 0;
    bool is_free, fine = false;
    int64_t begun = 0;
    replay->busy = true;
    bool is_new = replay->executable == NULL;
    Py_BEGIN_ALLOW_THREADS
        is_free = driver.is_capturing((void *)stream, &capturing) == 0 && capturing == 0;
        fine = is_free && (!is_new || build_graph(replay, queue));
        begun = now();
        fine = fine && set_nodes(replay, queue) &&
               driver.launch(replay->executable, (void *)stream) == 0;
    Py_END_ALLOW_THREADS
    built += is_new && replay->executable != NULL;
    if (fine) {
        note_time(replay, true, now() - begun);
        replayed++;
    }
    else if (is_free) {
        replay->broken = true;
        destroy_graph(replay);
    }
    replay->busy = false;
    return fine;
}

static int
launch_each(Queue *queue, int device, intptr_t stream)
{
    void *arguments[queue->most_arguments + 1];
    for (int i = 0; i < queue->launches; i++) {
        const Waiting *waiting = &queue->launch[i];
        put_arguments(waiting, queue->cell, arguments);
        if (launch(&waiting->grid, arguments, device, stream) < 0) {
            return -1;
        }
    }
    return 0;
}

/*
 * Launch what waits, at least one launch, on a stream: as one graph where the same launches have
 * come before and that is the faster way. Returns -1 with the exception of a launch. Then nothing
 * waits any more. Lets other threads run.
 */
int
launch_waiting(Queue *queue, Replay *replay, int device, intptr_t stream)
{
    int status = ensure_context(device);
    Way way = status < 0 ? EACH : way_of(replay, queue, device, stream);
    bool done = status < 0 || (way == AS_GRAPH && run_graph(replay, queue, stream));
    if (!done) {
        int64_t begun = way == EACH_TIMED ? now() : 0;
        status = launch_each(queue, device, stream);
        if (way == EACH_TIMED && status == 0) {
            note_time(replay, false, now() - begun);
        }
    }
    queue_forget(queue);
    return status;
}
