/* A frame that is not running, and what each thread knows about the frames it runs. */
#ifndef UFUSE_STATE_H
#define UFUSE_STATE_H

#include <Python.h>
#include <stdbool.h>

/* Where a state says so: the exception it handles is in the slot where the state before had it. */
enum { AS_IT_BEGAN = -2 };

/*
 * The values of a frame that is not running: `localsplus`, then the stack; each an owned reference
 * or NULL. It is a Python object only because the interpreter has to carry it out of `suspend()`'s
 * caller: it has no attributes, and whoever goes on with the frame takes its values out.
 *
 * Two kinds of stack slots do not hold here what they hold in a frame. Where the outermost of the
 * handlers that the frame is in keeps the exception that was current before it, there is the one
 * that is current inside: the thread has the other while the frame does not run. And positions of
 * errors, which a handler needs to raise them again, are ints that count in the original code.
 */
typedef struct {
    PyObject_HEAD
    Py_ssize_t position; /* in code units of the original code */
    Py_ssize_t size;
    Py_ssize_t n_locals; /* slots before the stack's */
    Py_ssize_t capacity;
    Py_ssize_t handled; /* the slot with the exception that the frame is handling, or negative */
    PyObject *shown; /* owned: the frame object that others hold of where the frame ran, or NULL */
    PyObject *slots[1];
} FrameState;

/* One resume function that is being called. Lives on the C stack of the loop that calls it. */
typedef struct Resumption {
    PyObject *code; /* borrowed: the resume code; only its frame may call restore() and suspend() */
    FrameState *pending; /* owned: what restore() is to take, NULL once it has */
    bool raises_later;   /* restore() has taken it, and is called once more to raise */
    bool looks; /* the frame is to look at once whether signals or other threads wait for it */
    PyObject *exception; /* owned: what restore() raises after it has restored the state, or NULL */
    FrameState *suspended; /* owned: what suspend() left, or NULL */
    PyObject *shown;       /* owned: as in the state that was restored */
    PyObject *frame; /* owned: the frame object of the frame that runs, where `shown` is held by
                        others, or NULL */
    struct Resumption *outer; /* the loop below this one on the same thread */
} Resumption;

typedef struct {
    PyObject *session; /* borrowed from a loop of this thread: whose callees the eval hook takes;
                          NULL: none */
    bool every_frame;  /* that session wants the frames that bring no array, too */
    PyObject
        *passing; /* borrowed: the code whose next fresh frame the eval hook lets pass, or NULL */
    Resumption *resumption;            /* the innermost one */
    _PyErr_StackItem *handled_outside; /* borrowed: what the program was handling when code of ours
                                          began to run; NULL: none runs */
    int eager;        /* enter_eager() without its leave_eager(); also counts a running capture */
    char *stack_soft; /* below this address recursion is no longer paid back to CPython; NULL: not
                         measured */
    char *stack_hard; /* below this address a dispatcher raises RecursionError */
} ThreadRecord;

extern _Thread_local ThreadRecord ufuse_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern PyTypeObject FrameState_Type;

FrameState *FrameState_New(Py_ssize_t position, Py_ssize_t size, Py_ssize_t n_locals);
void drop_locals(PyObject **slots, Py_ssize_t count);
int FrameState_Ready(void);

#endif
