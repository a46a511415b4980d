/* libpq. It is loaded only when a PostgreSQL database is opened. */
#ifndef SERVER_STORE_POSTGRES_LIBRARY_H
#define SERVER_STORE_POSTGRES_LIBRARY_H

#include "server/store/backend.h"

#include <libpq-fe.h>

#define PQ_LIST(X)                                                                                           \
    X(PQbackendPID)                                                                                          \
    X(PQclear)                                                                                               \
    X(PQcmdStatus)                                                                                           \
    X(PQconnectdbParams)                                                                                     \
    X(PQconninfo)                                                                                            \
    X(PQconninfoFree)                                                                                        \
    X(PQconninfoParse)                                                                                       \
    X(PQconsumeInput)                                                                                        \
    X(PQenterPipelineMode)                                                                                   \
    X(PQerrorMessage)                                                                                        \
    X(PQexec)                                                                                                \
    X(PQfinish)                                                                                              \
    X(PQflush)                                                                                               \
    X(PQfreemem)                                                                                             \
    X(PQgetResult)                                                                                           \
    X(PQgetisnull)                                                                                           \
    X(PQgetlength)                                                                                           \
    X(PQgetvalue)                                                                                            \
    X(PQisBusy)                                                                                              \
    X(PQnfields)                                                                                             \
    X(PQntuples)                                                                                             \
    X(PQpipelineSync)                                                                                        \
    X(PQresultErrorField)                                                                                    \
    X(PQresultStatus)                                                                                        \
    X(PQsendPrepare)                                                                                         \
    X(PQsendQuery)                                                                                           \
    X(PQsendQueryPrepared)                                                                                   \
    X(PQserverVersion)                                                                                       \
    X(PQsetNoticeReceiver)                                                                                   \
    X(PQsetSingleRowMode)                                                                                    \
    X(PQsetnonblocking)                                                                                      \
    X(PQsocket)                                                                                              \
    X(PQstatus)

typedef struct pq_library {
#define X(name) __typeof__(&name) name;
    PQ_LIST(X)
#undef X
} pq_library;

/* Valid after pq_load has succeeded. */
extern pq_library pq;

/* Loads the library, once per process; later calls do nothing. STORE_IO: the library is missing, or too old. */
store_status pq_load(store_error *err);

#endif
