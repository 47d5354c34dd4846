/* NumPy's own headers, as all files of the hook have them. */
#ifndef UFUSE_NUMPY_API_H
#define UFUSE_NUMPY_API_H

#define NPY_NO_DEPRECATED_API NPY_1_24_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ufuse_hook_ARRAY_API
#ifndef UFUSE_IMPORTS_NUMPY
#    define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>

#endif
