/* A run while it is prepared: what the files of kernel_run share. */
#ifndef UFUSE_BIND_H
#define UFUSE_BIND_H

#include "kernel/kernel.h"

enum { SHORT_PIECE = 64 }; /* operands whose runs are shorter are copied tile by tile */

/* One kernel_run, on the stack; arrays are as long as the kernel's counts say. */
typedef struct {
    Run run;
    Space space;
    PyObject *const *arguments;
    char (*packed)[MAX_ITEM]; /* scalar operands */
    PyArrayObject **arrays;   /* result arrays, or NULL; owned */
    Walk *commit_walks;
    bool same_shape; /* all arrays are C-contiguous with the space's shape */
    npy_intp elements;
    npy_intp *starts;
    char *partials;
    unsigned char withheld[16], *withheld_many; /* by tile, where they are few or many */
} Binding;

/* arguments.c */
bool take_arguments(Binding *binding);

/* results.c */
int bind_results(Binding *binding);
bool has_twin(const Binding *binding, int target);

/* tiling.c: 0, 1, -1 as kernel_run. */
int run_space(Binding *binding, char (*out)[MAX_ITEM], double work);

/* total_memory.c */
void list_totals(Run *run);
int total_memory(Binding *binding, bool exact);
void free_total_memory(Binding *binding);
void add_total_flags(Run *run, const Segment *segment);

#endif
