/* Products of matrices, and of a matrix and a vector: NumPy's own loop of `np.matmul`. */
#include "nest/nest.h"

enum { LEFT, RIGHT, RESULT, ARRAYS };

static bool
has_no_gaps(int64_t rows, int64_t columns, npy_intp row_step, npy_intp column_step,
            npy_intp itemsize)
{
    return (columns == 1 || column_step == itemsize) &&
           (rows == 1 || row_step == columns * itemsize);
}

static bool
is_whole(int64_t rows, int64_t columns, npy_intp row_step, npy_intp column_step, npy_intp itemsize)
{
    return has_no_gaps(rows, columns, row_step, column_step, itemsize) ||
           has_no_gaps(columns, rows, column_step, row_step, itemsize);
}

/*
 * A product over a space of rows, terms and columns. `table`: the lengths of these axes, the data
 * of both operands and of the result, and for each axis the steps of all three; 0 where an array
 * has none. `is_dot`: as `np.dot` has it, which copies what has gaps. Returns 1 for a doubt.
 */
int
nest_matmul(const Loop *loop, int64_t is_dot, int64_t *table)
{
    const int64_t rows = table[0], terms = table[1], columns = table[2];
    if (rows == 0 || terms == 0 || columns == 0) {
        return 1;
    }
    char **data = (char **)(table + 3);
    const npy_intp *row = (npy_intp *)(table + 3 + ARRAYS);
    const npy_intp *term = row + ARRAYS, *column = term + ARRAYS;
    const npy_intp itemsize = number_bytes(loop->types[0]);
    if (is_dot != 0 && !(is_whole(rows, terms, row[LEFT], term[LEFT], itemsize) &&
                         is_whole(terms, columns, term[RIGHT], column[RIGHT], itemsize))) {
        return 1;
    }
    const npy_intp lengths[4] = {1, rows, terms, columns};
    const npy_intp steps[9] = {
        0, 0, 0, row[LEFT], term[LEFT], term[RIGHT], column[RIGHT], row[RESULT], column[RESULT]};
    return nest_loop_over(loop, data, lengths, steps);
}
