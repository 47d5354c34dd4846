/* A program: steps over slots. */
#ifndef UFUSE_PROGRAM_FORM_H
#define UFUSE_PROGRAM_FORM_H

#include "kernel/form.h"

typedef enum {
    STEP_KERNEL,
    STEP_RUN,
    STEP_CALL,
    STEP_APART, /* a call that reads and writes no memory of the device's but new one */
    STEP_GETITEM,
    STEP_TRANSPOSE,
    STEP_RESHAPE,
    STEP_EMPTY, /* new memory, of a shape and a dtype */
    STEP_UNPACK,
    STEP_TUPLE
} StepKind;

typedef struct {
    int count;
    int *slot;
} Slots;

typedef struct {
    StepKind kind;
    PyObject *object; /* the kernel, or what is called; NULL: nothing is */
    PyObject *names;  /* of the last arguments of a call, or NULL */
    Slots reads, outs, clear;
    bool *for_kernels; /* of each of `outs`: only kernels read it, and views only they read */
} Step;

typedef struct {
    int slot;
    PyObject *dtype;
} CheckedNumber;

/* Places of a program at which launches are handed over that are told apart. */
enum { REPLAYS = 16 };

/* Inputs that are remembered. */
enum { DECLINED = 8 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int inputs, slots, steps, constants, numbers;
    int committed; /* the first step that writes what the caller sees; `steps`: none does */
    int *constant_slot;
    PyObject **constant;
    Step *step;
    CheckedNumber *number; /* looked at before the first step */
    Slots outputs;
    Queue *queue;        /* that no call uses, or NULL; NULL too where no launch has to wait */
    Replay *replay;      /* `REPLAYS` of them, or NULL: no launch has to wait */
    PyObject *refused;   /* refused(error, late): NotImplemented, or raises */
    PyObject *otherwise; /* called with the inputs where plain Python is to run; or NULL */
    bool has_conditions; /* kernels' own, asked for before the first step */
    int declines;        /* how many times inputs were declined for `otherwise` */
    uint64_t declined[DECLINED]; /* hashes of the last ones: they go there at once */
} Program;

#endif
