/* `restore` and `suspend`: what resume code subscripts to move the state of its frame. */
#ifndef UFUSE_TRANSFERS_H
#define UFUSE_TRANSFERS_H

#include <Python.h>

int export_transfers(PyObject *module);

#endif
