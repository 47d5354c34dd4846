/* The slots of a nest, read from their descriptions in Python: graph/nest.py. */
#include "nest/type/slots.h"

#include "nest/given/seeding.h"
#include "nest/containers/keys.h"

/* To copy an array of an item takes as long as to read so many numbers, about. */
enum { AS_NUMBERS = 5 };

/* The dtype and the axes of an array. 0, or -1 with an exception. */
int
set_type(NestSlot *slot, PyObject *given, PyObject *character, int most_axes)
{
    const char *text = PyUnicode_AsUTF8(character);
    if (text == NULL) {
        return -1;
    }
    bool known = text[0] != '\0' && text[1] == '\0' && strchr("?bBhHiIlLqQfdD", text[0]) != NULL;
    if (!known || slot->axes < 0 || slot->axes > most_axes) {
        PyErr_Format(PyExc_ValueError, "no array of a nest: %R", given);
        return -1;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(text[0]);
    if (descr == NULL) {
        return -1;
    }
    slot->kind = SLOT_ARRAY;
    slot->type = descr->type_num;
    slot->itemsize = (int)PyDataType_ELSIZE(descr);
    Py_DECREF(descr);
    return 0;
}

/* ("array", character of the dtype, axes, whether it is written, is rebound, may be a view). */
static int
read_array(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *character;
    int written, rebound = 0, viewed = 0;
    if (!PyArg_ParseTuple(given, "UUip|pp", &name, &character, &slot->axes, &written, &rebound,
                          &viewed) ||
        set_type(slot, given, character, MAX_AXES) < 0) {
        return -1;
    }
    slot->changed = written;
    slot->rebound = rebound;
    slot->viewed = rebound && viewed;
    self->arrays++;
    self->words += 1 + 2 * slot->axes;
    self->rebound += rebound;
    self->outputs += rebound;
    self->written += written;
    return 0;
}

/* The kind of number of a name; -1 with an exception. */
static int
number_kind(const char *name)
{
    static const char *const kinds[] = {
#define TEXT_OF(NAME, TEXT, TYPE) TEXT,
        NUMBER_SLOTS(TEXT_OF)
#undef TEXT_OF
    };
    for (int kind = 0; kind < (int)Py_ARRAY_LENGTH(kinds); kind++) {
        if (strcmp(kinds[kind], name) == 0) {
            return kind;
        }
    }
    PyErr_Format(PyExc_ValueError, "no number of a nest: %s", name);
    return -1;
}

/* ("grown", whether its items are tuples, whether it is read, of what axes arrays, or 0, for each
 * column (number of a temporary, what its numbers are, whether NumPy's)). */
static int
read_grown(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *columns;
    int tuples, read;
    if (!PyArg_ParseTuple(given, "UppiO!", &name, &tuples, &read, &slot->of_axes, &PyTuple_Type,
                          &columns)) {
        return -1;
    }
    slot->kind = SLOT_GROWN;
    slot->tuples = tuples;
    slot->read = read;
    Py_ssize_t count = PyTuple_GET_SIZE(columns);
    int axes = slot->of_axes;
    bool of_arrays = axes > 0 && axes <= MOST_LENGTHS && count == OF_ARRAYS && !tuples;
    if (count < 1 || count > MOST_COLUMNS || (count > 1 && !tuples && !of_arrays) ||
        ((tuples || of_arrays) && read) || (axes != 0 && !of_arrays)) {
        PyErr_Format(PyExc_ValueError, "no list of a nest: %R", given);
        return -1;
    }
    for (; slot->columns < count; slot->columns++) {
        NestColumn *column = &slot->column[slot->columns];
        const char *item;
        int numpy, kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(columns, slot->columns), "isp", &column->memory,
                              &item, &numpy) ||
            (kind = number_kind(item)) < 0) {
            return -1;
        }
        column->item = (SlotKind)(SLOT_FLOAT + kind);
        column->numpy = numpy;
    }
    self->changing++;
    return 0;
}

/* Have an array be made for each call. */
static void
add_listed(Nest *self, NestSlot *slot)
{
    slot->listed = true;
    slot->memory = self->lists++;
    self->arrays++;
    self->words += 1 + 2 * slot->axes;
}

/* Have a slot be numbers of a list, of a kind. */
static void
set_listed(Nest *self, NestSlot *slot, int kind, int numpy)
{
    static const int types[] = {
#define TYPE_OF(NAME, TEXT, TYPE) TYPE,
        NUMBER_SLOTS(TYPE_OF)
#undef TYPE_OF
    };
    slot->kind = SLOT_ARRAY;
    slot->numpy = numpy;
    slot->item = (SlotKind)(SLOT_FLOAT + kind);
    slot->type = types[kind];
    slot->itemsize = number_bytes(slot->type);
    add_listed(self, slot);
}

/* ("list", what its numbers are, whether NumPy's, the slot of the iterator that goes over it or
 * -1, whether it is written, its axes: two of a list of lists).
 */
static int
read_list(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name;
    const char *item;
    int numpy, kind, written = 0;
    slot->axes = 1;
    if (!PyArg_ParseTuple(given, "Uspi|pi", &name, &item, &numpy, &slot->iterator, &written,
                          &slot->axes) ||
        (kind = number_kind(item)) < 0) {
        return -1;
    }
    if (slot->axes < 1 || slot->axes > 2 || (slot->axes == 2 && slot->iterator >= 0)) {
        PyErr_Format(PyExc_ValueError, "no list of a nest: %R", given);
        return -1;
    }
    if (written && slot->iterator >= 0) {
        PyErr_Format(PyExc_ValueError, "a list that is gone over is not written: %R", given);
        return -1;
    }
    slot->changed = written;
    self->written += written;
    self->changing += written;
    self->tables += slot->axes == 2;
    set_listed(self, slot, kind, numpy);
    return 0;
}

/* ("rows", a character for each number of an item of a row, "i" or "f", whether the items are
 * tuples, whether the rows are sets, whether a dict leads to them). */
static int
read_rows(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name;
    const char *kinds;
    int tuples, of_sets, in_dict;
    if (!PyArg_ParseTuple(given, "Usppp", &name, &kinds, &tuples, &of_sets, &in_dict)) {
        return -1;
    }
    slot->width = (Py_ssize_t)strlen(kinds);
    if (slot->width != (Py_ssize_t)strspn(kinds, "if") || slot->width < 1 ||
        slot->width > MOST_COLUMNS || (slot->width > 1 && !tuples)) {
        PyErr_Format(PyExc_ValueError, "no rows of a nest: %R", given);
        return -1;
    }
    for (int i = 0; i < slot->width; i++) {
        slot->real_columns |= (unsigned)(kinds[i] == 'f') << i;
    }
    slot->has_rows = true;
    slot->tuples = tuples;
    slot->of_sets = of_sets;
    slot->in_dict = in_dict;
    slot->axes = 1;
    slot->iterator = -1;
    self->tables++;
    set_listed(self, slot, (slot->real_columns == 0 ? SLOT_INT : SLOT_FLOAT) - SLOT_FLOAT, 0);
    return 0;
}

/* Whether all items of a tuple are names. 0, or -1 with an exception. */
static int
check_names(PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i))) {
            PyErr_Format(PyExc_TypeError, "no names: %R", names);
            return -1;
        }
    }
    return 0;
}

/* ("objects", whether it is apart, tuples of the names of attributes that no item has itself, and
 * of those that are None in all, how many items each has where they are plain tuples or 0). The
 * slot is that of a list of bools, so that its length is where other lists' are; none is read. */
static int
read_objects(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *lacked, *nothing;
    int apart;
    if (!PyArg_ParseTuple(given, "UpO!O!n", &name, &apart, &PyTuple_Type, &lacked, &PyTuple_Type,
                          &nothing, &slot->width) ||
        check_names(lacked) < 0 || check_names(nothing) < 0) {
        return -1;
    }
    slot->objects = true;
    slot->axes = 1;
    slot->iterator = -1;
    slot->apart = apart;
    slot->lacked = Py_NewRef(lacked);
    slot->nothing = Py_NewRef(nothing);
    self->apart += apart;
    set_listed(self, slot, SLOT_BOOL - SLOT_FLOAT, 0);
    return 0;
}

/* Have a slot be an attribute of the items of a list of objects. 0, or -1 with an exception. */
static int
set_attribute(Nest *self, NestSlot *slot, PyObject *given, PyObject *attribute, int written)
{
    bool known = slot->owner >= 0 && slot->owner < slot - self->slot;
    NestSlot *owner = known ? &self->slot[slot->owner] : NULL;
    if (!known || !owner->objects || (written && !owner->apart) ||
        !PyUnicode_CheckExact(attribute) || (written && slot->field >= 0 && !slot->stacked)) {
        PyErr_Format(PyExc_ValueError, "no attribute of a list of objects: %R", given);
        return -1;
    }
    owner->attributes += slot->stacked ? AS_NUMBERS : 1;
    slot->iterator = -1;
    slot->changed = written;
    slot->attribute = Py_NewRef(attribute);
    self->written += written;
    self->changing += written;
    return 0;
}

/* ("attribute", what its numbers are, whether NumPy's, the slot of the list of objects, whether it
 * is written, its name, its place among the items of named tuples or -1). */
static int
read_attribute(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *attribute;
    const char *item;
    int numpy, kind, written;
    if (!PyArg_ParseTuple(given, "UspipUn", &name, &item, &numpy, &slot->owner, &written,
                          &attribute, &slot->field) ||
        (kind = number_kind(item)) < 0) {
        return -1;
    }
    slot->axes = 1;
    if (set_attribute(self, slot, given, attribute, written) < 0) {
        return -1;
    }
    set_listed(self, slot, kind, numpy);
    return 0;
}

/* ("arrays", character of the dtype, axes, the slot of the list of objects, whether they are
 * written, the name of the attribute, its place among the items of named tuples or -1). */
static int
read_stacked(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *character, *attribute;
    int written;
    if (!PyArg_ParseTuple(given, "UUiipUn", &name, &character, &slot->axes, &slot->owner, &written,
                          &attribute, &slot->field) ||
        set_type(slot, given, character, MOST_LENGTHS) < 0) {
        return -1;
    }
    slot->stacked = true;
    slot->in_place = written;
    slot->marked = -1;
    if (slot->axes < 2) {
        PyErr_Format(PyExc_ValueError, "no arrays of a nest: %R", given);
        return -1;
    }
    if (set_attribute(self, slot, given, attribute, written) < 0) {
        return -1;
    }
    add_listed(self, slot);
    return 0;
}

/* ("marks", the slot of arrays, which it marks where they are new, whether they are written in
 * place, too). It is that of a list of bools, which nobody has. */
static int
read_marks(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name;
    int in_place, place;
    if (!PyArg_ParseTuple(given, "Uip", &name, &place, &in_place)) {
        return -1;
    }
    NestSlot *arrays = place >= 0 && place < slot - self->slot ? &self->slot[place] : NULL;
    if (arrays == NULL || !arrays->stacked || !arrays->changed || arrays->marked >= 0 ||
        arrays->field >= 0) {
        PyErr_Format(PyExc_ValueError, "no arrays that are new: %R", given);
        return -1;
    }
    arrays->marked = (int)(slot - self->slot);
    arrays->in_place = in_place;
    slot->marks = slot->changed = true;
    slot->axes = 1;
    slot->iterator = -1;
    slot->attribute = Py_NewRef(arrays->attribute);
    self->written++;
    self->changing++;
    set_listed(self, slot, SLOT_BOOL - SLOT_FLOAT, 0);
    return 0;
}

/* The kind of numbers that a name is of; SLOT_ARRAY where it is none. */
static SlotKind
kind_named(PyObject *name)
{
    static const char *const kinds[] = {
#define TEXT_OF(NAME, TEXT, TYPE) TEXT,
        NUMBER_SLOTS(TEXT_OF)
#undef TEXT_OF
    };
    for (int kind = 0; name != NULL && kind < (int)Py_ARRAY_LENGTH(kinds); kind++) {
        if (PyUnicode_CompareWithASCIIString(name, kinds[kind]) == 0) {
            return (SlotKind)(SLOT_FLOAT + kind);
        }
    }
    return SLOT_ARRAY;
}

/* ("result", (a name of a kind of number, …)), or "array" or "view" alone; of a list behind "array"
 * what its items are, and whether they are NumPy's; of keys behind that which container of keys.c
 * they are of, the same of what they lead to, and the slot of the list that they are from, or -1.
 */
static int
read_result(Nest *self, NestSlot *slot, PyObject *given)
{
    static const char *const kinds[] = {
#define TEXT_OF(NAME, TEXT, TYPE) TEXT,
        NUMBER_SLOTS(TEXT_OF)
#undef TEXT_OF
            "array",
        "view"};
    enum { ARRAY = Py_ARRAY_LENGTH(kinds) - 2, VIEW };
    PyObject *name, *given_kinds, *item = NULL, *value = NULL;
    int numpy = 0, numpy_value = 0;
    slot->origin = -1;
    if (!PyArg_ParseTuple(given, "UO!|UpiUpi", &name, &PyTuple_Type, &given_kinds, &item, &numpy,
                          &slot->container, &value, &numpy_value, &slot->origin)) {
        return -1;
    }
    slot->item = kind_named(item);
    slot->value = kind_named(value);
    slot->numpy = numpy;
    slot->numpy_value = numpy_value;
    slot->is_list = slot->item != SLOT_ARRAY;
    slot->kinds = (int)Py_MIN(PyTuple_GET_SIZE(given_kinds), MOST_KINDS + 1);
    slot->kind = SLOT_NUMBER;
    slot->changed = true;
    bool known = slot->kinds > 0 && slot->kinds <= MOST_KINDS && slot->is_list == (item != NULL);
    for (int i = 0; known && i < slot->kinds; i++) {
        PyObject *text = PyTuple_GET_ITEM(given_kinds, i);
        int kind = 0;
        while (kind <= VIEW && (!PyUnicode_Check(text) ||
                                PyUnicode_CompareWithASCIIString(text, kinds[kind]) != 0)) {
            kind++;
        }
        known = kind < ARRAY || (kind <= VIEW && slot->kinds == 1);
        slot->kind = kind < ARRAY ? SLOT_NUMBER : SLOT_RESULT;
        slot->viewed = kind == VIEW;
        slot->one_of[i] = (SlotKind)(SLOT_FLOAT + kind);
    }
    if (slot->container != 0) {
        known = known && slot->kind == SLOT_RESULT && !slot->viewed && keys_fit(self, slot);
    }
    if (!known) {
        PyErr_Format(PyExc_ValueError, "no result of a nest: %R", given);
        return -1;
    }
    self->outputs++;
    return 0;
}

/* ("keys", which container of keys.c, numbers of the temporaries of keys, their index and what they
 * lead to, which is -1 of a set, what that is, whether NumPy's, whether keys are pairs, whether the
 * nest changes it, the temporary of places, and the slot of the list that keys are from, or -1,
 * whether keys lead to their places). */
static int
read_keys(Nest *self, NestSlot *slot, PyObject *given)
{
    PyObject *name, *value;
    int numpy, pairs, written, in_dict;
    if (!PyArg_ParseTuple(given, "UiiiiUpppiip", &name, &slot->container, &slot->memory,
                          &slot->index, &slot->values, &value, &numpy, &pairs, &written,
                          &slot->places, &slot->origin, &in_dict)) {
        return -1;
    }
    slot->in_dict = in_dict;
    slot->kind = SLOT_KEYS;
    slot->item = SLOT_INT;
    slot->value = kind_named(value);
    slot->numpy_value = numpy;
    slot->pairs = pairs;
    slot->entered = written;
    self->keyed++;
    self->entered += written;
    self->changing += written;
    return 0;
}

/* The name of a kind of number, whether it is changed, and given; ("range",), and other iterators.
 */
static int
read_slot(Nest *self, NestSlot *slot, PyObject *given)
{
    static const char *const kinds[] = {"array",
#define TEXT_OF(NAME, TEXT, TYPE) TEXT,
                                        NUMBER_SLOTS(TEXT_OF)
#undef TEXT_OF
                                            "complex",
                                        "range",
                                        "forwards",
                                        "backwards",
                                        "count",
                                        "product",
                                        "flat",
                                        "once",
                                        "grown",
                                        "generator",
                                        "member",
                                        "object",
                                        "keys"};
    static_assert(Py_ARRAY_LENGTH(kinds) == SLOT_KEYS + 1, "a name for each kind");
    PyObject *name =
        PyTuple_Check(given) && PyTuple_GET_SIZE(given) > 0 ? PyTuple_GET_ITEM(given, 0) : NULL;
    int kind = 0, kind_count = Py_ARRAY_LENGTH(kinds);
    while (kind < kind_count && name != NULL && PyUnicode_Check(name) &&
           PyUnicode_CompareWithASCIIString(name, kinds[kind]) != 0) {
        kind++;
    }
    bool known = name != NULL && PyUnicode_Check(name) && kind < kind_count;
    if (known && kind == SLOT_ARRAY) {
        return read_array(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "list") == 0) {
        return read_list(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "rows") == 0) {
        return read_rows(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "objects") == 0) {
        return read_objects(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "attribute") == 0) {
        return read_attribute(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "arrays") == 0) {
        return read_stacked(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "marks") == 0) {
        return read_marks(self, slot, given);
    }
    if (known && kind == SLOT_GROWN) {
        return read_grown(self, slot, given);
    }
    if (name != NULL && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "result") == 0) {
        return read_result(self, slot, given);
    }
    slot->kind = (SlotKind)kind;
    if (known && kind == SLOT_GENERATOR) {
        int is_python;
        if (!PyArg_ParseTuple(given, "Up", &name, &is_python)) {
            return -1;
        }
        self->generators++;
        return seeding_begin(is_python);
    }
    if (known && kind == SLOT_MEMBER) {
        int is_given;
        if (!PyArg_ParseTuple(given, "Uip", &name, &slot->owner, &is_given)) {
            return -1;
        }
        slot->made = !is_given;
        slot->changed = true;
        self->outputs++;
        return 0;
    }
    if (known && kind == SLOT_KEYS) {
        return read_keys(self, slot, given);
    }
    if (known && kind == SLOT_OBJECT && PyTuple_GET_SIZE(given) == 1) {
        self->apart++;
        return 0;
    }
    if (known && kind >= SLOT_RANGE && PyTuple_GET_SIZE(given) == 1) {
        self->products += kind == SLOT_PRODUCT;
        if (self->iterators++ == 0) {
            self->range = (int)(slot - self->slot);
            self->range_cell = self->cells;
        }
        return 0;
    }
    Py_ssize_t size = known ? PyTuple_GET_SIZE(given) : 0;
    if (kind < SLOT_RANGE && (size == 2 || size == 3)) {
        int changed = PyObject_IsTrue(PyTuple_GET_ITEM(given, 1));
        int is_given = size == 2 ? 1 : PyObject_IsTrue(PyTuple_GET_ITEM(given, 2));
        slot->changed = changed == 1;
        slot->made = is_given == 0;
        self->outputs += slot->changed;
        return changed < 0 || is_given < 0 ? -1 : 0;
    }
    PyErr_Format(PyExc_ValueError, "no slot of a nest: %R", given);
    return -1;
}

/* How many cells a slot has. */
static int
cells_of(const NestSlot *slot)
{
    if (slot->kind == SLOT_ARRAY) {
        return slot->rebound + slot->viewed * 2 * MOST_LENGTHS;
    }
    if (slot->kind == SLOT_GROWN || slot->kind == SLOT_GENERATOR || slot->kind >= SLOT_OBJECT) {
        return 0;
    }
    if (slot->kind == SLOT_RESULT) {
        return 1 + slot->viewed * 2 * MOST_LENGTHS + (slot->value != SLOT_ARRAY) +
               (slot->container != 0 && slot->origin >= 0);
    }
    if (slot->kind == SLOT_NUMBER) {
        return 1 + slot->kinds;
    }
    if (slot->kind == SLOT_MEMBER) {
        return 1;
    }
    return slot->kind >= SLOT_COMPLEX ? 3 : 2;
}

int
read_slots(Nest *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count > MOST_SLOTS) {
        PyErr_Format(PyExc_ValueError, "%zd slots, more than %d", count, MOST_SLOTS);
        return -1;
    }
    self->slot = PyMem_Calloc((size_t)count + 1, sizeof(NestSlot));
    if (self->slot == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->slots < count; self->slots++) {
        NestSlot *slot = &self->slot[self->slots];
        if (read_slot(self, slot, PyTuple_GET_ITEM(given, self->slots)) < 0) {
            Py_CLEAR(slot->lacked);
            Py_CLEAR(slot->nothing);
            Py_CLEAR(slot->attribute);
            return -1;
        }
        slot->cells = cells_of(slot);
        self->cells += slot->cells;
    }
    self->words += self->generators;
    self->cells++; /* how many turns may begin */
    for (int i = 0; i < self->slots; i++) {
        bool is_given = self->slot[i].kind >= SLOT_ARRAY && self->slot[i].kind != SLOT_ONCE;
        if (is_given && self->given < i) {
            PyErr_SetString(PyExc_ValueError, "slots without objects are the last ones");
            return -1;
        }
        self->given += is_given;
    }
    bool is_whole = self->range >= 0 && self->slot[self->range].kind == SLOT_ONCE;
    if (self->given < self->slots &&
        (!is_whole || self->rebound > 0 || self->changing > 0 || self->iterators > 1)) {
        PyErr_SetString(PyExc_ValueError, "results are those of a whole call");
        return -1;
    }
    if (self->range < 0 && self->exits == 0) {
        PyErr_SetString(PyExc_ValueError, "a nest has a range, or an exit");
        return -1;
    }
    for (int i = 0; i < self->slots; i++) {
        NestSlot *slot = &self->slot[i];
        if (slot->kind == SLOT_MEMBER &&
            (slot->owner < 0 || slot->owner >= self->slots || !self->slot[slot->owner].objects)) {
            PyErr_Format(PyExc_ValueError, "no list of objects: slot %d", slot->owner);
            return -1;
        }
        if (slot->listed && slot->iterator >= 0 &&
            (slot->iterator >= self->slots || self->slot[slot->iterator].kind <= SLOT_RANGE ||
             self->slot[slot->iterator].kind >= SLOT_COUNT)) {
            PyErr_Format(PyExc_ValueError, "no iterator over a list: slot %d", slot->iterator);
            return -1;
        }
    }
    return 0;
}
