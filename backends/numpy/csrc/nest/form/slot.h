/* Slots: what a nest reads and writes of a frame. graph/nest.py describes them. */
#ifndef UFUSE_NEST_SLOT_H
#define UFUSE_NEST_SLOT_H

#include "scalars/scalars.h"

enum {
    MOST_SLOTS = 128,
    MOST_MEMORIES = 1024,
    MOST_LENGTHS = 6,
    MOST_COLUMNS = 8,
    MOST_KINDS = 4,
    MOST_EXITS = 64
};

/* The columns of a list that gets arrays. */
enum { ELEMENTS, LENGTHS, OF_ARRAYS };

/* Of what array a temporary is given back as a view: one like it; one whose only column it is. */
enum { WITHIN_ARRAY = 1, WITHIN_COLUMN };

/* Numbers: Python's or NumPy's the first three, then NumPy's only. */
#define NUMBER_SLOTS(X)                                                                            \
    X(FLOAT, "float", NPY_DOUBLE)                                                                  \
    X(INT, "int", NPY_LONG)                                                                        \
    X(BOOL, "bool", NPY_BOOL)                                                                      \
    X(FLOAT32, "float32", NPY_FLOAT)                                                               \
    X(INT32, "int32", NPY_INT)                                                                     \
    X(INT16, "int16", NPY_SHORT)                                                                   \
    X(INT8, "int8", NPY_BYTE)                                                                      \
    X(UINT64, "uint64", NPY_ULONG)                                                                 \
    X(UINT32, "uint32", NPY_UINT)                                                                  \
    X(UINT16, "uint16", NPY_USHORT)                                                                \
    X(UINT8, "uint8", NPY_UBYTE)

typedef enum {
    SLOT_RESULT = -2, /* an array that a whole call gives; it has no object before */
    SLOT_NUMBER = -1, /* a number that it gives */
    SLOT_ARRAY,
#define NAMED(NAME, TEXT, TYPE) SLOT_##NAME,
    NUMBER_SLOTS(NAMED)
#undef NAMED
        SLOT_COMPLEX, /* a number of two cells */
    SLOT_RANGE,
    SLOT_FORWARDS,  /* the iterator of an array, a list or a tuple */
    SLOT_BACKWARDS, /* the same, `reversed` */
    SLOT_COUNT,     /* an enumerate: its count alone */
    SLOT_PRODUCT,   /* of itertools: over several axes, of which the last turns first */
    SLOT_FLAT,      /* NumPy's flatiter: the same over an array */
    SLOT_ONCE,      /* no object: the only turn is a whole call of a function */
    SLOT_GROWN,     /* a list that grows */
    SLOT_GENERATOR, /* of random numbers */
    SLOT_MEMBER,    /* an item of a list of objects: its index */
    SLOT_OBJECT,    /* an object that is no item of a list of objects: law 2 of members.c */
    SLOT_KEYS       /* a dict or set of whole numbers */
} SlotKind;

/* Numbers of a list that grows: in which temporary, and what they all are. */
typedef struct {
    int memory;
    SlotKind item;
    bool numpy;
} NestColumn;

/* One of the objects that a nest is called with. */
typedef struct {
    SlotKind kind;
    int cells;      /* how many it has */
    bool changed;   /* of an array: written; of a list's numbers too; of a result: true */
    bool made;      /* a number that the nest makes: its object is any, and not looked at */
    bool rebound;   /* of an array: it has a cell, the number of the array that the variable is */
    bool viewed;    /* of an array that is rebound: it may be a view, and has cells for its place */
    int type, axes; /* of an array; two axes of one that is listed: of a table */
    int itemsize;   /* of an array */
    bool listed;    /* an array of the numbers of a list, a tuple or a table, made for each call */
    SlotKind item;  /* of these, with `numpy`: what they all are; of a list that is a result, too */
    bool numpy;
    int iterator;   /* the slot of the one that goes over them: those that come next; -1: all */
    int memory;     /* where they lie */
    bool objects;   /* a list of objects of one class, of which the length alone is read */
    bool apart;     /* of such a list: law 2 of members.c */
    bool is_list;   /* a result that is a new list of the elements of an array, as are keys */
    int container;  /* of such: what is made of these elements as keys, as keys.c has it */
    SlotKind value; /* what keys lead to, with `numpy_value`; SLOT_ARRAY: nothing */
    bool numpy_value;
    int origin; /* the slot of a list of which keys are items; -1: none are */
    int index,
        values;       /* of SLOT_KEYS: temporaries, as `memory` is for its keys; values -1: a set */
    bool pairs;       /* of these: keys are tuples of two ints */
    int places;       /* of these: a temporary, of which items of `origin` keys are; -1: of none */
    bool entered;     /* of these: the nest changes them */
    bool asked;       /* of these: calls have looked for keys */
    Py_ssize_t width; /* of such a list of plain tuples: how many items each has, else 0 */
    PyObject *lacked; /* of such a list: a tuple of names of attributes that no item has itself */
    PyObject
        *nothing;   /* of such a list: a tuple of names of attributes that are None in all items */
    int attributes; /* of such a list: how many slots are attributes of its items */
    PyObject *attribute; /* the name of such an attribute, which the slot has of all; or NULL */
    Py_ssize_t field;    /* the place of that among the items of named tuples; -1: it is no field */
    bool stacked;        /* the attributes are arrays, which the slot has one behind another */
    bool in_place;       /* of these: what is written is written into them, too */
    int marked;          /* of these: the slot that marks items which get a new one; -1: none do */
    bool marks;          /* such a slot, which is that of a list of bools */
    int owner;           /* of an attribute, or a local that is an item: the slot of the list */
    int within; /* of a temporary: WITHIN_ARRAY, WITHIN_COLUMN, or 0: it is an array itself */
    /* Of a list that grows: what its items have; whether these are tuples; whether the columns
     * begin with what is in the list. */
    int columns;
    NestColumn column[MOST_COLUMNS];
    bool tuples, read;
    /* Of lists or dicts of rows, see rows.c, of whose items (`tuples`: these are) each has `width`
     * numbers: which of them are floats; whether the rows are sets; whether a dict leads to them.
     * Of SLOT_KEYS: `in_dict` says that a key leads to its own place. */
    bool has_rows, of_sets, in_dict;
    unsigned real_columns;
    int of_axes; /* of such a list that gets arrays: how many axes they have; else 0 */
    int kinds;   /* of a number that a whole call gives: how many it may be of */
    SlotKind one_of[MOST_KINDS];
} NestSlot;

/* Whether it is an iterator, or what a whole call has in place of one. */
static inline bool
slot_iterates(const NestSlot *slot)
{
    return slot->kind >= SLOT_RANGE && slot->kind <= SLOT_ONCE;
}

#endif
