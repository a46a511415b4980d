/* Repeats requests while the server restarts or the network fails. */
#include "clients/banditctl/allocate.h"
#include "clients/banditctl/process.h"
#include "clients/banditctl/work.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>

static const double first_pause = 0.1, longest_pause = 15;

/* A random time between half of the pause and all of it, so that workers do not return all at once. */
static double scattered(double pause)
{
    uint16_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = 0;
    return pause * (0.5 + random / 131072.0);
}

static bool is_transient(const http_answer *answer)
{
    return answer->status == 0 || answer->status == 429 || answer->status >= 500;
}

static void report(work *w, const http_client *client, const http_answer *answer)
{
    const bool lost = is_transient(answer);
    pthread_mutex_lock(&w->lock);
    const bool news = lost != w->unreachable;
    w->unreachable = lost;
    pthread_mutex_unlock(&w->lock);
    if (!news)
        return;
    if (!lost) {
        work_log(w, "the server answers again");
        return;
    }
    char *why = describe_answer(answer);
    work_log(w, "no answer from %s (%s); trying again", http_client_url(client), why);
    free(why);
}

sending work_send(work *w, http_client *client, http_request *request, int cancel, http_answer *answer)
{
    const double give_up = option_number(w->arguments, OPTION_GIVE_UP), begun = monotonic_seconds();
    double pause = first_pause;
    request->cancel = cancel;
    for (;;) {
        http_send(client, request, answer);
        if (answer->cancelled)
            break;
        report(w, client, answer);
        if (!is_transient(answer))
            return SENT;
        double wait = scattered(pause);
        if (answer->retry_after > wait)
            wait = answer->retry_after < longest_pause ? answer->retry_after : longest_pause;
        if (give_up > 0 && monotonic_seconds() + wait > begun + give_up) {
            http_answer_clear(answer);
            return SENDING_GAVE_UP;
        }
        http_answer_clear(answer);
        struct pollfd waited = {.fd = cancel, .events = POLLIN};
        if (poll(&waited, 1, (int)(1000 * wait)) > 0)
            return SENDING_CANCELLED;
        pause = 2 * pause < longest_pause ? 2 * pause : longest_pause;
    }
    http_answer_clear(answer);
    return SENDING_CANCELLED;
}
