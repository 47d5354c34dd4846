/* Entry: one specialisation of one position of a code object. */
#ifndef UFUSE_ENTRY_H
#define UFUSE_ENTRY_H

#include <Python.h>
#include <stdbool.h>

#include "guards/guards.h"
#include "guards/recipe.h"
#include "python/state.h"

typedef struct {
    PyObject_HEAD
    GuardProgram *guards; /* owned */
    Recipe *recipe;       /* owned */
    PyObject *artefact;   /* owned, or NULL where nothing is computed */
    PyObject *position;   /* owned; any object, for Python */
    PyObject *data;       /* owned; any object, for Python */
    int32_t *inputs;      /* owned */
    int32_t *slots;       /* owned; the registers of the new state, -1 for NULL */
    Py_ssize_t n_inputs;
    Py_ssize_t n_slots;
    Py_ssize_t resume_at; /* -1: the frame returns */
    Py_ssize_t handled;   /* of the state it resumes with; AS_IT_BEGAN: that of the one it got */
    Py_ssize_t n_outputs;
    Py_ssize_t least_state; /* a state with fewer slots is not one of this entry's */
    Py_ssize_t n_appended;  /* registers behind the state's: loads, outputs, recipe */
    int32_t result;         /* the register the frame returns */
    bool inputs_in_order;   /* the inputs are registers 0, 1, 2, … */
    bool may_return_output; /* true: when `result` is the output, it is the frame's result as it is
                             */
    bool valid;
    long long hits;
    long long declined; /* runs that ended in plain Python */
} Entry;

/*
 * The registers of one pass through the loop. The state's are borrowed unless `owns_state`; the
 * rest are owned.
 */
enum { USUAL_REGISTERS = 32 };
typedef struct {
    PyObject **values;
    Py_ssize_t n_state;
    Py_ssize_t n_locals; /* of the frame: the state's registers before its stack's */
    Py_ssize_t n_used;   /* behind this, `values` is not initialised */
    Py_ssize_t capacity;
    bool owns_state;
    PyObject *usual[USUAL_REGISTERS];
} Registers;

int registers_begin(Registers *registers, Py_ssize_t n_state);
void registers_end(Registers *registers);

/* What became of an entry that was run. */
typedef enum {
    RUN_RETURNED, /* the frame's result is known */
    RUN_RESUMES,  /* the frame goes on from a new state */
    RUN_DECLINED, /* the artefact wants plain Python; nothing visible has happened */
    RUN_RAISED,   /* an exception is set */
} RunOutcome;

extern PyTypeObject Entry_Type;
extern PyTypeObject Null_Type;

/* The one object that stands for an empty slot where Python sees a state. */
typedef struct {
    PyObject_HEAD
} NullObject;
extern NullObject Null_Object;
#define NULL_OBJECT ((PyObject *)&Null_Object)

bool entry_is_valid(Entry *entry);
int entry_matches(Entry *entry, Registers *registers);
RunOutcome entry_run(Entry *entry, Registers *registers, PyObject **result, FrameState **next);
PyObject *state_tuple(PyObject *const *values, Py_ssize_t count);
int Entry_Ready(void);

#endif
