/* Records of launches, read from what Python gives. */
#ifndef UFUSE_KERNEL_RECORDS_H
#define UFUSE_KERNEL_RECORDS_H

#include "kernel/form.h"

Record *record_of(PyObject *given, const Py_ssize_t *key, size_t words, int operands);
void record_release(Record *record);

#endif
