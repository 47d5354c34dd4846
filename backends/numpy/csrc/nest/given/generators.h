/* Generators of random numbers: where their state lies, and the lock that everybody takes who
 * draws. */
#ifndef UFUSE_NEST_GENERATORS_H
#define UFUSE_NEST_GENERATORS_H

#include "nest/given/generator.h"

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
