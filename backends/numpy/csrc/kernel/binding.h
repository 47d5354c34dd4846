/* A run while it is prepared: what the files of kernel_run share. */
#ifndef UFUSE_KERNEL_BINDING_H
#define UFUSE_KERNEL_BINDING_H

#include "kernel/form.h"

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

#endif
