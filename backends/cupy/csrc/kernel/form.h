/* A kernel's operands and results, and how its launches follow from shapes and strides. */
#ifndef UFUSE_KERNEL_FORM_H
#define UFUSE_KERNEL_FORM_H

#include "device/queue.h"

enum { MOST_AXES = 32 };

/* How a kernel walks over the elements of arrays that are broadcast to one shape. */
typedef struct {
    int ndim; /* of that shape */
    Py_ssize_t shape[MOST_AXES];
    Py_ssize_t elements;
    int axes;  /* that are walked over, or 0: elements lie alike in all arrays */
    bool wide; /* indices of 64 bits */
    Py_ssize_t lengths[MOST_AXES];
    Py_ssize_t *steps; /* in elements: `MOST_AXES` for each array */
} Walk;

/* What all steps of a program's run share. */
typedef struct {
    int device;
    bool has_stream;
    intptr_t stream;
    Queue *queue;  /* where launches wait, or NULL: they do not */
    bool declines; /* a kernel would refuse arrays such as these again */
    Spare spare;
} Run;

/* An argument of a recorded launch: a place among operands, results and temporaries, or a value. */
typedef struct {
    int place; /* -1: `value` */
    Cell value;
} Argument;

typedef struct {
    Grid grid;
    PyObject *owner; /* keeps the function alive */
    int arguments;
    Argument *argument;
} RecordedLaunch;

typedef struct {
    PyObject *dtype;
    int ndim;
    Py_ssize_t *shape;
} RecordedResult;

/* The launches of a kernel for one device and one combination of shapes and strides. */
typedef struct {
    Py_ssize_t references;
    size_t words;
    Py_ssize_t *key;
    int results, temporaries, launches;
    RecordedResult *result;
    Py_ssize_t *temporary; /* bytes of each, rounded up */
    Py_ssize_t size;       /* of all temporaries */
    double bytes;          /* of results and temporaries */
    int arguments;         /* of all launches together */
    int is_aligned;        /* whether arrays have to begin at the multiples of their operands */
    RecordedLaunch *launch;
} Record;

/* A table is an array that elements are picked from; along an axis of an array a kernel counts. */
typedef enum {
    OPERAND_ARRAY,
    OPERAND_NUMBER,
    OPERAND_KNOWN,
    OPERAND_TABLE,
    OPERAND_AXIS
} OperandKind;

typedef struct {
    OperandKind kind;
    Py_ssize_t item;     /* of an array or a table: bytes of an element */
    Py_ssize_t multiple; /* what an aligned array's address is a multiple of; 0: of nothing */
    int axes;            /* of a table */
    int axis, behind;    /* the axis, and how many axes of the kernel's shape come behind it */
    PyObject *dtype;     /* of a number that varies */
    Cell value;          /* of a number that is known */
} Operand;

/*
 * How a map's threads walk: each takes `few` elements at once, or, with `columns`, of a row.
 * Columns say of each array which step it has along that, in two bits, and of none is 0; one bit
 * more says that those which are far are read as turned.py does.
 */
typedef struct {
    int axes, few;
    bool wide;
    uint64_t columns;
} Form;

typedef enum { COLUMN_NONE, COLUMN_ONE, COLUMN_NEAR, COLUMN_FAR } Column;

enum { COLUMN_BITS = 2, MOST_COLUMNS = 31 };

/* A compiled form of a map. */
typedef struct {
    Form form;
    int device;
    void *function;
    PyObject *owner;
} MapForm;

enum { RECORDS = 256 };

typedef struct {
    PyObject_HEAD
    int operands, arrays, results; /* arrays: also axes, but no tables; results: new arrays */
    int axes, rows;                /* operands that are axes; axes of all tables */
    Operand *operand;
    PyObject **dtype; /* of a map's results, or NULL */
    PyObject
        *maker; /* of a map: form(axes, wide, few, columns, device); else: record(arrays, device) */
    PyObject *condition;  /* called before each run of a program with it: whether it may; or NULL */
    int few, tile;        /* elements that a thread takes at once, or of a row, of at least */
    Py_ssize_t takes_few; /* so many in all */
    Py_ssize_t warps;     /* more than so many go down several rows */
    Py_ssize_t *room;     /* by array: the bytes that it takes when it is turned; 0: it is not so */
    int forms;
    MapForm *form;
    Record **record; /* by hash, or NULL */
} Kernel;

#endif
