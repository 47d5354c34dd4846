/* Keeping the cyclic garbage collector from running in the middle of our own work. */
#ifndef UFUSE_COLLECTOR_H
#define UFUSE_COLLECTOR_H

int collector_ready(void);
void hold_off_collections(void);
void allow_collections(void);

#endif
