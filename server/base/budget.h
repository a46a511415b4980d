/* Counts how much each caller holds of something that the server has a limited amount of: places to wait, streams,
 * memory.
 *
 * A holder may have half of the amount that the other holders leave. So no holder ever gets everything, however much it
 * asks for: there is always some left for another one. A holder is a short text: a token or an address. A holder of ""
 * or NULL is not counted. Any thread. */
#ifndef SERVER_BASE_BUDGET_H
#define SERVER_BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

typedef struct budget budget;

enum { BUDGET_HOLDER_SIZE = 48 };

budget *budget_new(void);    /* NULL: out of memory */
void budget_free(budget *b); /* NULL is fine */

/* Takes n of `total` for the holder. False, and nothing is taken, if the holder would have more than its share. If
 * there is no memory for an account of the holder, n is taken without being counted. b NULL: nothing is counted. */
bool budget_take(budget *b, const char *holder, size_t n, size_t total);

/* Takes n if the holder then has at most `most`, however much the others have. */
bool budget_take_at_most(budget *b, const char *holder, size_t n, size_t most);

/* For an amount that is known only when the holder has it: budget_has_room tells beforehand whether the holder might
 * take one more; budget_charge then takes n in any case. */
bool budget_has_room(budget *b, const char *holder, size_t total);
void budget_charge(budget *b, const char *holder, size_t n);

void budget_give(budget *b, const char *holder, size_t n);

size_t budget_used(budget *b);

#endif
