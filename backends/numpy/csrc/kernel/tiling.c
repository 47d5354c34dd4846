/* Tiles of a space: how large, on which threads. */
#include "kernel/tiling.h"

#include "kernel/total_memory.h"
#include "kernel/run.h"
#include "kernel/total.h"

#include <stdlib.h>

enum {
    TILE_BYTES = 48 * 1024, /* of all values of a tile: about what the first cache holds */
    TILE_LEAST = 512,       /* elements */
    TILE_MOST = 16384,
    /* Few segments over much memory wait for memory, which long runs serve better. */
    FEW_SEGMENTS = 4,
    MUCH_MEMORY = 256 * 1024, /* elements */
    LONG_TILE_BYTES = 256 * 1024,
};

/* Nanoseconds of work from which it pays to release the GIL, and to use several threads. */
static const double WITHOUT_GIL = 20e3, SHARED = 100e3;

static npy_intp
tile_elements(const Binding *binding)
{
    const Run *run = &binding->run;
    const Plan *plan = run->native != NULL ? run->native : run->plain;
    if (run->size <= TILE_LEAST && !run->kernel->rows) {
        return TILE_LEAST;
    }
    npy_intp each = 0;
    for (int i = 0; i < plan->slots; i++) {
        each += plan->slot[i].is_row ? 0 : plan->slot[i].itemsize;
    }
    each += run->expansions > 0 && run->row < SHORT_PIECE ? 8 * run->expansions : 0;
    bool passes_once = each == 0;
    for (int i = 0; i < run->kernel->operands; i++) {
        npy_intp itemsize = run->kernel->value[i].itemsize;
        bool copied = run->readings[i] == READ_COPY;
        each += copied ? 2 * itemsize : PyArray_CheckExact(binding->arguments[i]) ? itemsize : 0;
        passes_once = passes_once && !copied;
    }
    for (int i = 0; i < run->kernel->results; i++) {
        const Value *value = &run->kernel->value[run->kernel->result[i].value];
        each += run->kernel->result[i].direct && !value->is_row ? value->itemsize : 0;
    }
    if (passes_once && plan->segments == 1) {
        return TILE_MOST;
    }
    bool waits = plan->segments <= FEW_SEGMENTS && binding->elements >= MUCH_MEMORY;
    npy_intp elements = (waits ? LONG_TILE_BYTES : TILE_BYTES) / (each > 0 ? each : 1);
    return elements < TILE_LEAST ? TILE_LEAST : elements > TILE_MOST ? TILE_MOST : elements;
}

/* Divide the space into tiles, small enough to be shared where `shared`. -1: no memory. */
static int
choose_tiles(Binding *binding, bool shared, bool exact)
{
    Run *run = &binding->run;
    npy_intp elements = tile_elements(binding);
    if (shared) {
        npy_intp part = binding->elements / (threads_count() * 4);
        part = part < TILE_LEAST ? TILE_LEAST : part;
        elements = elements < part ? elements : part;
    }
    elements -= elements % PHASE;
    run->starts = NULL;
    if (run->kernel->rows) {
        npy_intp rows = run->row == 0 ? PHASE : elements / run->row;
        rows = rows < 1 ? 1 : rows > PHASE ? rows - rows % PHASE : rows;
        run->tile = rows < run->size ? rows : run->size > 0 ? run->size : 1;
        run->widest = run->tile * run->row;
    }
    else {
        run->tile = elements < run->size ? elements : run->size > 0 ? run->size : 1;
        run->widest = run->tile;
        for (int i = 0; i < run->total_count && !exact; i++) {
            const Total *total = &run->totals[i];
            if (total->fold == FOLD_PAIRWISE && run->starts == NULL) {
                npy_intp granule = PyTypeNum_ISCOMPLEX(total->segment->loop->types[1]) ? 4 : 8;
                run->tiles = tree_starts(run->size, granule, elements, &binding->starts);
                if (run->tiles < 0) {
                    return -1;
                }
                run->starts = binding->starts;
                run->widest = elements < run->size ? elements : run->size;
                return 0;
            }
        }
    }
    /* Avoids a division, which takes as long as the rest of a small run. */
    run->tiles = run->size <= run->tile ? run->size > 0 : (run->size + run->tile - 1) / run->tile;
    return 0;
}

static int
share_tiles(void *context, npy_intp first, npy_intp past)
{
    Run *run = context;
    int segments = run->plain->segments;
    unsigned char bits[segments + 1];
    memset(bits, 0, (size_t)segments + 1);
    int result = run_tiles(run, first, past, bits);
    for (int i = 0; i < segments; i++) {
        if (bits[i]) {
            __atomic_fetch_or(&run->bits[i], bits[i], __ATOMIC_RELAXED);
        }
    }
    return result;
}

/* Run all tiles. -1: exception. */
static int
run_all(Binding *binding, double work)
{
    Run *run = &binding->run;
    if (work < WITHOUT_GIL) {
        if (run_tiles(run, 0, run->tiles, run->bits) == 0) {
            return 0;
        }
    }
    else {
        bool done;
        run->failed_tile = -1;
        npy_intp chunk = run->tiles;
        if (work >= SHARED) {
            chunk = run->tiles / (threads_count() * 16);
            chunk = chunk < 1 ? 1 : chunk;
        }
        PyThreadState *state = PyEval_SaveThread();
        done = threads_run(share_tiles, run, run->tiles, chunk);
        PyEval_RestoreThread(state);
        if (done) {
            return 0;
        }
        /* A worker's exception is lost with its thread state: run the tile here to raise it again.
         */
        if (!PyErr_Occurred() && run->failed_tile >= 0) {
            run_tiles(run, run->failed_tile, run->failed_tile + 1, run->bits);
        }
    }
    if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    return -1;
}

/* Room to say which tiles are withheld. -1: exception. */
static int
withhold_nothing(Binding *binding)
{
    Run *run = &binding->run;
    if (run->tiles <= (npy_intp)sizeof binding->withheld) {
        memset(binding->withheld, 0, sizeof binding->withheld);
        run->withheld = binding->withheld;
        return 0;
    }
    free(binding->withheld_many);
    run->withheld = binding->withheld_many = calloc((size_t)run->tiles, 1);
    if (run->withheld == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/*
 * Run the tiles; run them again with whole inputs where partial results do not decide a total's
 * bits. 0, 1, -1 as kernel_run.
 */
int
run_space(Binding *binding, char (*out)[MAX_ITEM], double work)
{
    Run *run = &binding->run;
    for (int exact = 0; exact < 2; exact++) {
        bool shared = work >= SHARED && threads_count() > 1;
        if (choose_tiles(binding, shared, exact) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        if (run->total_count > 0 && total_memory(binding, exact) < 0) {
            return -1;
        }
        if (run->withholds && withhold_nothing(binding) < 0) {
            return -1;
        }
        run->scratch_bytes = scratch_needed(run);
        if (run_all(binding, work) < 0) {
            return -1;
        }
        if (run->met_unlike) {
            return RUN_REFUSED;
        }
        bool again = run->unsure;
        for (int i = 0; i < run->total_count; i++) {
            if (total_finish(run, &run->totals[i], out[i], &again) < 0) {
                return -1;
            }
            add_total_flags(run, run->totals[i].segment);
        }
        if (!again || exact) {
            return 0;
        }
        free_total_memory(binding);
        run->native = NULL;
    }
    return 0;
}
