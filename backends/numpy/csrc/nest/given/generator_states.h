/* Structs of NumPy's and CPython's that their headers do not have: where generators of random
 * numbers keep their states. They are tried before they are relied on.
 */
#ifndef NEST_GENERATOR_STATES_H
#define NEST_GENERATOR_STATES_H

#include "nest/given/generator.h"

#include <numpy/random/bitgen.h>

typedef struct {
    uint64_t state[2], increment[2];
} Pcg64Numbers;

typedef struct {
    Pcg64Numbers *numbers;
    int has_uint32;
    uint32_t uinteger;
} Pcg64State;

enum { WORDS = 624, MIDDLE = 397 }; /* of an MT19937 */

typedef struct {
    uint32_t key[WORDS];
    int position;
} Mt19937State;

typedef struct {
    bitgen_t *bits;
    int has_gauss;
    double gauss;
} LegacyState;

/* CPython's own struct for a `random.Random`. */
typedef struct {
    PyObject_HEAD
    int index;
    uint32_t state[WORDS];
} PythonRandom;

/* The Generator whose own bits these are. */
static inline Generator *
generator_of(void *bits)
{
    return (Generator *)((char *)bits - offsetof(Generator, own));
}

#endif
