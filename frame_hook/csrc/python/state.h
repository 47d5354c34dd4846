/* A suspended frame's values, and what is kept for each thread. */
#ifndef UFUSE_STATE_H
#define UFUSE_STATE_H

#include <Python.h>
#include <stdbool.h>

#include "python/quiet.h"

/* `FrameState.handled`: the same slot as in the state that the entry was given. */
enum { AS_BEFORE = -2 };

/*
 * What is known of the elements of an array that nobody but the frame holds: nothing; they may be
 * anything, as nobody has seen them; they are zero. Not negative: they equal those of the array in
 * another slot.
 */
enum { CONTENTS_UNKNOWN = -3, CONTENTS_ARBITRARY = -2, CONTENTS_ZERO = -1 };

/*
 * The values of a suspended frame: `localsplus`, then the stack; each an owned reference or NULL.
 * A Python object only because resume code has to return it from the frame in which it called
 * `suspend()`: it has no attributes, and is used up when the frame goes on.
 *
 * Two kinds of stack slots differ from the frame's. Where the outermost active handler keeps the
 * previous exc_info (for POP_EXCEPT), the state has the exception that is being handled; the
 * previous one is the thread's while the frame does not run. And the instruction offsets that
 * RERAISE reads are ints, which count in the original code instead of the resume code.
 */
typedef struct {
    PyObject_HEAD
    Py_ssize_t position; /* in code units of the original code */
    Py_ssize_t size;
    Py_ssize_t n_locals; /* slots before the stack's */
    Py_ssize_t capacity;
    Py_ssize_t handled; /* the slot with the exception that is being handled; negative: none */
    bool declined;      /* no entry has taken the frame here: it is interpreted from here */
    PyObject *escaped;  /* owned: the frame object of where the frame last ran, if others (such as
                           tracebacks) hold it; or NULL */
    PyObject *contents; /* owned: bytes, an int32_t for each slot: what is known of an array's
                           elements while no code of the program has run; or NULL */
    Quiet known_at;     /* that an array equals another one holds while it is quiet since then */
    PyObject *slots[1];
} FrameState;

/* One call of a resume function. Lives on the C stack of the loop that makes the call. */
typedef struct Resumption {
    PyObject *code;         /* borrowed: the resume code; only its frame may call restore() and
                               suspend() */
    PyObject *cache;        /* borrowed: the CodeCache of the code that it was made from */
    FrameState *pending;    /* owned: what restore() is to move into the frame; NULL once it has */
    bool raises_later;      /* restore() has done that, and is called once more to raise */
    bool checks_signals;    /* poll for signals and GIL requests first */
    PyObject *exception;    /* owned: what restore() raises once the state is restored, or NULL */
    FrameState *suspended;  /* owned: what suspend() took out of the frame, or NULL */
    PyObject *escaped;      /* owned: as in the state that was restored */
    PyObject *frame_object; /* owned: of the frame that runs, made where `escaped` is still held by
                               others; or NULL */
    struct Resumption *outer; /* that of the loop below this one on the same thread */
} Resumption;

typedef struct {
    PyObject *session;  /* borrowed from a region of this thread: it is given the frames of callees;
                           NULL: no region is open */
    PyObject *ambient;  /* owned: a session that is given frames where no region is open, or NULL */
    bool within;        /* a region, a plain run or code of ours is open: `ambient` is given none */
    bool every_frame;   /* that session wants the frames that bring no array, too */
    bool takes_loops;   /* and those of functions whose loops may become native code */
    bool may_end_early; /* the hook may be taken away before the region ends */
    long long taken;    /* frames of callees that ran an entry */
    long long passed;   /* fresh frames of callees that ran none */
    long long passed_in_row; /* since one did */
    PyObject *passing; /* borrowed: the hook hands on the next fresh frame of this code; or NULL */
    Resumption *resumption;            /* the innermost one */
    _PyErr_StackItem *handled_outside; /* borrowed: the program's exc_info when it called code of
                                          ours; NULL: none of ours runs */
    int64_t session_began; /* processor time of the thread when a session was last asked */
    int64_t session_ns;    /* and what of it sessions took */
    int64_t plain_ns;      /* what loops would have taken plain Python, as far as that was asked for
                              and is known: `plain_time.h` */
    int timed;             /* runs of trials that ask for it now */
    int64_t plain_until;   /* loops run plainly until then (`now_ns`); 0: as their entries are */
    int eager;             /* calls of enter_eager() without leave_eager(), and captures that run */
    char *stack_soft; /* below this address the hook lets frames nest no deeper; NULL: the stack has
                         not been measured */
    char *stack_hard; /* below this address a dispatcher raises RecursionError */
} ThreadRecord;

extern _Thread_local ThreadRecord ufuse_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern PyTypeObject FrameState_Type;

FrameState *FrameState_New(Py_ssize_t position, Py_ssize_t size, Py_ssize_t n_locals);
void drop_locals(PyObject **slots, Py_ssize_t count);
int FrameState_Ready(void);

#endif
