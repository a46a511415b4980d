/* Changes of a study's definition. patch.c defines what is declared here, and study_patch. */
#ifndef SERVER_STUDY_PATCH_H
#define SERVER_STUDY_PATCH_H

#include "server/study/study.h"

/* Does If-Match, which may be NULL, have the study's entity tag? False: the request was refused. */
bool study_is_as_read(const study *s, study_request *request, const char *if_match);

/* Does the header of an upload give the features other names than they have? n == 0: it gives none. */
bool study_has_other_names(const study *s, char *const *names, size_t n);

/* Gives the features the names from the header of an upload; if these are not valid, the features have none.
 * *definition becomes the text of the new definition, which the caller records and frees; NULL: nothing changes. False:
 * out of memory. */
bool study_name_features(study *s, char *const *names, size_t n, char **definition);

/* Frees replaced definitions, once no engine job can be reading them. */
void study_free_old_configs(study *s);

#endif
