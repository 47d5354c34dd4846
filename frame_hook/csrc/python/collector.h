#ifndef UFUSE_COLLECTOR_H
#define UFUSE_COLLECTOR_H

int collector_ready(void);
void hold_off_collections(void);
void allow_collections(void);

#endif
