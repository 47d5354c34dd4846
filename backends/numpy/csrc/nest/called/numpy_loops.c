/* Calls of NumPy's loops from machine code of nests. */
#include "nest/called/numpy_loops.h"

#include "nest/form/clock.h"

/* Whether NumPy's loop set an exception, which plain Python will raise itself. */
static bool
has_failed(const Loop *loop, int result)
{
    if (loop->fails && (result < 0 || PyErr_Occurred())) {
        PyErr_Clear();
        return true;
    }
    return result != 0;
}

/* A loop of NumPy's over a space, with all that it does to the flags. */
static inline int
bare_loop(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    return loop->quick != NULL ? loop->quick(loop, data, lengths[0], steps)
           : loop->strided != NULL
               ? loop->strided(loop->context, data, lengths, steps, loop->auxdata)
               : loop->function(data, lengths, steps, NULL);
}

/* A loop of NumPy's over a space, as it describes it itself. Some clear all flags at their end. One
 * that never fails needs no GIL. */
int
nest_loop_over(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    Status before = status_keep();
    int result = bare_loop(loop, data, lengths, steps);
    if (loop->raises) {
        status_add(before);
    }
    else {
        status_put_back(before);
    }
    return has_failed(loop, result);
}

/* A loop over `count` elements of strided memory. */
int
nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps)
{
    const npy_intp lengths[1] = {count};
    return nest_loop_over(loop, data, lengths, steps);
}

/* What a loop over reals gives for one element, as NumPy gives it a scalar's; the flags, too, are
 * left to it where it is `bare`. */
#define ELEMENT(NAME, REAL)                                                                        \
    static inline REAL NAME(const Loop *loop, REAL first, REAL second, REAL third, bool is_bare)   \
    {                                                                                              \
        REAL items[3] = {first, second, third}, result = 0;                                        \
        char *data[4] = {(char *)&items[0], (char *)&items[1], (char *)&items[2]};                 \
        const npy_intp lengths[1] = {1};                                                           \
        npy_intp steps[4] = {0, 0, 0, 0};                                                          \
        data[loop->inputs] = (char *)&result;                                                      \
        steps[loop->inputs] = sizeof result;                                                       \
        (is_bare ? bare_loop : nest_loop_over)(loop, data, lengths, steps); /* never fails */      \
        return result;                                                                             \
    }
ELEMENT(real_element, double)
ELEMENT(single_element, float)

double
nest_real(const Loop *loop, double first, double second, double third)
{
    return real_element(loop, first, second, third, false);
}

float
nest_single(const Loop *loop, float first, float second, float third)
{
    return single_element(loop, first, second, third, false);
}

double
nest_bare_real(const Loop *loop, double first, double second, double third)
{
    return real_element(loop, first, second, third, true);
}

float
nest_bare_single(const Loop *loop, float first, float second, float third)
{
    return single_element(loop, first, second, third, true);
}

/*
 * Whether flags that were raised before a loop over reals are so behind it, for one element: to
 * look at them takes longer than most functions, as the processor waits for all that it computes.
 * They are put back.
 */
int
nest_keeps_flags(const Loop *loop, int is_single, double first, double second, double third)
{
    if (!loop->raises) {
        return 0;
    }
    Status before = status_keep();
    status_raise(STATUS_SEEN);
    if (is_single) {
        nest_bare_single(loop, (float)first, (float)second, (float)third);
    }
    else {
        nest_bare_real(loop, first, second, third);
    }
    bool keeps = status_sse() == STATUS_SEEN;
    status_put_back(before);
    return keeps;
}

/* A loop over reals for `count` elements: rows of so many bytes, one for each operand, and one for
 * the results. */
static inline void
rows_loop(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize, int64_t count,
          bool is_bare)
{
    char *data[4];
    npy_intp steps[4];
    const npy_intp lengths[1] = {count};
    for (int row = 0; row <= loop->inputs; row++) {
        data[row] = rows + row * row_bytes;
        steps[row] = itemsize;
    }
    if (count > 0) {
        (is_bare ? bare_loop : nest_loop_over)(loop, data, lengths, steps); /* never fails */
    }
}

void
nest_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize, int64_t count)
{
    rows_loop(loop, rows, row_bytes, itemsize, count, false);
}

void
nest_bare_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize, int64_t count)
{
    rows_loop(loop, rows, row_bytes, itemsize, count, true);
}

/* The least time, in nanoseconds, that a loop of one operand takes for so many reals, all one half.
 * It is called with each result, so that calls follow from each other. */
double
nest_loop_time(const Loop *loop, int64_t itemsize, int64_t count)
{
    enum { ROUNDS = 24, CALLS = 64, BYTES = 64 };
    _Alignas(BYTES) char rows[2 * BYTES];
    Status before = status_keep();
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t began = now_ns();
        for (int i = 0; i < CALLS; i++) {
            for (int64_t at = 0; at < BYTES; at += itemsize) {
                if (itemsize == sizeof(double)) {
                    memcpy(rows + at, &(double){0.5}, sizeof(double));
                }
                else {
                    memcpy(rows + at, &(float){0.5f}, sizeof(float));
                }
            }
            nest_bare_batch(loop, rows, BYTES, itemsize, count);
        }
        double taken = (double)(now_ns() - began) / CALLS;
        least = taken < least ? taken : least;
    }
    status_put_back(before);
    return least;
}
