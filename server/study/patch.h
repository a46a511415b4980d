/* Changes of a study's definition. patch.c defines what is declared here, and study_patch. */
#ifndef SERVER_STUDY_PATCH_H
#define SERVER_STUDY_PATCH_H

#include "server/study/study.h"

/* Frees replaced definitions, once no engine job can be reading them. */
void study_free_old_configs(study *s);

#endif
