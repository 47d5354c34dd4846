/* Launches that wait, and their replay as one graph of CUDA's. */
#ifndef UFUSE_QUEUE_H
#define UFUSE_QUEUE_H

#include "device/device.h"

enum { LEAST_REPLAYED = 3 }; /* launches, of which fewer are no graph */

/* A launch that waits; its arguments are `count` cells of the queue's from `first` on. */
typedef struct {
    Grid grid;
    int first, count;
} Waiting;

typedef struct {
    int launches, cells, objects;
    int most_arguments; /* of a launch */
    int room_of_launches, room_of_cells, room_of_objects;
    Waiting *launch;
    Cell *cell;
    PyObject **object; /* owned: memory that a launch reads or writes */
    double bytes;      /* of the memory that was made for what waits */
} Queue;

typedef enum { REPLAY_NEVER, REPLAY_MEASURED, REPLAY_ALWAYS } ReplayMode;

/* One place in a program, from one step of CuPy's own to the next, and the graph of its launches.
 */
typedef struct {
    int launches, cells, device;
    intptr_t stream;
    Waiting *launch; /* of the last call; in an executable graph, what its nodes have */
    Cell *cell;
    void *graph, *executable; /* NULL: there is none */
    void **node;
    int seen;        /* calls in a row with the same functions, up to what is needed */
    int elsewhere;   /* calls in a row on other streams */
    int changes;     /* how often they were others */
    int tried[2];    /* calls that were timed: launched, replayed */
    int64_t best[2]; /* nanoseconds of the fastest */
    bool busy;       /* a thread is at it, perhaps without the GIL: no other may be */
    bool broken;     /* the driver refused: never again */
} Replay;

/* queue.c */
int queue_reserve(Queue *queue, int launches, int cells, int objects);
void queue_launch(Queue *queue, const Grid *grid, void *const *arguments, int count);
void queue_keep(Queue *queue, PyObject *object);
void queue_forget(Queue *queue);
void queue_free(Queue *queue);

/* replay.c */
int replay_use(PyObject *functions);
PyObject *replay_mode(PyObject *module, PyObject *name);
bool may_replay(void);
int launch_waiting(Queue *queue, Replay *replay, int device, intptr_t stream);
void replay_free(Replay *replay);
PyObject *replay_counts(PyObject *module, PyObject *none);

#endif
