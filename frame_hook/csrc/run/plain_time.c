#include "run/plain_time.h"

/* The longest time that is counted at once; a sum of many does not overflow. */
static const long long MOST_NS = 3600LL * 1000000000;

/*
 * How many turns the artefact of an entry has run so far, its attribute `turns`; 0 where it has
 * none. Runs no code of the program's. Sets no exception, and none may be set.
 */
long long
entry_turns(const Entry *entry)
{
    PyObject *turns = PyObject_GetAttrString(entry->artefact, "turns");
    long long count = turns == NULL ? 0 : PyLong_AsLongLong(turns);
    Py_XDECREF(turns);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return count;
}

/* An entry has run so many turns. */
void
plain_time_add(const Entry *entry, long long turns)
{
    long long most = MOST_NS / entry->turn_ns;
    ufuse_thread.plain_ns += turns > 0 ? (turns < most ? turns : most) * entry->turn_ns : 0;
}
