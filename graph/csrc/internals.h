/* CPython's internal headers, for the files that need them; to be included before Python.h. */
#ifndef UFUSE_INTERNALS_H
#define UFUSE_INTERNALS_H

#define Py_BUILD_CORE 1
#include <Python.h>
#ifdef _PyGC_FINALIZED
#    undef _PyGC_FINALIZED /* 3.12's internal headers define it again, differently (gh-105268) */
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030C0000
#    include <internal/pycore_instruments.h>
#endif
#if PY_VERSION_HEX >= 0x030D0000
#    include <internal/pycore_ceval.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#    include <internal/pycore_interpframe.h>
#endif
#pragma GCC diagnostic pop

#endif
