/* Inner loops, made: NumPy's own, native code, and the three that NumPy exports no loop for: cast,
 * where, copy. */
#ifndef UFUSE_LOOPS_H
#define UFUSE_LOOPS_H

#include "loops/loop.h"

extern PyTypeObject *loop_type;
int loops_begin(PyObject *module);
extern PyMethodDef loops_methods[];

#endif
