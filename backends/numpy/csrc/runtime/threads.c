/* A pool of threads that sleep on a condition between kernels, or wait awake between the statements
 * of a loop, and scratch memory for every thread. */
#define _GNU_SOURCE
#include "runtime/tiles.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_THREADS = 1024,
    LATE = 100000,           /* ns; a wait this long: some other process has the core */
    LONGEST_END = 100000000, /* ns that a fork waits for the threads to end */
    LATE_KERNELS = 3,        /* after about this many late kernels in a row */
    ALONE_KERNELS = 200,     /* this many run on the caller's thread alone */
    AWAKE = 50000,           /* ns that a worker waits awake for the next statement of a loop */
    AWAKE_AT_END = 20000,    /* ns that the caller does for its workers; then it leaves its core */
    LOOKS = 64,              /* between two looks at the clock */
    MOST_RANGES = 16,
    PATIENCE =
        4, /* a thread waits for others' ranges for this part of the time that its own took */
};

/* Tasks that one thread does first, so that it finds in its caches what it had there; then those
 * that are left of others'. */
typedef struct {
    alignas(64) atomic_llong next;
    npy_intp past;
} TaskRange;

typedef struct {
    Task *task;
    void *context;
    npy_intp chunk;
    int ranges;
    bool awake; /* another job is likely to follow soon */
    Status mode;
    atomic_bool failed;
    TaskRange range[MOST_RANGES];
} Job;

/* `lock` guards all of it but the job's atomics; a thread works on `job` only while counted in
 * `busy`. */
static struct {
    pthread_mutex_t lock, owner; /* owner: held by the thread whose job runs */
    pthread_cond_t work, done;
    Job *job;
    unsigned long long round;
    atomic_ullong published; /* `round`, for who waits awake */
    int wanted, started;
    atomic_int busy;
    bool forking;            /* workers end: the process is about to fork */
    pid_t ids[MOST_THREADS]; /* of the workers, by number; 0 where there is none */
    int late, alone; /* guarded by `owner`: late kernels in a row, kernels still to be run alone */
} pool = {
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, /* threads often come to it at once */
#else
    .lock = PTHREAD_MUTEX_INITIALIZER,
#endif
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static int64_t
nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Divide the tasks among `ranges` threads. */
static void
job_divide(Job *job, npy_intp tasks, int ranges)
{
    npy_intp chunks = (tasks + job->chunk - 1) / job->chunk;
    job->ranges = ranges;
    for (int i = 0; i < ranges; i++) {
        npy_intp past = chunks * (i + 1) / ranges * job->chunk;
        atomic_init(&job->range[i].next, chunks * i / ranges * job->chunk);
        job->range[i].past = past < tasks ? past : tasks;
    }
}

/* Do what is left of a range. */
static void
range_work(Job *job, TaskRange *range)
{
    while (!atomic_load_explicit(&job->failed, memory_order_relaxed)) {
        npy_intp first = atomic_fetch_add(&range->next, job->chunk);
        if (first >= range->past) {
            return;
        }
        npy_intp past = first + job->chunk < range->past ? first + job->chunk : range->past;
        if (job->task(job->context, first, past) < 0) {
            atomic_store(&job->failed, true);
        }
    }
}

/*
 * Work as the thread of that number; the caller's is 0. What another thread has begun is left to it
 * for a while: its caches have what the next statement needs, and a range that goes to and fro
 * between two costs more than the wait.
 */
static void
job_work(Job *job, int number)
{
    int64_t begun = job->ranges > 1 ? nanoseconds() : 0;
    range_work(job, &job->range[number % job->ranges]);
    if (job->ranges == 1) {
        return;
    }
    int64_t now = nanoseconds(), until = now + (now - begun) / PATIENCE;
    for (int i = 1; i < job->ranges; i++) {
        TaskRange *range = &job->range[(number + i) % job->ranges];
        while (atomic_load_explicit(&range->next, memory_order_relaxed) < range->past &&
               nanoseconds() < until) {
            processor_pause();
        }
        range_work(job, range);
    }
}

/* Wait awake, but not for long, until there is another round. */
static void
await_round(unsigned long long seen)
{
    int64_t until = nanoseconds() + AWAKE;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&pool.published, memory_order_relaxed) != seen) {
                return;
            }
            processor_pause();
        }
    } while (nanoseconds() < until);
}

/* Wait awake, but not for long, until no worker is busy. */
static void
await_workers(void)
{
    int64_t until = nanoseconds() + AWAKE_AT_END;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&pool.busy, memory_order_relaxed) == 0) {
                return;
            }
            processor_pause();
        }
    } while (nanoseconds() < until);
}

static void *
worker(void *argument)
{
    intptr_t number = (intptr_t)argument;
    unsigned long long seen = 0;
    pthread_mutex_lock(&pool.lock);
    pool.ids[number] = (pid_t)syscall(SYS_gettid);
    for (;;) {
        while (pool.job == NULL || pool.round == seen) {
            if (number >= pool.wanted || pool.forking) {
                pool.started--;
                pool.ids[number] = pool.forking ? pool.ids[number] : 0;
                pthread_cond_broadcast(&pool.done);
                pthread_mutex_unlock(&pool.lock);
                return NULL;
            }
            pthread_cond_wait(&pool.work, &pool.lock);
        }
        seen = pool.round;
        Job *job = pool.job;
        bool awake = job->awake;
        pool.busy++;
        pthread_mutex_unlock(&pool.lock);
        status_follow(job->mode);
        job_work(job, (int)number);
        status_clear();
        pthread_mutex_lock(&pool.lock);
        if (--pool.busy == 0) {
            pthread_cond_broadcast(&pool.done);
        }
        if (awake) {
            pthread_mutex_unlock(&pool.lock);
            await_round(seen);
            pthread_mutex_lock(&pool.lock);
        }
    }
}

/* Start the workers that are missing; `lock` is held. Fewer than wanted is no error. */
static void
start_workers(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.started < pool.wanted - 1) {
        pthread_t thread;
        pool.started++;
        if (pthread_create(&thread, NULL, worker, (void *)(intptr_t)pool.started) != 0) {
            pool.started--;
            break;
        }
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Remember how long a kernel waited for its other threads. Where that is longer than its own work,
 * kernel after kernel, something else has their cores: then the next ones run on the caller's
 * thread alone. The caller holds `pool.owner`.
 */
static void
note_wait(int64_t worked, int64_t waited)
{
    bool late = waited > worked && waited > LATE;
    pool.late = late ? pool.late + 1 : pool.late > 0 ? pool.late - 1 : 0;
    if (pool.late >= LATE_KERNELS) {
        pool.late = 0;
        pool.alone = ALONE_KERNELS;
    }
}

/* Let the pool's threads work on a job. The caller holds `pool.owner`. */
static void
job_publish(Job *job)
{
    pthread_mutex_lock(&pool.lock);
    start_workers();
    pool.job = job;
    unsigned long long round = ++pool.round;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    atomic_store_explicit(&pool.published, round, memory_order_relaxed);
}

/* Wait until no worker knows of the job any more. */
static void
job_withdraw(const Job *job)
{
    pthread_mutex_lock(&pool.lock);
    pool.job = NULL;
    if (job->awake && pool.busy > 0) {
        pthread_mutex_unlock(&pool.lock);
        await_workers();
        pthread_mutex_lock(&pool.lock);
    }
    while (pool.busy > 0) {
        pthread_cond_wait(&pool.done, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

/*
 * Run tasks 0 to `tasks`, in chunks, on the calling thread and the pool's. Called without the GIL.
 * Returns false where a task failed; the tasks after it may then not have run. Where the pool is
 * busy with another Python thread's kernel, this thread does all of it.
 */
bool
threads_run(Task *task, void *context, npy_intp tasks, npy_intp chunk)
{
    Job job = {.task = task, .context = context, .chunk = chunk, .mode = status_keep()};
    job_divide(&job, tasks, 1);
    bool shared = tasks > chunk && pool.wanted > 1 && pthread_mutex_trylock(&pool.owner) == 0;
    if (shared && pool.alone > 0) {
        pool.alone--;
        pthread_mutex_unlock(&pool.owner);
        shared = false;
    }
    int64_t begun = shared ? nanoseconds() : 0;
    if (shared) {
        job_publish(&job);
    }
    job_work(&job, 0);
    if (shared) {
        int64_t worked = nanoseconds() - begun;
        job_withdraw(&job);
        note_wait(worked, nanoseconds() - begun - worked);
        pthread_mutex_unlock(&pool.owner);
    }
    return !atomic_load(&job.failed);
}

/*
 * The same for a statement of a loop, where others are likely to follow: workers wait for them
 * awake, each begins with its own part of the tasks, and the caller decides whether that pays. The
 * GIL may be held: tasks must not wait for it.
 */
bool
threads_run_awake(Task *task, void *context, npy_intp tasks, npy_intp chunk)
{
    Job job = {
        .task = task, .context = context, .chunk = chunk, .awake = true, .mode = status_keep()};
    int threads = pool.wanted < MOST_RANGES ? pool.wanted : MOST_RANGES;
    bool shared = tasks > chunk && threads > 1 && pthread_mutex_trylock(&pool.owner) == 0;
    job_divide(&job, tasks, shared ? threads : 1);
    if (shared) {
        job_publish(&job);
    }
    job_work(&job, 0);
    if (shared) {
        job_withdraw(&job);
        pthread_mutex_unlock(&pool.owner);
    }
    return !atomic_load(&job.failed);
}

int
threads_count(void)
{
    return pool.wanted;
}

/*
 * End the workers before the process forks, as plain Python would have no such threads: it warns of
 * them (3.12 on). The next kernel that is shared starts others. Where another thread's kernel runs
 * now, they are left alone. Waits until the kernel of the system has forgotten them.
 */
static void
before_fork(void)
{
    pid_t ids[MOST_THREADS];
    int count = 0;
    if (pthread_mutex_trylock(&pool.owner) != 0) {
        return;
    }
    pthread_mutex_lock(&pool.lock);
    pool.forking = true;
    pthread_cond_broadcast(&pool.work);
    while (pool.started > 0) {
        pthread_cond_wait(&pool.done, &pool.lock);
    }
    for (int i = 0; i < MOST_THREADS; i++) {
        if (pool.ids[i] != 0) {
            ids[count++] = pool.ids[i];
            pool.ids[i] = 0;
        }
    }
    pool.forking = false;
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.owner);
    int64_t begun = nanoseconds();
    for (int i = 0; i < count; i++) {
        while (syscall(SYS_tgkill, getpid(), ids[i], 0) == 0 &&
               nanoseconds() - begun < LONGEST_END) {
            sched_yield();
        }
    }
}

/* Only the forking thread lives on in a child: it has no workers, and nobody holds the locks. */
static void
after_fork_in_child(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_mutex_init(&pool.owner, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.job = NULL;
    pool.started = 0;
    pool.busy = 0;
    pool.forking = false;
    memset(pool.ids, 0, sizeof pool.ids);
}

typedef struct {
    size_t bytes;
    char *data;
} Scratch;

static pthread_key_t scratch_key;
static _Thread_local Scratch *scratch_of_thread;

static void
scratch_free(void *argument)
{
    Scratch *scratch = argument;
    free(scratch->data);
    free(scratch);
}

/*
 * This thread's scratch memory, 64-byte aligned, at least `bytes` long; NULL without an exception
 * where there is none. What it held is lost. Safe without the GIL: no Python code runs in between.
 */
char *
threads_scratch(size_t bytes)
{
    Scratch *scratch = scratch_of_thread;
    if (scratch == NULL) {
        scratch = calloc(1, sizeof *scratch);
        if (scratch == NULL) {
            return NULL;
        }
        scratch_of_thread = scratch;
        pthread_setspecific(scratch_key, scratch);
    }
    if (scratch->bytes < bytes) {
        size_t wanted = (bytes + 65535) & ~(size_t)65535;
        free(scratch->data);
        scratch->bytes = 0;
        scratch->data = aligned_alloc(4096, wanted);
        if (scratch->data == NULL) {
            return NULL;
        }
        scratch->bytes = wanted;
    }
    return scratch->data;
}

int
threads_begin(void)
{
    static bool begun = false;
    if (begun) {
        return 0;
    }
    cpu_set_t set;
    pool.wanted = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        pool.wanted = CPU_COUNT(&set);
    }
    if (pthread_key_create(&scratch_key, scratch_free) != 0 ||
        pthread_atfork(before_fork, NULL, after_fork_in_child) != 0) {
        PyErr_SetString(PyExc_OSError, "_tiles: no thread key or fork handler left");
        return -1;
    }
    begun = true;
    return 0;
}

static PyObject *
threads(PyObject *module, PyObject *unused)
{
    return PyLong_FromLong(pool.wanted);
}

static PyObject *
set_threads(PyObject *module, PyObject *argument)
{
    long count = PyLong_AsLong(argument);
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (count < 1 || count > MOST_THREADS) {
        return PyErr_Format(PyExc_ValueError, "from 1 to %d threads, not %ld", MOST_THREADS, count);
    }
    pthread_mutex_lock(&pool.lock);
    pool.wanted = (int)count;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    Py_RETURN_NONE;
}

/*
 * Call a function that raises nothing, as the first one of a new thread. Where something is raised
 * all the same it was set from outside, before the function did anything, for the thread that
 * started this one: Python gives a new thread that one's number at first. That one gets it, and the
 * function is called again.
 */
static PyObject *
call_as_thread(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    unsigned long starter = count == 3 ? PyLong_AsUnsignedLong(args[2]) : 0;
    if (count != 3 || PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "call_as_thread(function, argument, number of a thread)");
        return NULL;
    }
    PyObject *result = PyObject_CallOneArg(args[0], args[1]);
    if (result == NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyThreadState_SetAsyncExc(starter, type);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        result = PyObject_CallOneArg(args[0], args[1]);
    }
    return result;
}

PyMethodDef threads_methods[] = {
    {"call_as_thread", (PyCFunction)(void (*)(void))call_as_thread, METH_FASTCALL,
     PyDoc_STR("call_as_thread(function, argument, starter, /)\n--\n\n"
               "Call a function as the first one of a thread: an exception that was set for the "
               "thread that started it goes to that one.")},
    {"threads", threads, METH_NOARGS,
     PyDoc_STR("threads()\n--\n\nHow many threads share a large kernel.")},
    {"set_threads", set_threads, METH_O,
     PyDoc_STR("set_threads(count, /)\n--\n\nShare large kernels among `count` threads.")},
    {NULL},
};
