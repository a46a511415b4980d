#include "server/base/nice.h"

#include "server/base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICEST = 19 };

void nice_raise(int by)
{
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid()) + by;
    if (errno != 0 || setpriority(PRIO_PROCESS, 0, nice < NICEST ? nice : NICEST) != 0)
        log_event(LOG_WARN, "nice_failed", "reason", strerror(errno), NULL);
}
