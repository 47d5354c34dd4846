/* Memory for the totals of a run, taken before it. */
#ifndef UFUSE_KERNEL_TOTAL_MEMORY_H
#define UFUSE_KERNEL_TOTAL_MEMORY_H

#include "kernel/binding.h"

void list_totals(Run *run);
int total_memory(Binding *binding, bool exact);
void free_total_memory(Binding *binding);
void add_total_flags(Run *run, const Segment *segment);

#endif
