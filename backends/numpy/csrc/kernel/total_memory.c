/* Before a run: how each total may be split, and memory for its parts. */
#include "kernel/total_memory.h"

#include <stdlib.h>

/* Note the kernel's totals and how each may be split. */
void
list_totals(Run *run)
{
    for (int s = 0; s < run->plain->segments; s++) {
        const Segment *segment = &run->plain->segment[s];
        if (segment->kind != SEGMENT_TOTAL) {
            continue;
        }
        int input = segment->values[0];
        Fold fold = segment->loop->fold;
        if (fold == FOLD_PAIRWISE && segment->initial == NULL) {
            fold = FOLD_WHOLE;
        }
        if (run->kernel->has_into && fold != FOLD_ANYWHERE) {
            fold = FOLD_WHOLE; /* its inputs may be written over before the parts turn out not to
                                  decide the bits */
        }
        run->totals[run->total_count++] = (Total){
            .value = segment->values[1],
            .input = input,
            .segment = segment,
            .input_itemsize = run->kernel->value[input].itemsize,
            .fold = fold,
        };
    }
    /* A kernel's tiles follow one tree: real and complex sums have different nodes. */
    int granule = 0;
    for (int i = 0; i < run->total_count; i++) {
        Total *total = &run->totals[i];
        if (total->fold == FOLD_PAIRWISE) {
            int own = PyTypeNum_ISCOMPLEX(total->segment->loop->types[1]) ? 4 : 8;
            if (granule != 0 && own != granule) {
                total->fold = FOLD_WHOLE;
            }
            granule = granule ? granule : own;
        }
    }
}

/* Memory for partial results, or for the whole input of those totals that need it. -1: exception.
 */
int
total_memory(Binding *binding, bool exact)
{
    Run *run = &binding->run;
    binding->partials = NULL;
    size_t bytes = (size_t)run->tiles * MAX_ITEM;
    for (int i = 0; i < run->total_count; i++) {
        Total *total = &run->totals[i];
        total->whole = NULL;
        if (exact || total->fold == FOLD_WHOLE) {
            total->whole = memory_take((size_t)(run->size * total->input_itemsize) + 1);
            if (total->whole == NULL) {
                PyErr_NoMemory();
                return -1;
            }
        }
    }
    binding->partials =
        run->total_count > 0 ? memory_take(bytes * (size_t)run->total_count + 1) : NULL;
    if (run->total_count > 0 && binding->partials == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < run->total_count; i++) {
        run->totals[i].partials = binding->partials + bytes * (size_t)i;
    }
    return 0;
}

void
free_total_memory(Binding *binding)
{
    for (int i = 0; i < binding->run.total_count; i++) {
        memory_give(binding->run.totals[i].whole);
        binding->run.totals[i].whole = NULL;
    }
    memory_give(binding->partials);
    binding->partials = NULL;
    free(binding->starts);
    binding->starts = NULL;
}

void
add_total_flags(Run *run, const Segment *segment)
{
    unsigned flags = status_take();
    run->bits[segment - run->plain->segment] |= (unsigned char)flags;
}
