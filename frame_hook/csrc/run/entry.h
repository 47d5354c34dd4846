/*
 * Entry: the compiled code for one position of a code object, under guards. An artefact (what a
 * backend made of the graph, any callable) computes the outputs; a recipe builds objects around
 * them and carries out the program's writes; the ending returns from the frame or resumes it.
 */
#ifndef UFUSE_ENTRY_H
#define UFUSE_ENTRY_H

#include <Python.h>
#include <stdbool.h>

#include "guards/guards.h"
#include "guards/recipe.h"
#include "python/state.h"
#include "run/registers.h"

/* A state from which a frame goes on. */
typedef struct {
    int32_t *slots; /* owned; the registers of the new state, -1 for NULL */
    Py_ssize_t n_slots;
    Py_ssize_t position;
    Py_ssize_t handled; /* of the new state, or AS_BEFORE */
    PyObject *contents; /* owned; of the new state, or NULL */
    bool copies;        /* some of these say that an array equals another */
} Resuming;

typedef struct {
    PyObject_HEAD
    GuardProgram *guards; /* owned */
    Recipe *recipe;       /* owned */
    PyObject *artefact;   /* owned, or NULL where nothing is computed */
    PyObject *position;   /* owned; any object, for Python */
    PyObject *data;       /* owned; any object, for Python */
    int32_t *inputs;      /* owned */
    Py_ssize_t n_inputs;
    Resuming *resuming;    /* owned; the ways to go on; NULL: the frame returns */
    Py_ssize_t n_resuming; /* of several, what to take is in a register, or the last output */
    int32_t condition;     /* the register whose truth chooses one of two ways to go on, or -1 */
    Py_ssize_t n_outputs;
    Py_ssize_t least_state; /* a state with fewer slots is not one of this entry's */
    Py_ssize_t n_appended;  /* registers behind the state's: loads, outputs, recipe */
    int32_t result;         /* the register the frame returns */
    bool inputs_in_order;   /* the inputs are registers 0, 1, 2, … */
    bool may_return_output; /* nothing comes between the only output and the frame's result */
    bool valid;
    int expects;  /* sides of branches that it takes for granted; where one is not, it declines */
    bool is_loop; /* the artefact runs turns of a loop, and declines where it cannot */
    long long turn_ns;   /* what such a turn takes plain Python, about; 0: not known */
    int magnitude;       /* of the call in which that was found */
    bool takes_contents; /* the artefact may be told what is known of arrays: see `call_knowing` */
    PyObject *known_of;  /* owned; the last state's `contents`, or NULL */
    PyObject *known;     /* owned; what the artefact was told then */
    bool known_copies;   /* that arrays equal others, too */
    long long hits;
    long long asks_after; /* so many more runs: then the session may make a longer one; 0: never */
    long long were_true;  /* of the conditions of a branch at its end */
    long long were_false;
    long long declined; /* runs whose artefact returned NotImplemented */
} Entry;

/* What became of an entry that was run. */
typedef enum {
    RUN_RETURNED, /* the frame's result is known */
    RUN_RESUMES,  /* the frame goes on from a new state */
    RUN_DECLINED, /* the frame is to be interpreted; there was no effect */
    RUN_RAISED,   /* an exception is set */
} RunOutcome;

bool entry_is_valid(Entry *entry);
int entry_matches(Entry *entry, Registers *registers);
RunOutcome entry_run(Entry *entry, Registers *registers, PyObject **result, FrameState **next);
int entry_ready(void);

#endif
