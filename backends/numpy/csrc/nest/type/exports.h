/* What machine code of nests calls. */
#ifndef UFUSE_NEST_EXPORTS_H
#define UFUSE_NEST_EXPORTS_H

#include "nest/form/nest.h"

extern PyMethodDef nest_methods[];
int exports_begin(void);

#endif
