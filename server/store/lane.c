/* Lanes, writes and uploads, which are submitted to the writer thread. */
#include "proto/arrays.h"
#include "server/store/arena.h"
#include "server/store/event.h"
#include "server/store/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

store_status store_lane_open(store_lane **out, store *s, int64_t study, int64_t epoch, int64_t last_seq)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return STORE_NO_MEMORY;
    **out = (store_lane){.s = s, .epoch = epoch, .study = study, .next_seq = last_seq + 1};
    return STORE_OK;
}

void store_lane_close(store_lane *lane)
{
    free(lane);
}

int64_t store_lane_next_seq(const store_lane *lane)
{
    return lane->next_seq;
}

store_status store_write_new(store_write **out, store_lane *lane)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return STORE_NO_MEMORY;
    (*out)->op.kind = OP_WRITE;
    (*out)->op.lane = lane;
    return STORE_OK;
}

store_status store_write_add(store_write *write, const store_event *event)
{
    assert(event->type != EVENT_STUDY_CREATED || write->n == 0);
    if (!wire_grow(&write->items, &write->capacity, write->n + 1, 4, sizeof *write->items))
        return STORE_NO_MEMORY;
    write_item item = {0};
    store_status status = store_event_copy(&item.event, event);
    if (!status)
        status = store_event_encode(&item.payload, item.event);
    if (status) {
        free(item.event);
        return status;
    }
    write->items[write->n++] = item;
    return STORE_OK;
}

store_status store_write_set_answer(store_write *write, const store_answer *answer)
{
    assert(!write->answer);
    return store_answer_copy(&write->answer, answer);
}

store_status store_write_put_token(store_write *write, const store_token *token)
{
    assert(!write->token && !write->removed_token);
    return store_token_copy(&write->token, token);
}

store_status store_write_remove_token(store_write *write, const char *id)
{
    assert(!write->token && !write->removed_token);
    write->removed_token = strdup(id);
    return write->removed_token ? STORE_OK : STORE_NO_MEMORY;
}

store_status store_write_put_setting(store_write *write, const char *name, const char *value)
{
    const store_setting setting = {.name = name, .value = value};
    assert(!write->setting);
    return store_setting_copy(&write->setting, &setting);
}

void store_write_stage(store_write *write)
{
    write->stages = true;
}

void store_write_publish(store_write *write)
{
    write->publishes = true;
}

void store_write_limit_studies(store_write *write, size_t most)
{
    write->most_studies = most;
}

size_t store_write_events(const store_write *write)
{
    return write->n;
}

void store_write_free(store_write *write)
{
    if (!write)
        return;
    for (size_t i = 0; i < write->n; i++) {
        free(write->items[i].event);
        free(write->items[i].payload);
    }
    free(write->items);
    free(write->answer);
    free(write->token);
    free(write->removed_token);
    free(write->setting);
    free(write);
}

void store_submit(store_write *write, store_done *done, void *arg)
{
    store_lane *lane = write->op.lane;
    assert(write->n == 0 || (write->items[0].event->type == EVENT_STUDY_CREATED) == (lane->next_seq == 1));
    write->first_seq = lane->next_seq;
    lane->next_seq += (int64_t)write->n;
    write->op.done = done;
    write->op.arg = arg;
    writer_submit(lane->s, &lane->s->writes, &write->op);
}

void store_submit_delete(store_lane *lane, store_done *done, void *arg)
{
    lane->removal = (store_op){.kind = OP_DELETE, .lane = lane, .done = done, .arg = arg};
    writer_submit(lane->s, &lane->s->writes, &lane->removal);
}

/* ---- uploads ------------------------------------------------------------------------------------------- */

int64_t store_new_content(store *s)
{
    pthread_mutex_lock(&s->mutex);
    int64_t content = s->next_content++;
    pthread_mutex_unlock(&s->mutex);
    return content;
}

store_status store_upload_begin(store *s, int64_t *content, store_error *err)
{
    pthread_mutex_lock(&s->mutex);
    bool closing = s->closing;
    *content = s->next_content++;
    pthread_mutex_unlock(&s->mutex);
    return closing ? store_fail(err, STORE_CLOSED, "the store is closing") : STORE_OK;
}

static upload_op *upload_new(op_kind kind, int64_t content, size_t n_values)
{
    upload_op *upload = NULL;
    if (n_values <= (SIZE_MAX - sizeof *upload) / sizeof(double))
        upload = malloc(sizeof *upload + n_values * sizeof(double));
    if (upload) {
        upload->op = (store_op){.kind = kind};
        upload->content = content;
    }
    return upload;
}

void store_upload_append(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                         const double *rows, store_done *done, void *arg)
{
    upload_op *upload = upload_new(OP_UPLOAD, content, n * dimension);
    if (!upload) {
        done(arg, STORE_NO_MEMORY, 0, 0);
        return;
    }
    upload->op.done = done;
    upload->op.arg = arg;
    upload->first = first;
    upload->n = n;
    upload->dimension = dimension;
    memcpy(upload->rows, rows, n * dimension * sizeof *rows);
    writer_submit(s, &s->uploads, &upload->op);
}

void store_upload_abandon(store *s, int64_t content)
{
    upload_op *upload = upload_new(OP_ABANDON, content, 0);
    if (upload) /* otherwise the next start removes the upload */
        writer_submit(s, &s->uploads, &upload->op);
}
