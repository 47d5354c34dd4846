/* How operands lie, and numbers as one of them. */
#ifndef UFUSE_OPERANDS_H
#define UFUSE_OPERANDS_H

#include "loops/loop.h"

/* How what is written lies to the operands: on one of them, element on element, or
 * across one. */
typedef enum { LIES_APART, LIES_ON_OPERAND, LIES_ACROSS } Overlap;
Overlap overlap_of(char **data, npy_intp count, const npy_intp *steps, npy_intp itemsize);

/* Store a number as one of a type, if it can be one. */
bool store_number(int type, double number, char *to);

#endif
