/* Generators of random numbers that begin anew with an int, as `default_rng(k)`,
 * `np.random.seed(k)` and `random.seed(k)` begin.
 *
 * Source: NumPy's `SeedSequence`, which documents that its numbers stay what they are; PCG64 by M.
 * E. O'Neill; MT19937 by M. Matsumoto and T. Nishimura, with `init_by_array` of 2002. What is here
 * is compared with the generators' own once; where it differs, seeding is in doubt.
 */
#include "nest/given/seeding.h"

#include "nest/given/generator_states.h"
#include "nest/given/generators.h"

typedef unsigned __int128 Wide;
typedef int64_t (*Seeder)(void *bits, int64_t seed);
typedef uint64_t (*Next)(void *state);

enum { POOL = 4, DRAWN = 700 };

static Next pcg64_next, mt19937_next; /* NULL: it begins in another way than is known here */
static bool is_python_known;

/* Mix a word into a hash whose constant goes on by a factor. */
static uint32_t
hashed(uint32_t word, uint32_t *constant, uint32_t factor)
{
    word ^= *constant;
    *constant *= factor;
    word *= *constant;
    return word ^ word >> 16;
}

/* What a SeedSequence of an int that is not negative generates. */
static void
spread_seed(uint64_t seed, uint64_t *words, int count)
{
    uint32_t pool[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t constant = 0x43b0d7e5u;
    for (int i = 0; i < POOL; i++) {
        pool[i] = hashed(pool[i], &constant, 0x931e8875u);
    }
    for (int from = 0; from < POOL; from++) {
        for (int to = 0; to < POOL; to++) {
            if (from != to) {
                uint32_t other = hashed(pool[from], &constant, 0x931e8875u);
                uint32_t mixed = 0xca01f9ddu * pool[to] - 0x4973f715u * other;
                pool[to] = mixed ^ mixed >> 16;
            }
        }
    }
    constant = 0x8b51f9ddu;
    for (int i = 0; i < count; i++) {
        uint64_t low = hashed(pool[2 * i % POOL], &constant, 0x58f38dedu);
        words[i] = low | (uint64_t)hashed(pool[(2 * i + 1) % POOL], &constant, 0x58f38dedu) << 32;
    }
}

/* Have a PCG64 begin as that of a SeedSequence of an int does. */
static void
seed_pcg64(Pcg64State *state, uint64_t seed)
{
    uint64_t words[4];
    spread_seed(seed, words, 4);
    Wide factor = (Wide)2549297995355413924u << 64 | 4865540595714422341u;
    Wide start = (Wide)words[0] << 64 | words[1];
    Wide increment = ((Wide)words[2] << 64 | words[3]) << 1 | 1;
    Wide first = (increment + start) * factor + increment;
    memcpy(state->numbers->state, &first, sizeof first);
    memcpy(state->numbers->increment, &increment, sizeof increment);
    state->has_uint32 = 0;
    state->uinteger = 0;
}

/* Fill the words of an MT19937 from one. */
static void
spread_word(uint32_t *words, uint32_t word)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        words[i] = word;
        word = 1812433253u * (word ^ word >> 30) + i + 1;
    }
}

/* The same from the words of an int that is not negative. */
static void
spread_words(uint32_t *words, uint64_t seed)
{
    const uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t count = key[1] != 0 ? 2 : 1, at = 1;
    spread_word(words, 19650218u);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t last = words[at - 1];
        words[at] = (words[at] ^ (last ^ last >> 30) * 1664525u) + key[i % count] + i % count;
        if (++at == WORDS) {
            words[0] = words[WORDS - 1];
            at = 1;
        }
    }
    for (int i = 0; i < WORDS - 1; i++) {
        uint32_t last = words[at - 1];
        words[at] = (words[at] ^ (last ^ last >> 30) * 1566083941u) - at;
        if (++at == WORDS) {
            words[0] = words[WORDS - 1];
            at = 1;
        }
    }
    words[0] = 0x80000000u;
}

/* Have a Generator by PCG64 begin anew. 0; 1: it cannot. */
int64_t
nest_seed(void *bits, int64_t seed)
{
    bitgen_t *own = bits;
    if (seed < 0 || pcg64_next == NULL || own->next_uint64 != pcg64_next) {
        return 1;
    }
    seed_pcg64(own->state, (uint64_t)seed);
    return 0;
}

/* Have a RandomState by MT19937 begin anew, as its method `seed` does. 0; 1: it cannot. */
int64_t
nest_legacy_seed(void *bits, int64_t seed)
{
    bitgen_t *own = bits;
    LegacyState *legacy = generator_of(bits)->own.legacy;
    bool fits = seed >= 0 && seed <= UINT32_MAX;
    if (!fits || mt19937_next == NULL || own->next_uint64 != mt19937_next) {
        return 1;
    }
    Mt19937State *state = own->state;
    spread_word(state->key, (uint32_t)seed);
    state->position = WORDS;
    legacy->has_gauss = 0;
    legacy->gauss = 0.0;
    return 0;
}

/* Have a `random.Random` begin anew, as its method `seed` does. 0; 1: it cannot. */
int64_t
nest_python_seed(void *bits, int64_t seed)
{
    Generator *one = generator_of(bits);
    if (!is_python_known) {
        return 1;
    }
    PythonRandom *random = ((bitgen_t *)bits)->state;
    spread_words(random->state, seed < 0 ? 0 - (uint64_t)seed : (uint64_t)seed);
    random->index = WORDS;
    one->own.has_next = 0;
    one->own.next = 0.0;
    return 0;
}

/* What a generator draws first, of each kind. */
static void
draw_first(Generator *one, double (*gauss)(void *bits), double *numbers)
{
    bitgen_t *bits = one->bits;
    numbers[0] = gauss == NULL ? 0.0 : gauss(bits);
    for (int i = 1; i < DRAWN; i++) {
        numbers[i] = bits->next_uint32(bits->state);
    }
}

/*
 * Whether a generator that was drawn from and begins anew draws what one does that has begun so by
 * code of its own. -1 with an exception.
 */
static int
begins_alike(PyObject *made, PyObject *other, long long seed, Seeder seeder,
             double (*gauss)(void *bits))
{
    double numbers[2][DRAWN];
    Generator own[2] = {{0}, {0}};
    int taken = generator_take(made, &own[0]);
    taken = taken != 0 ? taken : generator_take(other, &own[1]);
    bool is_alike = false;
    if (taken == 0) {
        draw_first(&own[1], gauss, numbers[1]);
        is_alike = seeder(own[1].bits, seed) == 0;
        draw_first(&own[0], gauss, numbers[0]);
        draw_first(&own[1], gauss, numbers[1]);
        is_alike = is_alike && memcmp(numbers[0], numbers[1], sizeof numbers[0]) == 0;
    }
    generator_give(&own[0]);
    generator_give(&own[1]);
    return taken < 0 ? -1 : is_alike;
}

/* A generator that has begun with a seed, by what makes such, or by a method of one that was made.
 */
static PyObject *
begun(PyObject *maker, PyObject *one, const char *method, long long seed)
{
    if (method == NULL) {
        return PyObject_CallFunction(maker, "L", seed);
    }
    PyObject *done = PyObject_CallMethod(one, method, "L", seed);
    Py_XDECREF(done);
    return done == NULL ? NULL : Py_NewRef(one);
}

/* The same for some seeds that are less than a number. */
static int
all_begin_alike(PyObject *maker, const char *method, long long beyond, Seeder seeder,
                double (*gauss)(void *bits))
{
    const long long seeds[] = {0, 1, 12345, UINT32_MAX, UINT32_MAX + 1LL, LLONG_MAX - 7};
    PyObject *one = PyObject_CallFunction(maker, "i", 1);
    PyObject *other = one == NULL ? NULL : PyObject_CallFunction(maker, "i", 1);
    int alike = other == NULL ? -1 : 1;
    for (size_t i = 0; alike == 1 && i < Py_ARRAY_LENGTH(seeds) && seeds[i] < beyond; i++) {
        PyObject *made = begun(maker, one, method, seeds[i]);
        alike = made == NULL ? -1 : begins_alike(made, other, seeds[i], seeder, gauss);
        Py_XDECREF(made);
    }
    Py_XDECREF(other);
    Py_XDECREF(one);
    return alike;
}

/* Note which function gives the next bits of a generator that a function makes. 0; -1 with an
 * exception. */
static int
note_next(PyObject *maker, Next *next)
{
    Generator one = {0};
    PyObject *made = PyObject_CallFunction(maker, "i", 1);
    int taken = made == NULL ? -1 : generator_take(made, &one);
    *next = taken == 0 ? ((bitgen_t *)one.bits)->next_uint64 : NULL;
    generator_give(&one);
    Py_XDECREF(made);
    return taken < 0 ? -1 : 0;
}

/* Compare what is here with a function of NumPy's that makes a generator. 0; -1 with an exception.
 */
static int
compare(PyObject *module, const char *name, const char *method, long long beyond, Seeder seeder,
        double (*gauss)(void *bits), Next *next)
{
    PyObject *maker = PyObject_GetAttrString(module, name);
    int alike = maker == NULL || note_next(maker, next) < 0
                    ? -1
                    : all_begin_alike(maker, method, beyond, seeder, gauss);
    Py_XDECREF(maker);
    if (alike != 1) {
        *next = NULL;
    }
    return alike < 0 ? -1 : 0;
}

/* The same of all of NumPy's. */
static int
compare_numpys(PyObject *module)
{
    if (compare(module, "default_rng", NULL, LLONG_MAX, nest_seed, NULL, &pcg64_next) < 0) {
        return -1;
    }
    return compare(module, "RandomState", "seed", UINT32_MAX + 1LL, nest_legacy_seed,
                   nest_legacy_gauss, &mt19937_next);
}

/* The same of Python's. */
static int
compare_pythons(PyObject *module)
{
    PyObject *maker = PyObject_GetAttrString(module, "Random");
    is_python_known = true;
    int alike = maker == NULL
                    ? -1
                    : all_begin_alike(maker, "seed", LLONG_MAX, nest_python_seed, nest_gauss);
    is_python_known = alike == 1;
    Py_XDECREF(maker);
    return alike < 0 ? -1 : 0;
}

/* Find the types of generators, and how they begin, once. Returns 0, or -1 with an exception. */
int
seeding_begin(bool is_python)
{
    static bool is_done[2];
    if (generators_begin(is_python) < 0) {
        return -1;
    }
    if (is_done[is_python]) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule(is_python ? "random" : "numpy.random");
    int failed = module == NULL ? -1 : is_python ? compare_pythons(module) : compare_numpys(module);
    Py_XDECREF(module);
    is_done[is_python] = failed == 0;
    return failed;
}
