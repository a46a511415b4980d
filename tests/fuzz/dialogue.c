/* Changes for the inputs of fuzz_http. libFuzzer's own, byte by byte, seldom leave a request whole; so most
 * of these are of what is said at once, a request as a rule: it goes, comes twice, changes places, comes from
 * another dialogue, from another client, is about another's study, has another number or another body, or
 * something else happens before or after it. A body that is changed gets its length. */
#include "tests/fuzz/dialogue.h"

#include "tests/fuzz/fuzz.h"

#include <ctype.h>

enum { TURNS_MAX = 1024 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed);

/* Any bytes, not its own. */
typedef struct text {
    const uint8_t *at;
    size_t n;
} text;

/* What does not fit into it is left out. */
typedef struct writer {
    uint8_t *at;
    size_t n, room;
} writer;

static void put(writer *w, text t)
{
    size_t n = t.n < w->room - w->n ? t.n : w->room - w->n;
    if (n > 0)
        memcpy(w->at + w->n, t.at, n);
    w->n += n;
}

static text until(text t, const uint8_t *end)
{
    return (text){t.at, (size_t)(end - t.at)};
}

static text from(text t, const uint8_t *start)
{
    return (text){start, t.n - (size_t)(start - t.at)};
}

/* What comes after these words, all of `t` included; at NULL: they are not there. */
static text after(text t, const char *words)
{
    const uint8_t *found = t.n ? memmem(t.at, t.n, words, strlen(words)) : NULL;
    return found ? from(t, found + strlen(words)) : (text){NULL, 0};
}

/* ---- turns: what is said at once, and the byte after it that is not sent ------------------------------- */

static size_t split(text all, text *turns)
{
    size_t n = 0;
    while (all.n > 0 && n < TURNS_MAX) {
        size_t said = 0;
        while (said < all.n && all.at[said] < DIALOGUE_GOING)
            said++;
        turns[n++] = (text){all.at, said < all.n ? said + 1 : said};
        all = from(all, all.at + turns[n - 1].n);
    }
    return n;
}

/* That byte, when it is there. */
static text mark_of(text turn)
{
    bool marked = turn.n > 0 && turn.at[turn.n - 1] >= DIALOGUE_GOING;
    return marked ? from(turn, turn.at + turn.n - 1) : (text){NULL, 0};
}

static text said_of(text turn)
{
    text mark = mark_of(turn);
    return mark.n > 0 ? until(turn, mark.at) : turn;
}

static void put_turn(writer *w, text turn)
{
    static const uint8_t rest = DIALOGUE_REST;
    if (w->n > 0 && w->at[w->n - 1] < DIALOGUE_GOING)
        put(w, (text){&rest, 1});
    put(w, turn);
}

static text body_of(text turn)
{
    return after(said_of(turn), "\r\n\r\n");
}

/* The turn with another body, in memory that is the caller's. */
static text with_body(text turn, text body)
{
    text old = body_of(turn);
    text head = old.at ? until(turn, old.at) : said_of(turn);
    text length = after(head, "\r\nContent-Length: ");
    char digits[24];
    size_t room = turn.n + body.n + sizeof digits;
    writer w = {.at = malloc(room), .room = room};
    HOLDS(w.at);
    if (length.at) {
        int n = snprintf(digits, sizeof digits, "%zu", body.n);
        put(&w, until(head, length.at));
        put(&w, (text){(const uint8_t *)digits, (size_t)n});
        while (length.n > 0 && isdigit(*length.at))
            length = from(length, length.at + 1);
        put(&w, length);
    } else {
        put(&w, head);
    }
    put(&w, body);
    put(&w, mark_of(turn));
    return (text){w.at, w.n};
}

/* ---- one turn's changes; the result is the caller's memory --------------------------------------------- */

static text change_body(text turn, size_t max_size)
{
    text body = body_of(turn);
    uint8_t *changed = malloc(max_size);
    HOLDS(changed);
    size_t n = body.n < max_size ? body.n : max_size;
    if (n > 0)
        memcpy(changed, body.at, n);
    n = LLVMFuzzerMutate(changed, n, max_size);
    text out = with_body(turn, (text){changed, n});
    free(changed);
    return out;
}

/* Another number for the one that has this turn's k-th digit, modulo their number; in its body, or without
 * one in all of it. */
static text change_number(text turn, size_t k, int number)
{
    text body = body_of(turn), place = body.n > 0 ? body : turn;
    size_t digits = 0;
    for (size_t i = 0; i < place.n; i++)
        digits += isdigit(place.at[i]) != 0;
    char word[16];
    int n = snprintf(word, sizeof word, "%d", number);
    writer w = {.at = malloc(place.n + sizeof word), .room = place.n + sizeof word};
    HOLDS(w.at);
    size_t seen = 0, chosen = digits > 0 ? k % digits : 0;
    for (size_t i = 0; i < place.n;) {
        size_t start = i;
        while (i < place.n && isdigit(place.at[i]))
            i++;
        bool here = seen <= chosen && chosen < seen + (i - start);
        seen += i - start;
        put(&w, here ? (text){(const uint8_t *)word, (size_t)n} : (text){place.at + start, i - start});
        if (i < place.n)
            put(&w, (text){place.at + i++, 1});
    }
    text changed = {w.at, w.n};
    if (place.at == turn.at)
        return changed;
    text out = with_body(turn, changed);
    free(w.at);
    return out;
}

static text change_mark(text turn, size_t k)
{
    static const uint8_t marks[] = {DIALOGUE_GOING, DIALOGUE_OTHER, DIALOGUE_PASSING, DIALOGUE_REST};
    writer w = {.at = malloc(turn.n + 1), .room = turn.n + 1};
    HOLDS(w.at);
    put(&w, said_of(turn));
    put(&w, (text){&marks[k % sizeof marks], 1});
    return (text){w.at, w.n};
}

static text study_of(text turn)
{
    text name = after(turn, " /v1/studies/");
    size_t n = 0;
    while (n < name.n && !strchr("/? \r\n", name.at[n]))
        n++;
    return (text){name.at, n};
}

static text rename_study(text turn, text name)
{
    text old = study_of(turn);
    writer w = {.at = malloc(turn.n + name.n + 1), .room = turn.n + name.n + 1};
    HOLDS(w.at);
    if (old.n > 0 && name.n > 0) {
        put(&w, until(turn, old.at));
        put(&w, name);
        put(&w, from(turn, old.at + old.n));
    } else {
        put(&w, turn);
    }
    return (text){w.at, w.n};
}

/* What is no request: one of eight such turns. */
static text unsaid(size_t k)
{
    static const uint8_t going = DIALOGUE_GOING, others[] = {DIALOGUE_OTHER, DIALOGUE_OTHER};
    static uint8_t passing[DIALOGUE_PASSING_MAX];
    memset(passing, DIALOGUE_PASSING, sizeof passing);
    k %= 1 + sizeof others + sizeof passing;
    if (k == 0)
        return (text){&going, 1};
    if (k <= sizeof others)
        return (text){others, k};
    return (text){passing, k - sizeof others};
}

/* ---- libFuzzer's --------------------------------------------------------------------------------------- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    enum {
        GO,
        COME_TWICE,
        CHANGE_PLACES,
        OTHER_BODY,
        OTHER_NUMBER,
        OTHER_STUDY,
        OTHER_MARK,
        SOMETHING_BEFORE,
        CHANGES
    };
    text turns[TURNS_MAX];
    size_t n = split((text){data, size}, turns);
    if (n == 0 || rand_r(&seed) % 4 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t i = (size_t)rand_r(&seed) % n, j = (size_t)rand_r(&seed) % n;
    int what = rand_r(&seed) % CHANGES, small = rand_r(&seed) % 21 - 1;
    text mine = {NULL, 0};
    if (what == CHANGE_PLACES) {
        text first = turns[i];
        turns[i] = turns[j];
        turns[j] = first;
    } else if (what == OTHER_BODY) {
        mine = change_body(turns[i], max_size);
    } else if (what == OTHER_NUMBER) {
        mine = change_number(turns[i], (size_t)rand_r(&seed), small);
    } else if (what == OTHER_STUDY) {
        mine = rename_study(turns[i], study_of(turns[j]));
    } else if (what == OTHER_MARK) {
        mine = change_mark(turns[i], (size_t)rand_r(&seed));
    }
    writer w = {.at = malloc(max_size), .room = max_size};
    HOLDS(w.at);
    for (size_t k = 0; k < n; k++) {
        if (what == SOMETHING_BEFORE && k == i)
            put_turn(&w, unsaid((size_t)small + 1));
        if (!(what == GO && k == i))
            put_turn(&w, mine.at && k == i ? mine : turns[k]);
        if (what == COME_TWICE && k == j)
            put_turn(&w, turns[i]);
    }
    memcpy(data, w.at, w.n);
    free(w.at);
    free((void *)(uintptr_t)mine.at);
    return w.n;
}

/* Some turns of the other one, about a study of this one's or about their own. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed)
{
    text turns[TURNS_MAX], others[TURNS_MAX];
    size_t n = split((text){data, size}, turns), m = split((text){other, other_size}, others);
    writer w = {.at = out, .room = max_size};
    size_t place = (size_t)rand_r(&seed) % (n + 1);
    size_t first = m > 0 ? (size_t)rand_r(&seed) % m : 0;
    size_t end = m > 0 ? first + 1 + (size_t)rand_r(&seed) % (m - first) : 0;
    text name =
        n > 0 && rand_r(&seed) % 2 == 0 ? study_of(turns[(size_t)rand_r(&seed) % n]) : (text){NULL, 0};
    for (size_t k = 0; k <= n; k++) {
        for (size_t o = first; k == place && o < end; o++) {
            text renamed = rename_study(others[o], name);
            put_turn(&w, renamed);
            free((void *)(uintptr_t)renamed.at);
        }
        if (k < n)
            put_turn(&w, turns[k]);
    }
    return w.n;
}
