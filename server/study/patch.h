/* Changes of a study's definition. patch.c defines what is declared here, and study_patch. */
#ifndef SERVER_STUDY_PATCH_H
#define SERVER_STUDY_PATCH_H

#include "server/study/study.h"

/* Gives the features the names from the header of an upload. *definition becomes the text of the new definition, which
 * the caller records and frees; NULL: the features already have names, or these names are not valid. False: out of
 * memory. */
bool study_name_features(study *s, char *const *names, size_t n, char **definition);

/* Frees replaced definitions, once no engine job can be reading them. */
void study_free_old_configs(study *s);

#endif
