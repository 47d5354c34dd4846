/* A generator of random numbers that is drawn from: where its state lies, and the lock that
 * everybody takes who draws. */
#ifndef UFUSE_NEST_GENERATOR_H
#define UFUSE_NEST_GENERATOR_H

#include "nest/form/nest.h"

typedef struct {
    PyObject *lock;   /* NULL: not taken, or there is none, as Python's are under the GIL */
    void *bits;       /* a bitgen_t, which may be that of `own` */
    PyObject *object; /* borrowed: one of Python's, or NULL */
    struct {
        void *bits[5];
        double next;      /* what `gauss` gives next, */
        int64_t has_next; /* if there is such */
        void *legacy;     /* where a RandomState has the same */
    } own;
    int parts;
    struct {
        char *data;
        size_t bytes;
    } part[3];
} Generator;

#endif
