/* Products of matrices, and of a matrix and a vector; systems of equations: NumPy's own loops. */
#include "nest/called/products.h"

#include "nest/called/numpy_loops.h"
#include "loops/small.h"

enum { LEFT, RIGHT, RESULT, ARRAYS };
enum { MATMUL, DOT, SOLVE, SOLVE_VECTOR, INVERT }; /* as `nest_code/folds.py` numbers them */

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
 * Run a loop of LAPACK's. It says by a flag that the matrix has no inverse, of which NumPy makes an
 * error whatever the error state is: a doubt. NumPy ignores its other flags.
 */
static int
solves(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps)
{
    Status before = status_keep();
    status_clear();
    int result = nest_loop_over(loop, data, lengths, steps);
    bool is_invalid = (status_numbered(status_raw()) & STATUS_INVALID) != 0;
    status_put_back(before);
    return result != 0 || is_invalid;
}

/* The result of a system of equations, or an inverse. */
static int
linear(const Loop *loop, int64_t kind, int64_t *table)
{
    char **data = (char **)(table + 3);
    const npy_intp *row = (npy_intp *)(table + 3 + ARRAYS);
    const npy_intp *term = row + ARRAYS, *column = term + ARRAYS;
    const npy_intp lengths[3] = {1, table[0], table[2]};
    if (kind == INVERT) {
        char *both[2] = {data[LEFT], data[RESULT]};
        const npy_intp steps[6] = {0, 0, row[LEFT], term[LEFT], row[RESULT], column[RESULT]};
        return solves(loop, both, lengths, steps);
    }
    if (kind == SOLVE_VECTOR) {
        const npy_intp steps[7] = {0, 0, 0, row[LEFT], term[LEFT], term[RIGHT], row[RESULT]};
        return solves(loop, data, lengths, steps);
    }
    const npy_intp steps[9] = {
        0, 0, 0, row[LEFT], term[LEFT], term[RIGHT], column[RIGHT], row[RESULT], column[RESULT]};
    return solves(loop, data, lengths, steps);
}

/*
 * A product over a space of rows, terms and columns. `table`: the lengths of these axes, the data
 * of both operands and of the result, and for each axis the steps of all three; 0 where an array
 * has none. DOT: as `np.dot` has it, which copies what has gaps, adds the product of one number to
 * no zero, and has BLAS multiply a column by a row, which warns of infinities. SOLVE: the left
 * matrix times the result is the right one. Returns 1 for a doubt.
 */
int
nest_matmul(const Loop *loop, int64_t kind, int64_t *table)
{
    const int64_t rows = table[0], terms = table[1], columns = table[2];
    if (rows == 0 || terms == 0 || columns == 0) {
        return 1;
    }
    char **data = (char **)(table + 3);
    const npy_intp *row = (npy_intp *)(table + 3 + ARRAYS);
    const npy_intp *term = row + ARRAYS, *column = term + ARRAYS;
    const npy_intp itemsize = number_bytes(loop->types[0]);
    if (kind >= SOLVE) {
        return linear(loop, kind, table);
    }
    if (kind == DOT && terms == 1 &&
        (rows == 1 || columns == 1 || !are_finite(loop, data[LEFT], rows, row[LEFT]) ||
         !are_finite(loop, data[RIGHT], columns, column[RIGHT]))) {
        return 1;
    }
    if (kind == DOT && !(is_whole(rows, terms, row[LEFT], term[LEFT], itemsize) &&
                         is_whole(terms, columns, term[RIGHT], column[RIGHT], itemsize))) {
        return 1;
    }
    const npy_intp lengths[4] = {1, rows, terms, columns};
    npy_intp steps[9] = {
        0, 0, 0, row[LEFT], term[LEFT], term[RIGHT], column[RIGHT], row[RESULT], column[RESULT]};
    if (kind == MATMUL) { /* NumPy makes these steps 0, and its loop looks at them */
        const npy_intp along[6] = {rows, terms, terms, columns, rows, columns};
        for (int i = 0; i < 6; i++) {
            steps[3 + i] = along[i] == 1 ? 0 : steps[3 + i];
        }
    }
    return nest_loop_over(loop, data, lengths, steps);
}
