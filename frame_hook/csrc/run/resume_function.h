/* The functions whose code resumes frames, one for each position, which are kept between calls. */
#ifndef UFUSE_RESUME_FUNCTION_H
#define UFUSE_RESUME_FUNCTION_H

#include <Python.h>

#include "run/cache.h"

PyObject *function_that_resumes(CodeCache *cache, Py_ssize_t position, PyObject *function,
                                PyObject **exception);
void drop_resuming(CodeCache *cache, Py_ssize_t position, PyObject *resume);

#endif
