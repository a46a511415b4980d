/* Doubles as decimals with as few digits as it takes to read the same bits back. */
#ifndef PROTO_SHORTEST_H
#define PROTO_SHORTEST_H

#include <stddef.h>
#include <stdint.h>

enum { SHORTEST_MAX = 32 };

/* Writes the finite number as printf's %.{P}g with the least P of 15, 16 and 17 that reads back to the same bits
 * (1 to 17 for subnormal numbers), but much faster. Without a NUL. Returns the length, less than SHORTEST_MAX. */
size_t shortest_text(char text[SHORTEST_MAX], double number);

/* Writes the digits of a number, at least one. Returns the length, at most 20. */
size_t shortest_integer(char *text, uint64_t number);

#endif
