/* Everything that depends on how one CPython version lays out its frames. */
#ifndef UFUSE_FRAMES_H
#define UFUSE_FRAMES_H

#include <Python.h>
#include <stdbool.h>

#include "python/state.h"

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030F0000
#    error "ufuse supports CPython 3.11 to 3.14; another needs its own accessors in frames.c"
#endif
#ifdef Py_GIL_DISABLED
#    error "ufuse does not support free-threaded CPython"
#endif

struct _PyInterpreterFrame;

int frames_ready(void);
PyCodeObject *fresh_frame_code(struct _PyInterpreterFrame *frame, int throwflag);
bool frame_is_body(struct _PyInterpreterFrame *frame, int throwflag);
PyObject *frame_function(struct _PyInterpreterFrame *frame);
void read_frame_arguments(struct _PyInterpreterFrame *frame, PyObject **values, Py_ssize_t count);
void drop_frame_values(struct _PyInterpreterFrame *frame);
PyObject *evaluate_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwflag,
                         _PyFrameEvalFunction evaluate);
PyObject *discard_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame, PyObject *result);

enum { GENERATOR_LIKE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };

/* The stack slots, counted from the lowest, that differ in a FrameState. */
typedef struct {
    Py_ssize_t previous;     /* with the exc_info that the outermost handler restores; -1: none */
    PyObject *reraise_slots; /* borrowed: a tuple of those with offsets for RERAISE, or NULL */
    PyObject *offsets; /* borrowed: a tuple of the other code's offset for each of this code's */
} StackMarks;

bool current_frame_runs(PyThreadState *thread, PyObject *code);
int fill_current_frame(PyThreadState *thread, FrameState *state, const StackMarks *marks);
bool eval_breaker_is_set(PyThreadState *thread);
FrameState *take_current_frame(PyThreadState *thread, Py_ssize_t position, Py_ssize_t depth,
                               const StackMarks *marks);
PyObject *enter_handler(PyThreadState *thread, FrameState *state);
void leave_handler(PyThreadState *thread, FrameState *state, PyObject *outer);
void keep_frame_object(PyThreadState *thread, Resumption *resumption);
PyObject *escaped_frame_object(PyThreadState *thread, Resumption *resumption);
void hand_locals_to_escaped(Resumption *resumption);

#endif
