/* Generators of random numbers: where their state lies, and the lock that everybody takes who
 * draws. */
#ifndef UFUSE_NEST_GENERATORS_H
#define UFUSE_NEST_GENERATORS_H

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

int generators_begin(bool is_python);
int64_t nest_below(void *bits, int64_t count);
double nest_gauss(void *bits);
double nest_legacy_gauss(void *bits);
double nest_legacy_normal(void *bits, double mean, double deviation);
double nest_legacy_exponential(void *bits, double scale);
int generator_take(PyObject *object, Generator *one);
void generator_give(Generator *one);
int generators_take(const Nest *nest, PyObject *const *objects, Generator *generators);
void generators_give(const Nest *nest, Generator *generators);
void nest_draws(void *function, void *bits, int64_t inputs, double first, double second, double *to,
                int64_t count);

#endif
