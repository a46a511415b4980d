/* Definitions as the store has them: decoded, and completed with all defaults. */
#ifndef TESTS_SUPPORT_STORED_DEFINITION_H
#define TESTS_SUPPORT_STORED_DEFINITION_H

/* The stored text of a request's definition, in which ' stands for ". It must be valid; to be freed. */
char *stored_definition(const char *text);

#endif
