/* Results of a kernel. */
#ifndef UFUSE_KERNEL_RESULTS_H
#define UFUSE_KERNEL_RESULTS_H

#include "kernel/binding.h"

int bind_results(Binding *binding);
bool has_twin(const Binding *binding, int target);

#endif
