/* Launches that wait for those behind them, so that all are handed to the driver at once. */
#include "device/queue.h"

/* Room for so many more items of a size, at least twice what there was. */
static int
grow(void **items, int *room, int needed, size_t size)
{
    if (needed <= *room) {
        return 0;
    }
    int wanted = Py_MAX(needed, 2 * *room);
    void *grown = PyMem_Realloc(*items, (size_t)wanted * size);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *items = grown;
    *room = wanted;
    return 0;
}

/* Make room for so many more. What is put behind that always finds it. */
int
queue_reserve(Queue *queue, int launches, int cells, int objects)
{
    if (grow((void **)&queue->launch, &queue->room_of_launches, queue->launches + launches,
             sizeof(*queue->launch)) < 0 ||
        grow((void **)&queue->cell, &queue->room_of_cells, queue->cells + cells,
             sizeof(*queue->cell)) < 0 ||
        grow((void **)&queue->object, &queue->room_of_objects, queue->objects + objects,
             sizeof(*queue->object)) < 0) {
        return -1;
    }
    return 0;
}

/* Put a launch behind the others, with copies of its arguments, each a cell. */
void
queue_launch(Queue *queue, const Grid *grid, void *const *arguments, int count)
{
    Waiting *waiting = &queue->launch[queue->launches++];
    *waiting = (Waiting){.grid = *grid, .first = queue->cells, .count = count};
    queue->most_arguments = Py_MAX(queue->most_arguments, count);
    for (int i = 0; i < count; i++) {
        queue->cell[queue->cells++] = *(const Cell *)arguments[i];
    }
}

/* Keep an object, a reference that is taken, until what waits is launched: memory of theirs. */
void
queue_keep(Queue *queue, PyObject *object)
{
    queue->object[queue->objects++] = object;
}

/* Forget what waits, and drop what is kept. May run Python code. */
void
queue_forget(Queue *queue)
{
    queue->launches = queue->cells = queue->most_arguments = 0;
    queue->bytes = 0;
    while (queue->objects > 0) {
        Py_DECREF(queue->object[--queue->objects]);
    }
}

/* Free a queue in which nothing waits. Accepts NULL. */
void
queue_free(Queue *queue)
{
    if (queue != NULL) {
        PyMem_Free(queue->launch);
        PyMem_Free(queue->cell);
        PyMem_Free(queue->object);
        PyMem_Free(queue);
    }
}
