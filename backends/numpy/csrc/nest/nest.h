/*
 * A nest: machine code that runs turns of a loop over a range, as transactions. The laws:
 *
 * 1. What the program can see is its state before a turn, with every turn before that done, and
 *    none of those behind.
 * 2. A turn in doubt is undone, and left to plain Python: an index out of range, an integer that
 *    does not fit, a floating-point flag that the error state does not ignore.
 * 3. From saving to committing or restoring no Python code runs, and no other thread's.
 * 4. A turn in which the loop is left by an exit is a turn that was done.
 */
#ifndef UFUSE_NEST_H
#define UFUSE_NEST_H

#include <time.h>

#include "nest/pending.h"
#include "scalars/scalars.h"

static inline double
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum {
    MOST_SLOTS = 128,
    MOST_MEMORIES = 1024,
    MOST_LENGTHS = 6,
    MOST_COLUMNS = 8,
    MOST_KINDS = 4,
    MOST_EXITS = 64
};

/* The columns of a list that gets arrays. */
enum { ELEMENTS, LENGTHS, OF_ARRAYS };

/* Of what array a temporary is given back as a view: one like it; one whose only column it is. */
enum { WITHIN_ARRAY = 1, WITHIN_COLUMN };

/* Numbers: Python's or NumPy's the first three, then NumPy's only. */
#define NUMBER_SLOTS(X)                                                                            \
    X(FLOAT, "float", NPY_DOUBLE)                                                                  \
    X(INT, "int", NPY_LONG)                                                                        \
    X(BOOL, "bool", NPY_BOOL)                                                                      \
    X(FLOAT32, "float32", NPY_FLOAT)                                                               \
    X(INT32, "int32", NPY_INT)                                                                     \
    X(INT16, "int16", NPY_SHORT)                                                                   \
    X(INT8, "int8", NPY_BYTE)                                                                      \
    X(UINT64, "uint64", NPY_ULONG)                                                                 \
    X(UINT32, "uint32", NPY_UINT)                                                                  \
    X(UINT16, "uint16", NPY_USHORT)                                                                \
    X(UINT8, "uint8", NPY_UBYTE)

typedef enum {
    SLOT_RESULT = -2, /* an array that a whole call gives; it has no object before */
    SLOT_NUMBER = -1, /* a number that it gives */
    SLOT_ARRAY,
#define NAMED(NAME, TEXT, TYPE) SLOT_##NAME,
    NUMBER_SLOTS(NAMED)
#undef NAMED
        SLOT_COMPLEX, /* a number of two cells */
    SLOT_RANGE,
    SLOT_FORWARDS,  /* the iterator of an array, a list or a tuple */
    SLOT_BACKWARDS, /* the same, `reversed` */
    SLOT_COUNT,     /* an enumerate: its count alone */
    SLOT_PRODUCT,   /* of itertools: over several axes, of which the last turns first */
    SLOT_FLAT,      /* NumPy's flatiter: the same over an array */
    SLOT_ONCE,      /* no object: the only turn is a whole call of a function */
    SLOT_GROWN,     /* a list that grows */
    SLOT_GENERATOR, /* of random numbers */
    SLOT_MEMBER,    /* an item of a list of objects: its index */
    SLOT_OBJECT,    /* an object that is no item of a list of objects: law 2 of members.c */
    SLOT_KEYS       /* a dict or set of whole numbers */
} SlotKind;

/* Numbers of a list that grows: in which temporary, and what they all are. */
typedef struct {
    int memory;
    SlotKind item;
    bool numpy;
} NestColumn;

/* One of the objects that a nest is called with. */
typedef struct {
    SlotKind kind;
    int cells;      /* how many it has */
    bool changed;   /* of an array: written; of a list's numbers too; of a result: true */
    bool made;      /* a number that the nest makes: its object is any, and not looked at */
    bool rebound;   /* of an array: it has a cell, the number of the array that the variable is */
    bool viewed;    /* of an array that is rebound: it may be a view, and has cells for its place */
    int type, axes; /* of an array; two axes of one that is listed: of a table */
    int itemsize;   /* of an array */
    bool listed;    /* an array of the numbers of a list, a tuple or a table, made for each call */
    SlotKind item;  /* of these, with `numpy`: what they all are; of a list that is a result, too */
    bool numpy;
    int iterator;   /* the slot of the one that goes over them: those that come next; -1: all */
    int memory;     /* where they lie */
    bool objects;   /* a list of objects of one class, of which the length alone is read */
    bool apart;     /* of such a list: law 2 of members.c */
    bool is_list;   /* a result that is a new list of the elements of an array, as are keys */
    int container;  /* of such: what is made of these elements as keys, as keys.c has it */
    SlotKind value; /* what keys lead to, with `numpy_value`; SLOT_ARRAY: nothing */
    bool numpy_value;
    int origin; /* the slot of a list of which keys are items; -1: none are */
    int index,
        values;       /* of SLOT_KEYS: temporaries, as `memory` is for its keys; values -1: a set */
    bool pairs;       /* of these: keys are tuples of two ints */
    int places;       /* of these: a temporary, of which items of `origin` keys are; -1: of none */
    bool entered;     /* of these: the nest changes them */
    bool asked;       /* of these: calls have looked for keys */
    Py_ssize_t width; /* of such a list of plain tuples: how many items each has, else 0 */
    PyObject *lacked; /* of such a list: a tuple of names of attributes that no item has itself */
    PyObject
        *nothing;   /* of such a list: a tuple of names of attributes that are None in all items */
    int attributes; /* of such a list: how many slots are attributes of its items */
    PyObject *attribute; /* the name of such an attribute, which the slot has of all; or NULL */
    Py_ssize_t field;    /* the place of that among the items of named tuples; -1: it is no field */
    bool stacked;        /* the attributes are arrays, which the slot has one behind another */
    bool in_place;       /* of these: what is written is written into them, too */
    int marked;          /* of these: the slot that marks items which get a new one; -1: none do */
    bool marks;          /* such a slot, which is that of a list of bools */
    int owner;           /* of an attribute, or a local that is an item: the slot of the list */
    int within; /* of a temporary: WITHIN_ARRAY, WITHIN_COLUMN, or 0: it is an array itself */
    /* Of a list that grows: what its items have; whether these are tuples; whether the columns
     * begin with what is in the list. */
    int columns;
    NestColumn column[MOST_COLUMNS];
    bool tuples, read;
    /* Of lists or dicts of rows, see rows.c, of whose items (`tuples`: these are) each has `width`
     * numbers: which of them are floats; whether the rows are sets; whether a dict leads to them.
     * Of SLOT_KEYS: `in_dict` says that a key leads to its own place. */
    bool has_rows, of_sets, in_dict;
    unsigned real_columns;
    int of_axes; /* of such a list that gets arrays: how many axes they have; else 0 */
    int kinds;   /* of a number that a whole call gives: how many it may be of */
    SlotKind one_of[MOST_KINDS];
} NestSlot;

/* What an array variable may be: for each axis that of the array and a step along it; or axis -1.
 */
typedef struct {
    int array, axes;
    int axis[MOST_LENGTHS];
    int64_t step[MOST_LENGTHS];
} NestView;

/* Memory of a nest's own: of a temporary, with its lengths, or scratch. Of the column of a list
 * that grows the second length is how many elements the list has; of a table the lengths are its
 * own; of a dict's or set's keys the second length is how many of them it has. */
typedef struct {
    char *data;
    int64_t capacity; /* bytes */
    int64_t length[MOST_LENGTHS];
} NestMemory;

/* Of an array that is written, where turns do not depend on each other: a turn touches only what is
 * along an axis at the place of an iterator, and `more`. */
typedef struct {
    int array, word; /* its number, and that of its first word */
    int axis;
    int slot, cell; /* of the iterator, and its first cell */
    long long more;
} NestPart;

/*
 * What a turn may write of an array: what is within all sides. A place is a sum of products of
 * cells and lengths, in each of which one cell at most is turning: each turn adds the same to it.
 */
enum { MOST_TERMS = 4, MOST_FACTORS = 2 };

typedef struct {
    bool is_length;
    int at, step;   /* a cell and that of what each turn adds, or -1; the word of a length */
    long long each; /* what each turn adds, where no cell has it */
} ReachFactor;

typedef struct {
    long long by;
    int factors;
    ReachFactor factor[MOST_FACTORS];
} ReachTerm;

typedef struct {
    long long more;
    bool turning;
    int terms;
    ReachTerm term[MOST_TERMS];
} ReachPlace;

typedef struct {
    int axis;
    ReachPlace least, most;
} ReachSide;

typedef struct {
    int array, sides; /* the number of its slot */
    ReachSide side[MOST_LENGTHS];
} NestBox;

/*
 * The machine code. `words`: for each array its address, lengths, and strides in bytes. `cells`:
 * for each number its value, a complex one's two parts, and whether it is NumPy's; for one that a
 * whole call gives twice the place of its kind, one more for NumPy's, and a value for each kind;
 * for each array that is rebound the number of an array, its own at first, or behind the
 * temporaries' that of a view; behind that of keys the number of what they lead to; for one that
 * may be a view MOST_LENGTHS places and lengths; of an iterator the next number or place, the step,
 * and how many turns are left; how many turns may begin. `memory`: the temporaries', then scratch.
 * Returns 0 with all cells stored; 1 for a doubt, with the last one stored; 1 + n with all cells
 * stored where the loop was left by exit n.
 */
typedef int NestFunction(int64_t *words, Register *cells, NestMemory *memory);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    NestFunction *function; /* NULL once garbage */
    PyObject *owner;        /* of the machine code */
    PyObject *tuned_owner;  /* of what came for it, or NULL */
    PyObject *tuner;        /* to be asked for that with (nest,); NULL where it was, or cannot be */
    int awaited;            /* answers of a tuner and of improvers */
    int leaves;             /* how often the GIL is still left to their threads */
    double left_at;         /* when it last was, in ns */
    /* Better machine code, or NULL. It takes arrays of which none that is written shares memory
     * with another; it may doubt too often, and raise flags too many: `function` decides then. */
    NestFunction *improved;
    PyObject *improved_owner;
    PyObject *improver;      /* to be asked for it with (nest,); NULL where it was, or cannot be */
    PyObject *next_improver; /* where what that gave is given up; or NULL */
    PyObject *shares;        /* a tuple: nests of loops inside that threads may share; or NULL */
    NestSlot *slot;
    NestSlot *temporary;
    NestMemory *memory;
    NestView *view;
    int views;
    int given; /* slots for which an object comes, the first ones */
    int slots, arrays, words, cells, written, rebound, outputs;
    int temporaries, memories; /* memories: with scratch, and numbers of lists */
    int lists, changing;       /* lists whose numbers are read; those that the nest changes */
    int keyed, entered;        /* dicts and sets; those of them that the nest changes */
    int tables;                /* of the former, those that are lists of lists */
    int apart;                 /* lists that are apart, and SLOT_OBJECTs; 0: law 2 says nothing */
    int generators;
    int iterators;
    int products; /* of these */
    int range,
        range_cell; /* the slot of the first iterator, and its first cell; -1: there is none */
    long long step; /* of the first iterator in the last call; 1 before */
    int exits;
    NestPart *part; /* for each array that is written; NULL where turns may depend on each other */
    NestBox *box;   /* for those arrays of which it is known what a turn writes */
    int boxes;
    bool is_lean;        /* a whole call that lean.c can take */
    double budget;       /* seconds that a call may take, about */
    bool takes_contents; /* true */
    /* What calls before have shown. */
    double usual_turns;    /* until the loop is left by an exit; 0: not known */
    double turn_ns;        /* 0: not known */
    double commit_ns;      /* of a chunk, however few turns it has; 0: not known */
    long long costly;      /* calls that were declined, as copying takes too long */
    double declined_at;    /* when the first turns were, of those before one was timed; or 0 */
    double size;           /* of what the last call was given, about */
    bool is_never_long;    /* a whole call: long ones are left to native code of its parts */
    double most_size;      /* of what a whole call may be given */
    int long_calls;        /* of these, less short ones */
    int64_t clean_turns;   /* chunks are as long where flags were raised lately; 0: none were */
    double between;        /* turns from one that is odd to the next, about; 0: unknown */
    int clean_calls;       /* in a row, with many more turns and no odd one */
    bool late;             /* better code looks at its doubts behind all turns of a chunk */
    bool after_odd;        /* the turn behind the last call was odd */
    int64_t skip, skipped; /* how many calls to decline still; how many, after the last failure */
    long long odd_at;      /* how many calls had run when the last one was odd, with that */
    double native_ns;      /* in machine code */
    double call_ns;        /* of calls that were timed, with saving and committing */
    long long saved_bytes; /* that were copied before chunks */
    int improved_cost;     /* of chunks of better code that were undone */
    long long runs, lean_runs, turns, doubts, improved_turns, shared_turns;
} Nest;

static inline bool
nest_is_whole_call(const Nest *nest)
{
    return nest->range >= 0 && nest->slot[nest->range].kind == SLOT_ONCE;
}

/* ranges.c */
typedef struct {
    int64_t next, step, left;
} Range;

int ranges_begin(void);
bool range_read(PyObject *object, Range *range);
void range_move(PyObject *object, int64_t left);

/* iterators.c */
int iterators_begin(void);
bool iterator_read(SlotKind kind, PyObject *object, Range *range);
void iterator_move(SlotKind kind, PyObject *object, int64_t turns);

/* grids.c */
int grids_begin(void);
bool grid_read(SlotKind kind, PyObject *object, Range *range);
int grids_prepare(const Nest *nest, PyObject *const *objects, PyObject **results);
void grids_drop(const Nest *nest, PyObject **results);
void grid_move(SlotKind kind, PyObject *object, int64_t turns, PyObject **result);

/* items.c */
int items_begin(void);
int64_t items_of(PyObject *object);
const Number *item_number(SlotKind item, bool numpy);
bool list_takes_too_long(Nest *nest, int64_t count, int64_t left);
bool saving_is_too_long(Nest *nest, size_t bytes, int64_t left);

/* arrays.c */
PyObject *owner_of_memory(PyArrayObject *array);
bool is_private(PyArrayObject *array);
bool array_fits(const NestSlot *slot, PyObject *object, int axes, bool written);

/* objects.c */
bool objects_read_arrays(const Nest *nest, PyObject *const *objects, int64_t *words);
bool objects_read_cells(const Nest *nest, PyObject *const *objects, Register *cells);
bool objects_read_lists(Nest *nest, PyObject *const *objects, Register *cells);
double objects_size(const Nest *nest, const int64_t *words, const Register *cells);
bool objects_clear_status(const Nest *nest, const Register *cells);
void objects_move(const Nest *nest, PyObject *const *objects, int64_t turns, PyObject **results);
bool slot_iterates(const NestSlot *slot);
bool objects_make(const Nest *nest, PyObject *const *objects, const Register *before,
                  const Register *after, PyObject **made);

/* generators.c: where their state lies, and the lock that everybody takes who draws. */
typedef struct {
    PyObject *lock;   /* NULL: not taken, or there is none, as Python's are under the GIL */
    void *bits;       /* a bitgen_t, which may be that of `own` */
    PyObject *object; /* borrowed: one of Python's, or NULL */
    struct {
        void *bits[5];
        double next;      /* what `gauss` gives next, */
        int64_t has_next; /* if there is such */
        void *legacy;     /* where a RandomState has the same */
    } own;
    int parts;
    struct {
        char *data;
        size_t bytes;
    } part[3];
} Generator;

int generators_begin(bool is_python);
int64_t nest_below(void *bits, int64_t count);
double nest_gauss(void *bits);
double nest_legacy_gauss(void *bits);
double nest_legacy_normal(void *bits, double mean, double deviation);
double nest_legacy_exponential(void *bits, double scale);
int seeding_begin(bool is_python);
int64_t nest_seed(void *bits, int64_t seed);
int64_t nest_legacy_seed(void *bits, int64_t seed);
int64_t nest_python_seed(void *bits, int64_t seed);
int generator_take(PyObject *object, Generator *one);
void generator_give(Generator *one);
int generators_take(const Nest *nest, PyObject *const *objects, Generator *generators);
void generators_give(const Nest *nest, Generator *generators);
void nest_draws(void *function, void *bits, int64_t inputs, double first, double second, double *to,
                int64_t count);

/* saved.c: the elements of arrays that are written, and where they lie. */
typedef struct {
    int arrays;
    size_t bytes; /* SIZE_MAX: more than there can be */
    size_t rowed; /* of these, those that are more, the more turns there are */
    char *memory; /* or NULL */
    size_t room;  /* bytes of that memory */
    struct SavedArray {
        Walk walk;
        npy_intp elements, itemsize;
    } *array;
    size_t spared; /* bytes of arrays that need no copy */
    int known;     /* those of them that are made again */
    struct KnownArray {
        char *data;
        size_t bytes;
        const char *equal; /* what it was; NULL: zeros */
    } *made;
} Saved;

void saved_add(Saved *saved, PyArrayObject *array);
void saved_add_box(Saved *saved, PyArrayObject *array, const npy_intp *first, const npy_intp *count,
                   bool turning);
void saved_add_vector(Saved *saved, char *data, int64_t count, int itemsize);
void saved_add_known(Saved *saved, char *data, size_t bytes, const char *equal);
const char *saved_copy(const Saved *saved, const char *data);
bool saved_take(Saved *saved);
void saved_restore(const Saved *saved);
void saved_drop(Saved *saved);

/* known.c: what the caller says of arrays that only a frame holds. */
typedef struct {
    const int32_t *contents; /* for each object; NULL: nothing is known */
    PyObject *const *objects;
    Py_ssize_t count; /* of the objects, with those that others equal */
} Known;

int known_read(const Nest *nest, PyObject *const *objects, Py_ssize_t count, PyObject *names,
               Known *known);
bool known_add(const Known *known, const Nest *nest, int number, Saved *saved);

/* reach.c: what a chunk of turns may write of an array. */
int reach_read(Nest *nest, PyObject *given);
bool reach_add(const Nest *nest, int number, PyArrayObject *array, const int64_t *words,
               const Register *cells, int64_t turns, Saved *saved);

/* tables.c */
bool changes_list(const NestSlot *slot);
int64_t slot_lists(const NestSlot *slot, PyObject *const *object, PyObject *const **lists);
int64_t slot_numbers(const Nest *nest, const NestSlot *slot, PyObject *object);
bool table_read(Nest *nest, const NestSlot *slot, PyObject *const *object, int64_t left);
void table_words(const Nest *nest, const NestSlot *slot, int64_t *words);
int64_t next_stored(const NestSlot *slot, const char *now, const char *before, int64_t from,
                    int64_t count);
bool lists_are_apart(const Nest *nest, PyObject *const *objects);

/* rows.c: lists of lists of several lengths. */
struct Addresses;
bool rows_read(Nest *nest, const NestSlot *slot, PyObject *object, int64_t left);
bool rows_have(const NestSlot *slot, PyObject *object, PyObject *one);
bool rows_among(const NestSlot *slot, PyObject *object, const struct Addresses *noted);

/* members.c: attributes of the items of lists of objects. */
bool members_fit(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left);
bool members_read(Nest *nest, const NestSlot *slot, PyObject *list);
PyObject **members_change(const NestSlot *slot, PyObject *list, const char *now, const char *before,
                          PyObject **next);
int64_t members_index(PyObject *list, PyObject *object);
PyObject *members_item(PyObject *list, int64_t index);
bool members_are_apart(const Nest *nest, PyObject *const *objects);

/* stacked.c: attributes of these that are arrays. */
bool stacked_read(Nest *nest, const NestSlot *slot, PyObject *list, int64_t left);
void stacked_words(const Nest *nest, const NestSlot *slot, int64_t *words);
int64_t stacked_elements(const Nest *nest, const NestSlot *slot);
bool stacked_marks(Nest *nest, const NestSlot *slot, PyObject *list);
PyObject *stacked_new(const Nest *nest, const NestSlot *slot, int64_t item);
bool stacked_is_new(const Nest *nest, const NestSlot *slot, int64_t item);
PyObject **stacked_change(const Nest *nest, const NestSlot *slot, PyObject *list, const char *now,
                          const char *before, PyObject **next);
bool stacked_are_apart(const Nest *nest, PyObject *const *objects);

/* lists.c */
bool lists_begin(Nest *nest, PyObject *const *objects, int64_t left);
void lists_undo(const Nest *nest, PyObject *const *objects);
PyObject *list_given(const Nest *nest, const NestSlot *slot, int64_t number);
bool lists_change(const Nest *nest, PyObject *const *objects, const Saved *saved);

/* chunks.c */
int64_t nest_patience(void);
int64_t nest_room(void);
PyObject *nest_vectorcall(PyObject *self, PyObject *const *objects, size_t count, PyObject *names);

/* improved.c */
NestFunction *improved_function(const Nest *nest, const int64_t *words);
bool arrays_are_apart(const Nest *nest, const int64_t *words);
bool improved_learn(Nest *nest, int64_t kept);
bool improved_is_quiet(const Nest *nest);
int improved_ask(Nest *nest);
double improved_budget(const Nest *nest);
PyObject *nest_tune(PyObject *self, PyObject *args);
PyObject *nest_improve(PyObject *self, PyObject *args);
PyObject *nest_answered(PyObject *self, PyObject *none);

/* own_memory.c */
int nest_grow(NestMemory *one, int64_t bytes);
int nest_extend(NestMemory *one, int64_t bytes);
void own_memory_drop(Nest *nest, size_t most);
PyObject *own_memory_array(const Nest *nest, int temporary);

/* keys.c */
int keys_begin(void);
int64_t nest_find(const int64_t *keys, int64_t count, NestMemory *index, int64_t key);
int64_t nest_enter(NestMemory *keys, NestMemory *index, NestMemory *column, NestMemory *words,
                   int64_t itemsize, int64_t count, int64_t key);
bool keys_fit(const Nest *nest, const NestSlot *slot);
PyObject *keys_given(const Nest *nest, const NestSlot *slot, PyObject *const *objects,
                     const Register *cells);

/* given_keys.c */
int64_t keys_held(const Nest *nest);
bool keys_begin_call(Nest *nest, PyObject *const *objects, int64_t left);
void keys_end_call(Nest *nest);
void keys_undo(const Nest *nest, PyObject *const *objects);
PyObject *keys_made(const Nest *nest, PyObject *const *objects);
bool keys_put(const Nest *nest, PyObject *const *objects, PyObject *made);
void keys_take_back(const Nest *nest, PyObject *const *objects, PyObject *made);
void keys_replace(const Nest *nest, PyObject *const *objects, PyObject *made);

/* numpy_loops.c */
int nest_loop_over(const Loop *loop, char **data, const npy_intp *lengths, const npy_intp *steps);
int nest_loop(const Loop *loop, char **data, int64_t count, const npy_intp *steps);
double nest_real(const Loop *loop, double first, double second, double third);
float nest_single(const Loop *loop, float first, float second, float third);
double nest_bare_real(const Loop *loop, double first, double second, double third);
float nest_bare_single(const Loop *loop, float first, float second, float third);
void nest_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize, int64_t count);
void nest_bare_batch(const Loop *loop, char *rows, int64_t row_bytes, int64_t itemsize,
                     int64_t count);
double nest_loop_time(const Loop *loop, int64_t itemsize, int64_t count);
int nest_keeps_flags(const Loop *loop, int is_single, double first, double second, double third);
extern PyMethodDef nest_methods[];

/* maps.c */
typedef struct NestMap NestMap;
int nest_map(const NestMap *map, int64_t *table, NestMemory *scratch);

/* reduce.c */
int nest_fold(const Loop *loop, char *result, char *items, npy_intp step, int64_t count);
int nest_reduce(const Loop *loop, int64_t axes, int64_t *table, NestMemory *scratch);

/* products.c */
int nest_matmul(const Loop *loop, int64_t kind, int64_t *table);

/* indexed.c */
int nest_take(int64_t axes, int64_t itemsize, int64_t *table);
int nest_put(int64_t axes, int64_t itemsize, int64_t *table);
int nest_position(int64_t type, int64_t is_least, int64_t *result, char *items, npy_intp step,
                  int64_t count);
int nest_positions(int64_t type, int64_t is_least, int64_t axes, int64_t folded, int64_t *table);

/* arranged.c */
int nest_scan(const Loop *loop, int64_t itemsize, int64_t *table);
int nest_nonzero(int64_t *table);
int nest_sort(int64_t type, int64_t axes, int64_t *table);
int nest_argsort(int64_t type, int64_t *table);

/* sharing.c */
extern PyMethodDef sharing_methods[];

/* helpers.c */
int helpers_begin(void);

/* nest.c */
int nest_begin(PyObject *module);

#endif
