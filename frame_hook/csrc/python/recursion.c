#include "python/recursion.h"

#include <pthread.h>

/*
 * Measure this thread's C stack: once 40 % is used, frames run without the hook; in the last
 * sixteenth (at least 48 KiB), dispatchers raise RecursionError. Where it cannot be measured, 512
 * KiB from here are assumed.
 */
static void
measure_stack(void)
{
    char *here = __builtin_frame_address(0);
    char *low = here - 512 * 1024;
    size_t size = 512 * 1024;
#if defined(__linux__) && defined(_GNU_SOURCE)
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *address;
        size_t found;
        if (pthread_attr_getstack(&attributes, &address, &found) == 0 && found > 0) {
            size_t most = (size_t)256 << 20; /* an unlimited stack is reported as a huge one */
            low = (char *)address + (found > most ? found - most : 0);
            size = found > most ? most : found;
        }
        pthread_attr_destroy(&attributes);
    }
#elif defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    low = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
#endif
    size_t last = size / 16 > 48 * 1024 ? size / 16 : 48 * 1024;
    ufuse_thread.stack_hard = low + last;
    ufuse_thread.stack_soft = low + size / 10 * 6;
}

/* `stack_is_spent`, where the stack may be spent or has not been measured. */
bool
stack_is_nearly_spent(void)
{
    if (ufuse_thread.stack_hard == NULL) {
        measure_stack();
    }
    if ((char *)__builtin_frame_address(0) > ufuse_thread.stack_hard) {
        return false;
    }
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return true;
}

/* Raise the number of frames that the thread may have before RecursionError by `count`. */
static void
add_frames(PyThreadState *thread, int count)
{
#if PY_VERSION_HEX >= 0x030C0000
    thread->py_recursion_remaining += count;
#    if PY_VERSION_HEX < 0x030E0000
    thread->c_recursion_remaining += count;
#    endif
#else
    thread->recursion_remaining += count;
#endif
}

/* Whether so much of the C stack is used that frames are to run without the hook. */
bool
stack_is_deep(void)
{
    if (ufuse_thread.stack_soft == NULL) {
        measure_stack();
    }
    return (char *)__builtin_frame_address(0) < ufuse_thread.stack_soft;
}

/*
 * Raise the thread's C recursion limit by what one nested evaluation takes and an ordinary Python
 * call does not (3.12, 3.13), as long as the C stack has room. Returns what `reclaim_recursion` is
 * to take back.
 */
int
lend_recursion(PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    if (ufuse_thread.stack_soft == NULL) {
        measure_stack();
    }
    if ((char *)__builtin_frame_address(0) > ufuse_thread.stack_soft) {
        thread->c_recursion_remaining += 2;
        return 2;
    }
#else
    (void)thread;
#endif
    return 0;
}

/* Take back what `lend_recursion` lent. */
void
reclaim_recursion(PyThreadState *thread, int lent)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    thread->c_recursion_remaining -= lent;
#else
    (void)thread;
    (void)lent;
#endif
}

/*
 * Raise the thread's limit of Python frames, and on 3.12 and 3.13 of C recursion, for a call into
 * the session, as long as the C stack has room. Returns what `reclaim_frames` is to take back.
 */
int
lend_frames(PyThreadState *thread)
{
    enum { FRAMES = 2000 };
    if (ufuse_thread.stack_soft == NULL) {
        measure_stack();
    }
    if ((char *)__builtin_frame_address(0) <= ufuse_thread.stack_hard) {
        return 0;
    }
    add_frames(thread, FRAMES);
    return FRAMES;
}

/* Take back what `lend_frames` lent. */
void
reclaim_frames(PyThreadState *thread, int lent)
{
    add_frames(thread, -lent);
}
