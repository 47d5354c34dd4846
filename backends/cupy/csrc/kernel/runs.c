/* One run of a kernel: memory for results, arguments, launches on the current stream. */
#include "kernel/runs.h"

#include "kernel/numbers.h"
#include "kernel/records.h"
#include "kernel/walk.h"

enum { BLOCK = 128, MOST_BLOCKS = 2147483647, LOAD = 16, WARP = 32 };

enum { FAR_BLOCK = 256, DEEP = 4, NEAR = 8 };  /* as tiles.py has them */
enum { FEW_TURNED = 4, MOST_ROOM = 17 << 10 }; /* as turned.py does */

/* As a view: an array of `length` elements, each of which is where it is, and of axes behind. */
static DeviceView
counted(Py_ssize_t length, int behind, Py_ssize_t *numbers)
{
    DeviceView view = {.ndim = behind + 1, .shape = numbers, .strides = numbers + behind + 1};
    for (int i = 0; i <= behind; i++) {
        numbers[i] = i == 0 ? length : 1;
        numbers[behind + 1 + i] = i == 0;
    }
    return view;
}

/* The lengths of a table's axes, each with how many elements apart its elements are. */
static bool
read_table(const Operand *operand, const DeviceView *view, Py_ssize_t *row)
{
    for (int axis = 0; axis < operand->axes; axis++) {
        Py_ssize_t length = view->shape[axis], stride = length == 1 ? 0 : view->strides[axis];
        if (length == 0 || stride % operand->item != 0) {
            return false;
        }
        row[2 * axis] = length;
        row[2 * axis + 1] = stride / operand->item;
    }
    return true;
}

/* What `read_operands` fills besides cells. */
typedef struct {
    DeviceView *views; /* of arrays and axes */
    Py_ssize_t *items;
    Py_ssize_t *numbers; /* of axes: `2 * MOST_AXES` for each */
    Py_ssize_t *rows;    /* of tables: lengths and steps */
} Given;

/* The view of one array, table or axis. */
static bool
read_view(const Operand *operand, PyObject *array, Given *given, Cell *cell)
{
    DeviceView view;
    if (array == NULL || !view_of(array, &view)) {
        return false;
    }
    *cell = cell_of_word(view.data);
    if (operand->kind == OPERAND_TABLE) {
        if (view.ndim != operand->axes || !read_table(operand, &view, given->rows)) {
            return false;
        }
        given->rows += 2 * operand->axes;
        return true;
    }
    *given->items = operand->item;
    if (operand->kind == OPERAND_AXIS) {
        if (operand->axis >= view.ndim) {
            return false;
        }
        *given->items = 1;
        view = counted(view.shape[operand->axis], operand->behind, given->numbers);
        given->numbers += 2 * MOST_AXES;
    }
    *given->views = view;
    given->views++;
    given->items++;
    return true;
}

/* Views of the operands that are arrays, and in the cells their addresses and the numbers. */
static int
read_operands(const Kernel *self, PyObject *const *operands, Given given, Cell *cells)
{
    for (int i = 0; i < self->operands; i++) {
        const Operand *operand = &self->operand[i];
        if (operand->kind == OPERAND_KNOWN) {
            cells[i] = operand->value;
        }
        else if (operand->kind == OPERAND_NUMBER) {
            if (pack_number(operands[i], operand->dtype, &cells[i]) < 0) {
                return -1;
            }
        }
    }
    /* Numbers may have run Python code: arrays are looked at behind it. */
    for (int i = 0; i < self->operands; i++) {
        OperandKind kind = self->operand[i].kind;
        if (kind == OPERAND_NUMBER || kind == OPERAND_KNOWN) {
            continue;
        }
        if (!read_view(&self->operand[i], operands[i], &given, &cells[i])) {
            refuse("an operand is no array on a device, or not as the kernel reads it");
            return -1;
        }
    }
    return 0;
}

/* The stream of a run, asked for once. */
int
find_stream(Run *run)
{
    if (!run->has_stream && current_stream(run->device, &run->stream) < 0) {
        return -1;
    }
    run->has_stream = true;
    return 0;
}

/* Launch now, or behind what waits. */
static int
put_launch(Run *run, const Grid *grid, void **arguments, int count)
{
    if (run->queue != NULL) {
        queue_launch(run->queue, grid, arguments, count);
        return 0;
    }
    return find_stream(run) < 0 ? -1 : launch(grid, arguments, run->device, run->stream);
}

/*
 * Have room for launches that wait, with so many arguments in all, before memory is made for them;
 * the program has made room for that memory.
 */
static int
reserve(Run *run, int launches, int arguments, double bytes)
{
    if (run->queue == NULL) {
        return 0;
    }
    run->queue->bytes += bytes;
    return queue_reserve(run->queue, launches, arguments, 0);
}

/*
 * Let results go where a run fails: behind the launches that wait, as their memory may be what
 * these have let go. Other threads may launch on the same stream before them.
 */
static void
drop(Run *run, PyObject **results, int count)
{
    for (int i = 0; i < count; i++) {
        PyObject *result = results[i];
        results[i] = NULL;
        if (result != NULL && run->queue != NULL && run->queue->launches > 0) {
            queue_keep(run->queue, result);
        }
        else {
            Py_XDECREF(result);
        }
    }
}

/* Whether elements of so many bytes can be taken `few` at once from an address. */
static bool
is_aligned(Cell address, Py_ssize_t item, int few)
{
    Py_ssize_t bytes = item * few < LOAD ? item * few : LOAD;
    return address.word % (uintptr_t)bytes == 0;
}

/* Whether a thread can take several elements at once. */
static bool
takes_packs(const Kernel *self, const Walk *walk, const Cell *cells)
{
    if (self->few == 1 || walk->axes > 0) {
        return false;
    }
    for (int i = 0; i < self->operands; i++) {
        const Operand *operand = &self->operand[i];
        if (operand->kind == OPERAND_ARRAY && !is_aligned(cells[i], operand->item, self->few)) {
            return false;
        }
    }
    for (int i = 0; i < self->results; i++) {
        Py_ssize_t item = (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)self->dtype[i]);
        if (!is_aligned(cells[self->operands + i], item, self->few)) {
            return false;
        }
    }
    return true;
}

/* The axis whose elements are a row; where elements lie alike in all arrays they are one. */
static int
last_axis(const Walk *walk)
{
    return walk->axes > 0 ? walk->axes - 1 : 0;
}

/* What kind of step an array has along a row. */
static Column
column_of(Py_ssize_t step)
{
    if (step == 0 || step == 1) {
        return step == 0 ? COLUMN_NONE : COLUMN_ONE;
    }
    return step >= -NEAR && step <= NEAR ? COLUMN_NEAR : COLUMN_FAR;
}

static const uint64_t HAS_COLUMNS = (uint64_t)1 << 63, IS_TURNED = (uint64_t)1 << 62;

static uint64_t
columns_of(const Walk *walk, int arrays, bool *is_far)
{
    uint64_t columns = HAS_COLUMNS;
    *is_far = false;
    for (int i = 0; i < arrays; i++) {
        Column column = column_of(walk->steps[i * MOST_AXES + last_axis(walk)]);
        columns |= (uint64_t)column << (COLUMN_BITS * i);
        *is_far = *is_far || column == COLUMN_FAR;
    }
    return columns;
}

/* How a map is launched. */
typedef struct {
    Form form;
    int block; /* threads of one */
    Py_ssize_t threads;
    Py_ssize_t tiles;  /* of a warp each, or of a block where arrays are turned */
    Py_ssize_t parts;  /* of a row, each for one warp */
    Py_ssize_t down;   /* where rows are far apart: how many there are, and each warp has one */
    Py_ssize_t deep;   /* else, rows that a warp goes down */
    Py_ssize_t pieces; /* and how many such there are along the axis of rows */
} Way;

/* What `turned_columns` of turned.py says: whether all that is far along a row is turned. */
static bool
is_turned(const Kernel *self, const Walk *walk, int few)
{
    int last = last_axis(walk);
    Py_ssize_t room = 0;
    if (few != FEW_TURNED || last < 1 || walk->lengths[last - 1] < WARP) {
        return false;
    }
    for (int i = 0; i < self->arrays; i++) {
        const Py_ssize_t *steps = &walk->steps[i * MOST_AXES];
        if (column_of(steps[last]) != COLUMN_FAR) {
            continue;
        }
        if (self->room[i] == 0 || steps[last - 1] != 1) {
            return false;
        }
        room += self->room[i];
    }
    return room <= MOST_ROOM;
}

/* What `Kernel._tiled` of launch.py says, in C: threads take `few` elements of rows. */
static void
put_rows(const Kernel *self, const Walk *walk, int few, Way *way)
{
    int axes = last_axis(walk) + 1;
    Py_ssize_t length = walk->lengths[axes - 1], rows = walk->elements / length;
    bool is_far;
    uint64_t columns = columns_of(walk, self->arrays, &is_far);
    way->form = (Form){.axes = axes, .few = few, .wide = walk->wide, .columns = columns};
    way->block = is_far ? FAR_BLOCK : BLOCK;
    way->parts = length / (few * WARP) + (length % (few * WARP) != 0);
    way->tiles = rows * way->parts;
    way->threads = way->tiles * WARP;
    if (is_far && is_turned(self, walk, few)) {
        Py_ssize_t height = walk->lengths[axes - 2];
        way->form.columns |= IS_TURNED;
        way->parts = (length - 1) / WARP + 1;
        way->deep = WARP;
        way->pieces = (height - 1) / WARP + 1;
        way->tiles = rows / height * way->pieces * way->parts;
        way->threads = way->tiles * FAR_BLOCK;
    }
    else if (axes > 1 && is_far) {
        way->down = rows;
    }
    else if (axes > 1) {
        Py_ssize_t height = walk->lengths[axes - 2], deep = way->tiles / self->warps;
        way->deep = deep < 1 ? 1 : deep > DEEP ? DEEP : deep;
        way->pieces = height / way->deep + (height % way->deep != 0);
        way->tiles = rows / height * way->pieces * way->parts;
        way->threads = way->tiles * WARP;
    }
}

/* What `Kernel._way` of launch.py says, in C. */
static Way
way_of(const Kernel *self, const Walk *walk, const Cell *cells)
{
    Way way = {.form = {.axes = walk->axes, .few = 1, .wide = walk->wide},
               .block = BLOCK,
               .threads = walk->elements};
    if (walk->elements < self->takes_few) {
        return way;
    }
    if (takes_packs(self, walk, cells)) {
        way.form.few = self->few;
        way.threads = walk->elements / self->few + (walk->elements % self->few != 0);
        return way;
    }
    Py_ssize_t length = walk->lengths[last_axis(walk)];
    int most = self->arrays <= MOST_COLUMNS ? self->tile : 1, few = most;
    while (few > 1 && length < (Py_ssize_t)few * WARP) {
        few /= 2;
    }
    if (few > 1) {
        put_rows(self, walk, few, &way);
    }
    else if (most > 1 && walk->elements >= (Py_ssize_t)most * WARP) {
        Py_ssize_t taken = (Py_ssize_t)most * WARP;
        way.form.few = most;
        way.threads = (walk->elements / taken + (walk->elements % taken != 0)) * WARP;
    }
    return way;
}

/* The columns of a form as a tuple of steps, -1 to -3 for those that vary. */
static PyObject *
columns_as_tuple(uint64_t columns, int arrays)
{
    Py_ssize_t steps[MOST_COLUMNS];
    int count = columns == 0 ? 0 : arrays;
    for (int i = 0; i < count; i++) {
        Column column = (Column)(columns >> (COLUMN_BITS * i) & 3);
        steps[i] = column > COLUMN_ONE ? COLUMN_ONE - (Py_ssize_t)column : (Py_ssize_t)column;
        steps[i] -= column == COLUMN_FAR && (columns & IS_TURNED) != 0;
    }
    return numbers_as_tuple(steps, count);
}

static bool
is_form(const Form *one, const Form *other)
{
    return one->axes == other->axes && one->wide == other->wide && one->few == other->few &&
           one->columns == other->columns;
}

/* The compiled form of a map; compiled by Python code the first time. */
static int
function_of(Kernel *self, const Form *form, int device, void **function)
{
    for (int i = 0; i < self->forms; i++) {
        const MapForm *made = &self->form[i];
        if (is_form(&made->form, form) && made->device == device) {
            *function = made->function;
            return 0;
        }
    }
    PyObject *columns = columns_as_tuple(form->columns, self->arrays);
    PyObject *owner = columns == NULL ? NULL
                                      : PyObject_CallFunction(self->maker, "iOiOi", form->axes,
                                                              form->wide ? Py_True : Py_False,
                                                              form->few, columns, device);
    Py_XDECREF(columns);
    PyObject *address = owner == NULL ? NULL : PyObject_GetAttrString(owner, "ptr");
    *function = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    MapForm *grown = NULL;
    if (*function != NULL || (address != NULL && !PyErr_Occurred())) {
        grown = PyMem_Resize(self->form, MapForm, (size_t)self->forms + 1);
    }
    if (grown == NULL) {
        Py_XDECREF(owner);
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        return -1;
    }
    self->form = grown;
    self->form[self->forms++] =
        (MapForm){.form = *form, .device = device, .function = *function, .owner = owner};
    return 0;
}

static void
put_index(Cell *cell, Py_ssize_t index, bool wide)
{
    *cell = cell_of_word(0);
    if (wide) {
        cell->wide = index;
    }
    else {
        cell->narrow = (int32_t)index;
    }
}

/*
 * The arguments behind operands and results, in the order of `Writer.parameters` of text.py; of
 * tiles.py, where threads take elements of rows.
 */
static int
put_walk(const Walk *walk, const Way *way, int arrays, Cell *cells)
{
    int count = 0, axes = way->form.axes, counted = axes;
    if (way->form.columns != 0) {
        const Py_ssize_t *length = &walk->lengths[axes - 1];
        put_index(&cells[count++], way->tiles, walk->wide);
        put_index(&cells[count++], length[0], walk->wide);
        if (axes > 1) {
            put_index(&cells[count++], length[-1], walk->wide);
        }
        if (axes > 1 && way->down > 0) {
            put_index(&cells[count++], way->down, walk->wide);
        }
        else if (axes > 1) {
            put_index(&cells[count++], way->parts, walk->wide);
            put_index(&cells[count++], way->deep, walk->wide);
            put_index(&cells[count++], way->pieces, walk->wide);
        }
        counted -= 2;
    }
    else {
        put_index(&cells[count++], walk->elements, walk->wide);
    }
    for (int axis = 1; axis < counted; axis++) {
        put_index(&cells[count++], walk->lengths[axis], walk->wide);
    }
    for (int i = 0; axes > 0 && i < arrays; i++) {
        for (int axis = 0; axis < axes; axis++) {
            put_index(&cells[count++], walk->steps[i * MOST_AXES + axis], walk->wide);
        }
    }
    return count;
}

/* How many arguments those are at most. */
static int
most_of_walk(const Walk *walk, int arrays)
{
    return 7 + (arrays + 1) * (last_axis(walk) + 1);
}

/* Launch a map, behind its results. What views point to may be gone: it is not read. */
static int
launch_map(Kernel *self, const Walk *walk, const Py_ssize_t *rows, Cell *cells, Run *run)
{
    int places = self->operands + self->results;
    Way way = way_of(self, walk, cells);
    int count = places + put_walk(walk, &way, self->arrays, cells + places);
    for (int i = 0; i < 2 * self->rows; i++) {
        put_index(&cells[count++], rows[i], true);
    }
    void *arguments[count];
    for (int i = 0; i < count; i++) {
        arguments[i] = &cells[i];
    }
    Py_ssize_t blocks = (way.threads + (way.block - 1)) / way.block;
    Grid grid = {.blocks = blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS,
                 .threads = (unsigned)(way.threads < way.block ? way.threads : way.block)};
    if (function_of(self, &way.form, run->device, &grid.function) < 0) {
        return -1;
    }
    return put_launch(run, &grid, arguments, count);
}

/* How many bytes a map's results have together. */
static double
bytes_of_results(const Kernel *self, Py_ssize_t elements)
{
    Py_ssize_t item = 0;
    for (int i = 0; i < self->results; i++) {
        item += (Py_ssize_t)PyDataType_ELSIZE((PyArray_Descr *)self->dtype[i]);
    }
    return (double)elements * (double)item;
}

static int
run_map(Kernel *self, PyObject *const *operands, Run *run, const bool *for_kernels,
        PyObject **results)
{
    int arrays = self->arrays, places = self->operands + self->results, axes = self->axes;
    DeviceView views[arrays + 1];
    Py_ssize_t items[arrays + 1], steps[(arrays + 1) * MOST_AXES];
    Py_ssize_t numbers[axes * 2 * MOST_AXES + 1], rows[2 * self->rows + 1];
    Cell cells[places + (arrays + 1) * MOST_AXES + 7 + 2 * self->rows];
    Walk walk = {.steps = steps};
    Given given = {.views = views, .items = items, .numbers = numbers, .rows = rows};
    if (read_operands(self, operands, given, cells) < 0 ||
        walk_over(views, items, arrays, &walk) < 0 ||
        reserve(run, 1, places + most_of_walk(&walk, arrays) + 2 * self->rows,
                bytes_of_results(self, walk.elements)) < 0) {
        return -1;
    }
    for (int i = 0; i < self->results; i++) {
        uintptr_t data = 0;
        results[i] = new_result(for_kernels[i], walk.ndim, walk.shape, self->dtype[i], run->device,
                                &run->spare, &data);
        if (results[i] == NULL) {
            drop(run, results, i);
            return -1;
        }
        cells[self->operands + i] = cell_of_word(data);
    }
    if (walk.elements > 0 && launch_map(self, &walk, rows, cells, run) < 0) {
        drop(run, results, self->results);
        return -1;
    }
    return 0;
}

/* The words that a record is found by: the device, shapes and strides; how many there are. */
size_t
put_key(const DeviceView *views, int arrays, int device, Py_ssize_t *key)
{
    size_t words = 0;
    key[words++] = device;
    for (int i = 0; i < arrays; i++) {
        key[words++] = views[i].ndim;
        for (int axis = 0; axis < views[i].ndim; axis++) {
            key[words++] = views[i].shape[axis];
            key[words++] = views[i].strides[axis];
        }
    }
    return words;
}

static size_t
hash_of(const Py_ssize_t *key, size_t words)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < words; i++) {
        hash = (hash ^ (uint64_t)key[i]) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return (size_t)(hash % RECORDS);
}

/* The operands that are arrays, as Python has them; views are made for it. */
static PyObject *
arrays_of(const Kernel *self, PyObject *const *operands)
{
    PyObject *arrays = PyList_New(self->arrays);
    int place = 0;
    for (int i = 0; arrays != NULL && i < self->operands; i++) {
        if (self->operand[i].kind != OPERAND_ARRAY) {
            continue;
        }
        PyObject *array = as_array(operands[i]);
        if (array == NULL) {
            Py_CLEAR(arrays);
        }
        else {
            PyList_SET_ITEM(arrays, place++, array);
        }
    }
    return arrays;
}

/* The record for a key, a new reference; made by Python code where there is none. */
static Record *
find_record(Kernel *self, PyObject *const *operands, const Py_ssize_t *key, size_t words)
{
    Record **place = &self->record[hash_of(key, words)];
    if (*place != NULL && (*place)->words == words &&
        memcmp((*place)->key, key, words * sizeof(*key)) == 0) {
        (*place)->references++;
        return *place;
    }
    PyObject *arrays = arrays_of(self, operands);
    PyObject *given =
        arrays == NULL ? NULL : PyObject_CallFunction(self->maker, "Oi", arrays, (int)key[0]);
    Py_XDECREF(arrays);
    Record *record = given == NULL ? NULL : record_of(given, key, words, self->operands);
    Py_XDECREF(given);
    if (record != NULL) {
        Record *before = *place;
        *place = record;
        record->references++;
        record_release(before);
    }
    return record;
}

/*
 * Results of a record, new references, and temporaries, all in one allocation, a new reference in
 * `*memory`, NULL where there are none; with their addresses.
 */
static int
make_memory(const Kernel *self, const Record *record, Run *run, const bool *for_kernels,
            Cell *cells, PyObject **results, PyObject **memory)
{
    Py_ssize_t offset = 0;
    uintptr_t data = 0;
    for (int i = 0; i < record->results; i++) {
        const RecordedResult *result = &record->result[i];
        results[i] = new_result(for_kernels[i], result->ndim, result->shape, result->dtype,
                                run->device, &run->spare, &data);
        if (results[i] == NULL) {
            return -1;
        }
        cells[self->operands + i] = cell_of_word(data);
    }
    if (record->temporaries == 0) {
        return 0;
    }
    *memory = spare_take(&run->spare, record->size, &data);
    if (*memory == NULL) {
        *memory = new_memory(record->size, &data);
    }
    for (int i = 0; *memory != NULL && i < record->temporaries; i++) {
        cells[self->operands + record->results + i] = cell_of_word(data + (uintptr_t)offset);
        offset += record->temporary[i];
    }
    return *memory == NULL ? -1 : 0;
}

static int
run_launches(const Record *record, Cell *cells, Run *run)
{
    for (int i = 0; i < record->launches; i++) {
        const RecordedLaunch *one = &record->launch[i];
        void *arguments[one->arguments + 1];
        for (int j = 0; j < one->arguments; j++) {
            const Argument *argument = &one->argument[j];
            arguments[j] =
                argument->place < 0 ? (void *)&argument->value : (void *)&cells[argument->place];
        }
        if (put_launch(run, &one->grid, arguments, one->arguments) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
run_record(const Kernel *self, const Record *record, Cell *operands, Run *run,
           const bool *for_kernels, PyObject **results)
{
    Cell cells[self->operands + record->results + record->temporaries + 1];
    PyObject *memory = NULL;
    memcpy(cells, operands, (size_t)self->operands * sizeof(Cell));
    int status = reserve(run, record->launches, record->arguments, record->bytes);
    if (status == 0) {
        status = make_memory(self, record, run, for_kernels, cells, results, &memory);
    }
    if (status == 0) {
        status = run_launches(record, cells, run);
    }
    uintptr_t data = memory == NULL ? 0 : (uintptr_t)cells[self->operands + record->results].word;
    if (status == 0 && memory != NULL && spare_put(&run->spare, memory, record->size, data)) {
        memory = NULL;
    }
    else if (status == 0 && memory != NULL && run->queue != NULL) {
        queue_keep(run->queue, memory);
    }
    else {
        /* Who is given the memory next works on the same stream, behind these launches. */
        Py_XDECREF(memory);
    }
    if (status < 0) {
        drop(run, results, record->results);
    }
    return status;
}

/* Whether a kernel may run now: -1 with an exception where not. Runs Python code. */
int
check_condition(const Kernel *self)
{
    if (self->condition == NULL) {
        return 0;
    }
    PyObject *answer = PyObject_CallNoArgs(self->condition);
    int is_so = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (is_so == 0) {
        refuse("it is not as it was when the kernel was planned");
    }
    return is_so == 1 ? 0 : -1;
}

/* Whether the arrays begin at the multiples that their operands have to. */
static bool
are_aligned(const Kernel *self, const Cell *cells)
{
    for (int i = 0; i < self->operands; i++) {
        Py_ssize_t multiple = self->operand[i].multiple;
        if (multiple > 0 && cells[i].word % (uint64_t)multiple != 0) {
            return false;
        }
    }
    return true;
}

static int
run_recorded(Kernel *self, PyObject *const *operands, Run *run, const bool *for_kernels,
             PyObject **results)
{
    int arrays = self->arrays;
    DeviceView views[arrays + 1];
    Py_ssize_t items[arrays + 1];
    Cell cells[self->operands + 1];
    Given given = {.views = views, .items = items};
    if (read_operands(self, operands, given, cells) < 0) {
        return -1;
    }
    size_t room = 1;
    for (int i = 0; i < arrays; i++) {
        room += 1 + 2 * (size_t)views[i].ndim;
    }
    Py_ssize_t key[room];
    size_t words = put_key(views, arrays, run->device, key);
    Record *record = find_record(self, operands, key, words);
    if (record == NULL) {
        return -1;
    }
    int status = -1;
    if (record->results != self->results) {
        PyErr_Format(PyExc_ValueError, "%d results, not %d", record->results, self->results);
    }
    else if (record->is_aligned && !are_aligned(self, cells)) {
        run->declines = true;
        refuse("an array begins elsewhere than the library reads neighbours at once");
    }
    else {
        status = run_record(self, record, cells, run, for_kernels, results);
    }
    record_release(record);
    return status;
}

/*
 * Run a kernel on its operands, borrowed; `results`, which begins empty, gets new arrays, of which
 * those for kernels alone are no arrays of CuPy's. Returns -1 with an exception and without
 * results: that of a refusal where nothing was launched. May run Python code, and lets other
 * threads run.
 */
int
kernel_run(Kernel *self, PyObject *const *operands, Run *run, const bool *for_kernels,
           PyObject **results)
{
    return self->record == NULL ? run_map(self, operands, run, for_kernels, results)
                                : run_recorded(self, operands, run, for_kernels, results);
}
