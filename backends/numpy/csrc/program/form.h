/* A program: steps over slots. */
#ifndef UFUSE_PROGRAM_FORM_H
#define UFUSE_PROGRAM_FORM_H

#include "kernel/form.h"
#include "scalars/scalars.h"

typedef enum {
    STEP_KERNEL,
    STEP_SCALARS,
    STEP_CALL,
    STEP_GETITEM,
    STEP_BINARY,
    STEP_UNARY,
    STEP_UNPACK,
    STEP_TUPLE,
    STEP_CHECK,
    STEP_BRANCH,
} StepKind;

typedef struct {
    int count;
    int *slot; /* -1 where a result is dropped */
} Slots;

typedef PyObject *(*BinaryFunction)(PyObject *, PyObject *);
typedef PyObject *(*UnaryFunction)(PyObject *);

typedef struct {
    StepKind kind;
    bool committed;
    bool expected;    /* the truth that a check wants */
    bool first_write; /* its writes are the first visible ones: it may still refuse */
    PyObject *object; /* the kernel, code over numbers, callable, or the two of a branch, or NULL;
                         None: `fallback` does the call */
    PyObject *names;  /* of the last arguments of a call, or NULL */
    BinaryFunction binary;
    UnaryFunction unary;
    Slots inputs, outputs, clear;
    unsigned ignored, warned; /* flags of which the program's own `np.errstate` says so */
} Step;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int inputs, slots, steps, constants;
    int *constant_slot;
    PyObject **constant;
    Step *step;
    Slots outputs;
    PyObject *report;   /* or NULL */
    PyObject *fallback; /* or NULL */
    PyObject *in_order; /* or NULL: called before the first of these two, gives what is called at
                           the end */
    bool has_kernels, has_calls, has_committed;
    bool late; /* a side that runs behind a visible write: it cannot give up */
} Program;

#endif
