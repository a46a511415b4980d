/* The members of each type of event, in their order in the payload. Payloads, copies and views are made from this
 * list. */
#include "server/store/event_kinds.h"

#include <stddef.h>

#define OFFSET(member) offsetof(store_event, u.member)

/* The offset of a member of store_event's union; it compiles only if the member has this type. */
#define AT(type, member) _Generic(((store_event *)0)->u.member, type : OFFSET(member))

/* The length of an array: a size_t, or an int64_t that is never negative, which has the same representation. */
#define LENGTH(member)                                                                                       \
    _Generic(((store_event *)0)->u.member, size_t : OFFSET(member), int64_t : OFFSET(member))
_Static_assert(sizeof(size_t) == sizeof(int64_t), "lengths of arrays are either");

/* Kind and place of a member; event_kinds.h explains the kinds. */
#define TEXT(member)                      &event_text, AT(const char *, member), 0, NULL
#define TEXT_UNLESS_NULL(member)          &event_text_unless_null, AT(const char *, member), 0, NULL
#define TEXT_UNLESS_EMPTY(member)         &event_text_unless_empty, AT(const char *, member), 0, NULL
#define INTEGER(member)                   &event_integer, AT(int64_t, member), 0, NULL
#define INTEGER_OR_0(member)              &event_integer_or_0, AT(int64_t, member), 0, NULL
#define INTEGER_UNLESS_0(member)          &event_integer_unless_0, AT(int64_t, member), 0, NULL
#define REPEATS(member)                   &event_repeats, AT(int64_t, member), 0, NULL
#define REPEATS_OR_0(member)              &event_repeats_or_0, AT(int64_t, member), 0, NULL
#define ATTEMPT(member)                   &event_attempt, AT(int32_t, member), 0, NULL
#define ATTEMPT_OR_0(member)              &event_attempt_or_0, AT(int32_t, member), 0, NULL
#define CANDIDATE(member)                 &event_candidate, AT(uint32_t, member), 0, NULL
#define REAL(member)                      &event_real, AT(double, member), 0, NULL
#define REAL_OR_NAN(member)               &event_real_or_nan, AT(double, member), 0, NULL
#define REAL_IF_TRIAL(member, trial)      &event_real_if_trial, AT(double, member), AT(int64_t, trial), NULL
#define REAL_UNLESS_0(member)             &event_real_unless_0, AT(double, member), 0, NULL
#define RESULT(member)                    &event_result, AT(double, member), 0, NULL
#define RESULT_IF(member, present)        &event_result_if, AT(double, member), AT(bool, present), NULL
#define BOOLEAN(member)                   &event_boolean, AT(bool, member), 0, NULL
#define BOOLEAN_UNLESS_FALSE(member)      &event_boolean_unless_false, AT(bool, member), 0, NULL
#define BOOLEAN_IF(member, present, name) &event_boolean_if, AT(bool, member), AT(bool, present), name
#define STUDY_STATE(member)               &event_study_state, AT(study_state, member), 0, NULL
#define TRIAL_STATE(member)               &event_trial_state, AT(trial_state, member), 0, NULL
#define INDICES(member, n)                &event_indices.kind, AT(const uint32_t *, member), LENGTH(n), NULL
#define SUMS(member, n)                   &event_sums.kind, AT(const store_arm_sum *, member), LENGTH(n), NULL
#define PICKS(member, n)                  &event_picks.kind, AT(const store_pick *, member), LENGTH(n), NULL
#define OBSERVATIONS(member, n)                                                                              \
    &event_observations.kind, AT(const store_observation *, member), LENGTH(n), NULL
#define TEXTS(member, n)              &event_texts, AT(const char *const *, member), LENGTH(n), NULL
#define BYTES(member, n)              &event_bytes, AT(const unsigned char *, member), LENGTH(n), NULL
#define HELD(member, name_of_n_picks) &event_held_values, AT(store_held, member), 0, name_of_n_picks
#define POINTS(member, name_of_width) &event_points, AT(store_points, member), 0, name_of_width
#define ROWS(member, name_of_width)   &event_rows, AT(store_points, member), 0, name_of_width

static const event_member study_created[] = {
    {"id", TEXT(created.id)},
    {"definition", TEXT(created.definition)}, /* JSON as a string, so that it reads back to the same bytes */
    {"state", STUDY_STATE(created.state)},
};

static const event_member study_changed[] = {
    {"definition", TEXT_UNLESS_NULL(changed.definition)},
    {"state", STUDY_STATE(changed.state)},
    {"reason", TEXT(changed.reason)},
    {"finds_best", BOOLEAN_UNLESS_FALSE(changed.finds_best)},
    {"best_trial", INTEGER_UNLESS_0(changed.best_trial)},
    {"best_candidate", INTEGER_UNLESS_0(changed.best_candidate)},
    {"best_value", REAL_UNLESS_0(changed.best_value)},
};

static const event_member candidates_set[] = {
    {"content", INTEGER(candidates.content)},
    {"count", INTEGER(candidates.count)},
    {"dimension", INTEGER(candidates.dimension)},
    {"digest", TEXT(candidates.digest)},
};

static const event_member candidates_added[] = {
    {"first", INTEGER(added.first)},
    {"rows", ROWS(added.points, "dimension")},
};

static const event_member candidates_retired[] = {
    {"candidates", INDICES(retired.list, retired.n)},
};

static const event_member candidates_restored[] = {
    {"candidates", INDICES(restored.list, restored.n)},
};

static const event_member candidates_keyed[] = {
    {"first", INTEGER(keyed.first)},
    {"keys", TEXTS(keyed.keys, keyed.n)},
};

static const event_member batch_planned[] = {
    {"batch", INTEGER(planned.batch.batch)},
    {"size", INTEGER(planned.batch.size)},
    {"ratio", REAL(planned.batch.ratio)},
    {"stop_rule", TEXT(planned.batch.stop_rule)},
    {"beta", REAL(planned.batch.beta)},
    {"observations", INTEGER(planned.batch.observations)},
    {"update_seconds", REAL(planned.batch.update_seconds)},
    {"select_seconds", REAL(planned.batch.select_seconds)},
    {"started_at", INTEGER(planned.batch.started_at)},
    {"code_path", TEXT(planned.batch.code_path)},
    {"advice", TEXT_UNLESS_EMPTY(planned.batch.advice)},
    {"through_seq", INTEGER(planned.through_seq)},
    {"dictionary", INDICES(planned.dictionary, planned.batch.dictionary_size)},
    {"sums", SUMS(planned.sums, planned.n_sums)},
    {"engine_state", BYTES(planned.engine_state, planned.n_engine_state)},
    {"first_trial", INTEGER(planned.first_trial)},
    {"picks", PICKS(planned.picks, planned.n_picks)},
    {"held", HELD(planned.held, "held_picks")},
    {"points", POINTS(planned.points, "parameters")},
};

static const event_member batch_extended[] = {
    {"batch", INTEGER(extended.batch)},
    {"through_seq", INTEGER_OR_0(extended.through_seq)},
    {"ratio", REAL(extended.ratio)},
    {"stop_rule", TEXT(extended.stop_rule)},
    {"first_trial", INTEGER(extended.first_trial)},
    {"picks", PICKS(extended.picks, extended.n_picks)},
    {"held", HELD(extended.held, "held_picks")},
    {"points", POINTS(extended.points, "parameters")},
};

static const event_member trial_issued[] = {
    {"trial", INTEGER(issued.trial)},
    {"attempt", ATTEMPT(issued.attempt)},
    {"worker", TEXT(issued.worker)},
    {"lease_expires_at", INTEGER(issued.lease_expires_at)},
};

static const event_member trial_renewed[] = {
    {"trial", INTEGER(renewed.trial)},
    {"attempt", ATTEMPT(renewed.attempt)},
    {"worker", TEXT_UNLESS_NULL(renewed.worker)},
    {"lease_expires_at", INTEGER(renewed.lease_expires_at)},
};

static const event_member trial_requeued[] = {
    {"trial", INTEGER(requeued.trial)},
    {"outcome", TEXT(requeued.outcome)},
    {"attempt_counts", BOOLEAN(requeued.attempt_counts)},
    {"cost", REAL_UNLESS_0(requeued.cost)},
};

static const event_member trial_told[] = {
    {"trial", INTEGER(told.trial)},
    {"attempt", ATTEMPT_OR_0(told.attempt)},
    {"state", TRIAL_STATE(told.state)},
    {"value", RESULT_IF(told.value, told.has_value)},
    {"better", BOOLEAN_IF(told.better, told.has_value, "value")},
    {"outdone", BOOLEAN_UNLESS_FALSE(told.outdone)},
    {"front", BOOLEAN_UNLESS_FALSE(told.front)},
    {"reason", TEXT(told.reason)},
    {"repeats", REPEATS(told.repeats)},
    {"recorded", TEXT_UNLESS_EMPTY(told.recorded)},
    {"metadata", TEXT_UNLESS_EMPTY(told.metadata)},
    {"cost", REAL_UNLESS_0(told.cost)},
};

static const event_member observations_added[] = {
    {"observations", OBSERVATIONS(observed.list, observed.n)},
};

static const event_member trial_proposed[] = {
    {"trial", INTEGER(proposed.trial)},
    {"candidate", CANDIDATE(proposed.pick.candidate)},
    {"variance", REAL_OR_NAN(proposed.pick.variance)},
};

static const event_member late_result_told[] = {
    {"trial", INTEGER(late.trial)},
    {"attempt", ATTEMPT(late.attempt)},
    {"value", RESULT(late.value)},
    {"better", BOOLEAN(late.better)},
    {"outdone", BOOLEAN_UNLESS_FALSE(late.outdone)},
    {"front", BOOLEAN_UNLESS_FALSE(late.front)},
    {"repeats", REPEATS(late.repeats)},
    {"recorded", TEXT_UNLESS_EMPTY(late.recorded)},
    {"metadata", TEXT_UNLESS_EMPTY(late.metadata)},
    {"cost", REAL_UNLESS_0(late.cost)},
};

static const event_member trial_estimated[] = {
    {"trial", INTEGER(estimated.trial)},
    {"value", RESULT(estimated.value)},
    {"recorded", TEXT(estimated.recorded)},
};

static const event_member trial_amended[] = {
    {"trial", INTEGER(amended.trial)},
    {"state", TRIAL_STATE(amended.state)},
    {"value", RESULT_IF(amended.value, amended.has_value)},
    {"repeats", REPEATS_OR_0(amended.repeats)},
    {"recorded", TEXT(amended.recorded)},
    {"reason", TEXT(amended.reason)},
    {"best_trial", INTEGER(amended.best_trial)},
    {"best_candidate", INTEGER(amended.best_candidate)},
    {"best_value", REAL_IF_TRIAL(amended.best_value, amended.best_trial)},
    {"outdone", BOOLEAN_UNLESS_FALSE(amended.outdone)},
    {"front", BOOLEAN_UNLESS_FALSE(amended.front)},
};

static const event_member observation_amended[] = {
    {"observation", INTEGER(reobserved.observation)},
    {"state", TRIAL_STATE(reobserved.state)},
    {"value", RESULT_IF(reobserved.value, reobserved.has_value)},
    {"recorded", TEXT_UNLESS_EMPTY(reobserved.recorded)},
    {"reason", TEXT(reobserved.reason)},
};

static const event_member trial_measured[] = {
    {"trial", INTEGER(measured.trial)},
    {"attempt", ATTEMPT(measured.attempt)},
    {"step", INTEGER(measured.step)},
    {"value", RESULT(measured.value)},
};

const event_members store_event_members[STORE_EVENT_TYPES] = {
#define X(enumerator, name) [enumerator] = {name, sizeof name / sizeof *name},
    STORE_EVENT_LIST(X)
#undef X
};
