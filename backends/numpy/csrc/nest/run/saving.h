/* What the chunks of a call save, and how many turns are worth that. */
#ifndef UFUSE_NEST_SAVING_H
#define UFUSE_NEST_SAVING_H

#include "nest/run/call.h"

int64_t turns_expected(const Nest *nest, const Register *cells);
int64_t turns_usual(const Nest *nest, const Register *cells);
void save_written(Call *call, int64_t turns);
bool save_noted(Call *call);
int64_t save_chunk(Call *call, int64_t turns, double *saving);
bool forget_known(Call *call);

#endif
