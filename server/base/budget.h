/* What callers hold of something that the server has a limited amount of: places to wait, streams, memory.
 *
 * A holder may have half of what the others leave. So one holder never gets all, however much it asks for: the next
 * one finds half of the rest free, and so on. A holder is a short text: a token or an address. A holder of "" or NULL
 * is not counted. Any thread. */
#ifndef SERVER_BASE_BUDGET_H
#define SERVER_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

typedef struct budget budget;

enum { BUDGET_HOLDER_SIZE = 48 };

budget *budget_new(void);    /* NULL: out of memory */
void budget_free(budget *b); /* NULL is fine */

/* Takes n of `total` for the holder. False, and nothing is taken, when the holder would have more than its share.
 * Without memory for the first account of a holder, it takes n uncounted. b NULL: nothing is counted. */
bool budget_take(budget *b, const char *holder, size_t n, size_t total);

/* Takes n if the holder then has at most `most`, whatever the others have. */
bool budget_take_at_most(budget *b, const char *holder, size_t n, size_t most);

/* Takes n in any case: it is there already. Might the holder take one more before? */
bool budget_has_room(budget *b, const char *holder, size_t total);
void budget_charge(budget *b, const char *holder, size_t n);

void budget_give(budget *b, const char *holder, size_t n);

size_t budget_used(budget *b);

#endif
