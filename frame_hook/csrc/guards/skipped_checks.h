/* Rows whose check is skipped, as nothing they depend on has changed since they held. */
#ifndef UFUSE_SKIPPED_CHECKS_H
#define UFUSE_SKIPPED_CHECKS_H

#include "guards/guard_rows.h"

void note_guards_held(GuardProgram *guards, Py_ssize_t n_state, uint64_t epoch);
void stop_watching(GuardProgram *guards);

#endif
