/* Object code in memory: what a linker and a loader do, for the ELF files that LLVM writes. */
#include "runtime/tiles.h"

#if defined(__linux__) && defined(__x86_64__)
#    include <elf.h>
#    include <sys/mman.h>

enum { PAGE = 4096, ARENA = 1 << 20, MOST_SECTIONS = 4096, MOST_ALIGNMENT = PAGE };

typedef struct {
    const char *bytes;
    uint64_t size;
    uint64_t sections; /* where their headers begin */
    uint32_t count;    /* of sections */
    uint64_t names;    /* where the names of sections begin */
    uint64_t names_size;
} File;

/* Memory for code, which lives as long as the process. The GIL guards it. */
static struct {
    char *at;
    uint64_t left;
} arena;

static bool
is_inside(const File *file, uint64_t begin, uint64_t size)
{
    return begin <= file->size && size <= file->size - begin;
}

/* The header of a section. Headers may lie at any place. */
static Elf64_Shdr
section_of(const File *file, uint32_t number)
{
    Elf64_Shdr header;
    memcpy(&header, file->bytes + file->sections + number * sizeof header, sizeof header);
    return header;
}

/* The text at a place of a table of texts; NULL where it does not end there. */
static const char *
text_at(const File *file, uint64_t begin, uint64_t size, uint64_t place)
{
    if (place >= size) {
        return NULL;
    }
    const char *text = file->bytes + begin + place;
    return memchr(text, 0, size - place) != NULL ? text : NULL;
}

/* Read the head of a file. Why it is none that can be loaded, or NULL. */
static const char *
file_read(File *file, const char *bytes, Py_ssize_t size)
{
    Elf64_Ehdr head;
    *file = (File){.bytes = bytes, .size = (uint64_t)size};
    if (file->size < sizeof head) {
        return "it is too short";
    }
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_REL ||
        head.e_machine != EM_X86_64) {
        return "it is no object code of this machine";
    }
    file->sections = head.e_shoff;
    file->count = head.e_shnum;
    if (head.e_shentsize != sizeof(Elf64_Shdr) || file->count > MOST_SECTIONS ||
        head.e_shstrndx >= file->count ||
        !is_inside(file, file->sections, file->count * sizeof(Elf64_Shdr))) {
        return "its sections are not in it";
    }
    for (uint32_t i = 0; i < file->count; i++) {
        Elf64_Shdr section = section_of(file, i);
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !is_inside(file, section.sh_offset, section.sh_size)) {
            return "a section is not in it";
        }
    }
    Elf64_Shdr names = section_of(file, head.e_shstrndx);
    file->names = names.sh_offset;
    file->names_size = names.sh_type == SHT_STRTAB ? names.sh_size : 0;
    return NULL;
}

/* The symbols of a file, and their names. */
typedef struct {
    uint64_t begin, count, names, names_size;
} Symbols;

static Symbols
symbols_of(const File *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        Elf64_Shdr section = section_of(file, i);
        if (section.sh_type == SHT_SYMTAB && section.sh_link < file->count &&
            section.sh_entsize == sizeof(Elf64_Sym)) {
            Elf64_Shdr names = section_of(file, section.sh_link);
            if (names.sh_type == SHT_STRTAB) {
                return (Symbols){section.sh_offset, section.sh_size / sizeof(Elf64_Sym),
                                 names.sh_offset, names.sh_size};
            }
        }
    }
    return (Symbols){0, 0, 0, 0};
}

static Elf64_Sym
symbol_of(const File *file, const Symbols *symbols, uint64_t number)
{
    Elf64_Sym symbol;
    memcpy(&symbol, file->bytes + symbols->begin + number * sizeof symbol, sizeof symbol);
    return symbol;
}

static const char *
name_of(const File *file, const Symbols *symbols, const Elf64_Sym *symbol)
{
    return text_at(file, symbols->names, symbols->names_size, symbol->st_name);
}

/* What is there only to be read where the file is linked, or for who walks the stack. */
static bool
is_left_out(const File *file, const Elf64_Shdr *section)
{
    const char *name = text_at(file, file->names, file->names_size, section->sh_name);
    return !(section->sh_flags & SHF_ALLOC) || name == NULL || strcmp(name, ".eh_frame") == 0;
}

/*
 * Where each section will lie, from the beginning of the memory; -1 for what is left out. Why it
 * cannot be loaded, or NULL. Nothing that is loaded can be written.
 */
static const char *
lay_out(const File *file, int64_t *places, uint64_t *size)
{
    *size = 0;
    for (uint32_t i = 0; i < file->count; i++) {
        Elf64_Shdr section = section_of(file, i);
        places[i] = -1;
        if (is_left_out(file, &section)) {
            continue;
        }
        const char *name = text_at(file, file->names, file->names_size, section.sh_name);
        bool writes = section.sh_flags & SHF_WRITE && strncmp(name, ".data.rel.ro", 12) != 0;
        bool is_plain = section.sh_type == SHT_PROGBITS && !(section.sh_flags & SHF_TLS) && !writes;
        if (section.sh_size > 0 && !is_plain) {
            return "it has a section of another kind";
        }
        uint64_t alignment = section.sh_addralign > 1 ? section.sh_addralign : 1;
        if (alignment > MOST_ALIGNMENT || (alignment & (alignment - 1)) != 0) {
            return "a section has another alignment";
        }
        *size = (*size + alignment - 1) & ~(alignment - 1);
        places[i] = (int64_t)*size;
        *size += section.sh_type == SHT_PROGBITS ? section.sh_size : 0; /* within the file's size */
    }
    *size = (*size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return *size == 0 ? "it has no code" : NULL;
}

/*
 * The address of a symbol. `given`: addresses of what the file does not define. False with an
 * exception, or without one where the file is wrong.
 */
static bool
address_of(const File *file, const Symbols *symbols, uint64_t number, const int64_t *places,
           char *memory, PyObject *given, uint64_t *address)
{
    if (number == 0 || number >= symbols->count) {
        return false;
    }
    Elf64_Sym symbol = symbol_of(file, symbols, number);
    if (symbol.st_shndx == SHN_UNDEF) {
        const char *name = name_of(file, symbols, &symbol);
        PyObject *key = name == NULL ? NULL : PyUnicode_FromString(name);
        PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(given, key);
        Py_XDECREF(key);
        *address = found == NULL ? 0 : PyLong_AsUnsignedLongLong(found);
        return found != NULL && !PyErr_Occurred();
    }
    if (symbol.st_shndx >= file->count || places[symbol.st_shndx] < 0) {
        return false;
    }
    *address = (uint64_t)(uintptr_t)(memory + places[symbol.st_shndx]) + symbol.st_value;
    return true;
}

/* Write the address that an instruction or a word names. Why not, or NULL. */
static const char *
relocate(const Elf64_Rela *one, char *at, uint64_t room, uint64_t address)
{
    uint64_t value = address + (uint64_t)one->r_addend;
    uint64_t distance = value - (uint64_t)(uintptr_t)at;
    int32_t near = (int32_t)distance;
    switch (ELF64_R_TYPE(one->r_info)) {
    case R_X86_64_64:
    case R_X86_64_PC64:
        if (room < sizeof value) {
            return "an address is outside of its section";
        }
        value = ELF64_R_TYPE(one->r_info) == R_X86_64_64 ? value : distance;
        memcpy(at, &value, sizeof value);
        return NULL;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        if (room < sizeof near) {
            return "an address is outside of its section";
        }
        if ((int64_t)distance != near) {
            return "an address is too far away";
        }
        memcpy(at, &near, sizeof near);
        return NULL;
    }
    return "it has an address of another kind";
}

/* Fill in the addresses that a section of them has. Why not, or NULL; perhaps with an exception. */
static const char *
relocate_section(const File *file, const Symbols *symbols, const Elf64_Shdr *section,
                 const int64_t *places, char *memory, PyObject *given)
{
    Elf64_Shdr target = section_of(file, section->sh_info);
    for (uint64_t i = 0; i < section->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela one;
        uint64_t address;
        memcpy(&one, file->bytes + section->sh_offset + i * sizeof one, sizeof one);
        if (one.r_offset > target.sh_size) {
            return "an address is outside of its section";
        }
        if (!address_of(file, symbols, ELF64_R_SYM(one.r_info), places, memory, given, &address)) {
            return "it needs a symbol that is unknown";
        }
        const char *why = relocate(&one, memory + places[section->sh_info] + one.r_offset,
                                   target.sh_size - one.r_offset, address);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

/* Copy the sections, and fill in all addresses. As `relocate_section`. */
static const char *
fill(const File *file, const Symbols *symbols, const int64_t *places, char *memory, PyObject *given)
{
    for (uint32_t i = 0; i < file->count; i++) {
        Elf64_Shdr section = section_of(file, i);
        if (places[i] >= 0 && section.sh_type == SHT_PROGBITS) {
            memcpy(memory + places[i], file->bytes + section.sh_offset, section.sh_size);
        }
    }
    for (uint32_t i = 0; i < file->count; i++) {
        Elf64_Shdr section = section_of(file, i);
        bool is_list = section.sh_type == SHT_RELA || section.sh_type == SHT_REL;
        if (!is_list || section.sh_info >= file->count || places[section.sh_info] < 0) {
            continue;
        }
        const char *why = section.sh_type == SHT_REL
                              ? "its addresses are of another kind"
                              : relocate_section(file, symbols, &section, places, memory, given);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

/* A dict of the addresses of the functions that the file defines; NULL with an exception. */
static PyObject *
functions_of(const File *file, const Symbols *symbols, const int64_t *places, const char *memory)
{
    PyObject *made = PyDict_New();
    for (uint64_t i = 1; made != NULL && i < symbols->count; i++) {
        Elf64_Sym symbol = symbol_of(file, symbols, i);
        const char *name = name_of(file, symbols, &symbol);
        if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
            ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= file->count ||
            symbol.st_shndx == SHN_UNDEF || places[symbol.st_shndx] < 0 || name == NULL) {
            continue;
        }
        uintptr_t at = (uintptr_t)(memory + places[symbol.st_shndx]);
        PyObject *address = PyLong_FromUnsignedLongLong(at + symbol.st_value);
        if (address == NULL || PyDict_SetItemString(made, name, address) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(address);
    }
    return made;
}

/* Memory of so many bytes, whole pages; NULL where there is none. */
static char *
take_memory(uint64_t size)
{
    if (arena.left < size) {
        uint64_t wanted = size > ARENA ? size : ARENA;
        void *found =
            mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) {
            return NULL;
        }
        arena.at = found;
        arena.left = wanted;
    }
    char *memory = arena.at;
    arena.at += size;
    arena.left -= size;
    return memory;
}

static PyObject *
load(const char *bytes, Py_ssize_t length, PyObject *given)
{
    File file;
    uint64_t size;
    const char *why = file_read(&file, bytes, length);
    if (why != NULL) {
        return PyErr_Format(PyExc_ValueError, "not loaded: %s", why);
    }
    int64_t *places = PyMem_Calloc(file.count, sizeof *places);
    if (places == NULL) {
        return PyErr_NoMemory();
    }
    Symbols symbols = symbols_of(&file);
    PyObject *made = NULL;
    char *memory = NULL;
    why = lay_out(&file, places, &size);
    if (why == NULL && (memory = take_memory(size)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    why = why == NULL ? fill(&file, &symbols, places, memory, given) : why;
    if (why == NULL && mprotect(memory, size, PROT_READ | PROT_EXEC) < 0) {
        why = "memory cannot be made executable";
    }
    if (why == NULL) {
        made = functions_of(&file, &symbols, places, memory);
    }
    else {
        if (memory != NULL) { /* nobody took memory meanwhile */
            arena.at -= size;
            arena.left += size;
        }
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "not loaded: %s", why);
        }
    }
done:
    PyMem_Free(places);
    return made;
}

static PyObject *
undefined(const char *bytes, Py_ssize_t length)
{
    File file;
    const char *why = file_read(&file, bytes, length);
    if (why != NULL) {
        return PyErr_Format(PyExc_ValueError, "not read: %s", why);
    }
    Symbols symbols = symbols_of(&file);
    PyObject *found = PyList_New(0);
    for (uint64_t i = 1; found != NULL && i < symbols.count; i++) {
        Elf64_Sym symbol = symbol_of(&file, &symbols, i);
        const char *name = name_of(&file, &symbols, &symbol);
        if (symbol.st_shndx != SHN_UNDEF || name == NULL || *name == 0) {
            continue;
        }
        PyObject *one = PyUnicode_FromString(name);
        if (one == NULL || PyList_Append(found, one) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(one);
    }
    return found;
}

#else

static PyObject *
load(const char *bytes, Py_ssize_t length, PyObject *given)
{
    return PyErr_Format(PyExc_ValueError, "not loaded: this is not Linux on x86-64");
}

static PyObject *
undefined(const char *bytes, Py_ssize_t length)
{
    return PyErr_Format(PyExc_ValueError, "not read: this is not Linux on x86-64");
}

#endif

/* Python's `load_object(data, symbols)`. */
static PyObject *
load_object(PyObject *module, PyObject *args)
{
    Py_buffer data;
    PyObject *given, *made = NULL;
    if (PyArg_ParseTuple(args, "y*O!:load_object", &data, &PyDict_Type, &given)) {
        made = load(data.buf, data.len, given);
        PyBuffer_Release(&data);
    }
    return made;
}

/* Python's `undefined_symbols(data)`. */
static PyObject *
undefined_symbols(PyObject *module, PyObject *args)
{
    Py_buffer data;
    PyObject *found = NULL;
    if (PyArg_ParseTuple(args, "y*:undefined_symbols", &data)) {
        found = undefined(data.buf, data.len);
        PyBuffer_Release(&data);
    }
    return found;
}

PyMethodDef object_methods[] = {
    {"load_object", load_object, METH_VARARGS,
     PyDoc_STR(
         "load_object(data, symbols)\n--\n\nThe addresses of the functions of object code, by "
         "name; it stays in memory. `symbols`: the addresses of what it does not define.")},
    {"undefined_symbols", undefined_symbols, METH_VARARGS,
     PyDoc_STR("undefined_symbols(data)\n--\n\nThe names of what object code does not define.")},
    {NULL},
};
