#include "server/study/why_sentence.h"

#include <math.h>
#include <stdio.h>

static const double much = 0.5; /* of the prior's variance; with more, little is known about a point */

/* "trial 12" or "an imported result". */
static const char *result_name(char out[48], int64_t trial)
{
    if (trial > 0)
        snprintf(out, 48, "trial %lld", (long long)trial);
    else
        snprintf(out, 48, "an imported result");
    return out;
}

static void of_a_measured_point(char out[WHY_SENTENCE], const why_facts *f)
{
    char name[48];
    if (f->is_among_leaders && f->leaders_are_close)
        snprintf(out, WHY_SENTENCE, "Measures again: the two leaders are within noise.");
    else
        snprintf(out, WHY_SENTENCE, "Measures the point of %s again: its value is not certain enough.",
                 result_name(name, f->nearest));
}

static void of_a_score(char out[WHY_SENTENCE], const why_facts *f)
{
    char name[48];
    bool by_ignorance = isfinite(f->promise) && f->ignorance > fmax(0.0, f->promise);
    result_name(name, f->nearest);
    if (f->has_nearest && f->distance == 0.0)
        of_a_measured_point(out, f);
    else if (!f->has_nearest || f->left > much)
        snprintf(out, WHY_SENTENCE, "Explores: this point is far from all measured points.");
    else if (f->nearest > 0 && f->nearest == f->leader)
        snprintf(out, WHY_SENTENCE, "Refines %s, the best so far.", name);
    else if (by_ignorance)
        snprintf(out, WHY_SENTENCE, "Explores near %s: the model is not certain there.", name);
    else
        snprintf(out, WHY_SENTENCE, "Refines %s.", name);
}

void why_sentence(char out[WHY_SENTENCE], const why_facts *f)
{
    switch (f->rule) {
    case BANDIT_REASON_RANDOM:
        snprintf(out, WHY_SENTENCE, "Drawn at random.");
        return;
    case BANDIT_REASON_FIRST:
        snprintf(out, WHY_SENTENCE, "One of the first points: %s.",
                 f->has_nearest ? "the results so far do not lead the search yet"
                                : "no result was known yet");
        return;
    case BANDIT_REASON_EVOLUTION:
        snprintf(out, WHY_SENTENCE, "A variation of a good result among the latest ones.");
        return;
    case BANDIT_REASON_UNCERTAINTY:
        snprintf(out, WHY_SENTENCE, "One of the first points: the one that tells most about the others.");
        return;
    case BANDIT_REASON_WORD:
        snprintf(out, WHY_SENTENCE, "Tries a word that no result has.");
        return;
    case BANDIT_REASON_QUADRATIC:
        snprintf(out, WHY_SENTENCE, "The best point of a quadratic function that follows the results well.");
        return;
    case BANDIT_REASON_BOUND:
    case BANDIT_REASON_IMPROVEMENT:
    case BANDIT_REASON_PROBABILITY:
    case BANDIT_REASON_MEAN:
    case BANDIT_REASON_SAMPLE:
    case BANDIT_REASON_JOINT:
    case BANDIT_REASON_RULES:
        break;
    }
    of_a_score(out, f);
}
