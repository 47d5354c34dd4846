/* The type of entries. */
#ifndef UFUSE_ENTRY_TYPE_H
#define UFUSE_ENTRY_TYPE_H

#include <Python.h>

#include "run/entry.h"

extern PyTypeObject Entry_Type;

int Entry_Ready(void);

#endif
