/* In servers built for coverage only: SIGUSR1 ends the process as SIGKILL does, but lets it write its counts
 * of lines first, so that what a test kills counts as well. Nothing else is told, flushed or closed. */
#include <pthread.h>
#include <signal.h>

void __gcov_dump(void); /* libgcov */

static void *wait_for_end(void *arg)
{
    int number;
    sigwait(arg, &number);
    __gcov_dump();
    raise(SIGKILL);
    return NULL;
}

/* Before main: every thread inherits that the signal is blocked. The one that waits for it takes no other. */
__attribute__((constructor)) static void prepare(void)
{
    static sigset_t end;
    sigset_t all, before;
    pthread_t thread;
    sigemptyset(&end);
    sigaddset(&end, SIGUSR1);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, wait_for_end, &end) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
