/* What cppcheck, which reads no system headers, must know of <sys/queue.h>. */
#define TAILQ_FOREACH(var, head, field)                                                                      \
    for ((var) = (head)->tqh_first; (var) != 0; (var) = (var)->field.tqe_next)
