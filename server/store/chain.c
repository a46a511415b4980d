/* Checksums of logs (BLAKE2b, 128 bits). Each covers an entry and the checksum of the previous entry. So an entry that
 * was changed, removed or moved is noticed, wherever it is in the log. */
#include "server/store/backend.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

_Static_assert(CHAIN_BYTES >= crypto_generichash_BYTES_MIN, "libsodium makes no shorter ones");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are hashed as they lie in memory");

void chain_extend(log_chain *chain, int64_t seq, int64_t time, const char *type, const char *payload)
{
    struct {
        int64_t exists, seq, time;
        uint64_t n_type;
        unsigned char before[CHAIN_BYTES];
    } head = {.exists = chain->exists, .seq = seq, .time = time, .n_type = strlen(type)};
    crypto_generichash_state state;
    if (chain->exists)
        memcpy(head.before, chain->bytes, sizeof head.before);
    crypto_generichash_init(&state, NULL, 0, CHAIN_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)&head, sizeof head);
    crypto_generichash_update(&state, (const unsigned char *)type, head.n_type);
    crypto_generichash_update(&state, (const unsigned char *)payload, strlen(payload));
    crypto_generichash_final(&state, chain->bytes, CHAIN_BYTES);
    chain->exists = true;
}

void store_set_checksums(store *s, bool on)
{
    s->no_checksums = !on;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

enum { entries_in_page = 64 };

typedef struct checking {
    log_chain before;
    int64_t last, checked; /* the entry that was read last; how many entries have a checksum */
    int64_t wrong;         /* the first entry that differs from the written one; 0: none */
    bool missing;          /* this entry does not exist */
} checking;

static void check_entry(void *arg, const chained_entry *entry)
{
    checking *c = arg;
    log_chain made = c->before;
    int64_t due = c->last + 1;
    if (c->wrong)
        return;
    c->last = entry->seq;
    c->missing = entry->seq != due;
    if (c->missing) {
        c->wrong = due;
        return;
    }
    c->before.exists = entry->n_chain > 0;
    if (!c->before.exists)
        return;
    chain_extend(&made, entry->seq, entry->time, entry->type, entry->payload);
    if (entry->n_chain != CHAIN_BYTES || memcmp(entry->chain, made.bytes, CHAIN_BYTES) != 0)
        c->wrong = entry->seq;
    c->before = made;
    c->checked++;
}

store_status store_check_log(store *s, int64_t study, int64_t last_seq, int64_t *checked,
                             store_check_row *problem, void *arg, store_error *err)
{
    char text[128];
    checking c = {0};
    store_status status = STORE_OK;
    for (int64_t read = -1; !status && !c.wrong && c.last < last_seq && c.last != read;) {
        read = c.last;
        status = s->backend->read_chain(s, study, c.last, entries_in_page, check_entry, &c, err);
    }
    if (!status && !c.wrong && c.last < last_seq) {
        c.wrong = c.last + 1;
        c.missing = true;
    }
    if (c.wrong) {
        snprintf(text, sizeof text, "log entry %lld %s", (long long)c.wrong,
                 c.missing ? "is missing" : "is not as it was written: its checksum differs");
        problem(arg, text);
    }
    *checked += c.checked;
    return status;
}
