/* Changes of a study's definition. patch.c defines what is declared here, and study_patch. */
#ifndef SERVER_STUDY_PATCH_H
#define SERVER_STUDY_PATCH_H

#include "server/study/study.h"

/* Frees the definitions that have been replaced, once no engine job may be reading them. */
void study_free_old_configs(study *s);

#endif
