/* libcurl. It is loaded only when the first receiver of notifications is set. */
#ifndef SERVER_NOTIFY_LIBRARY_H
#define SERVER_NOTIFY_LIBRARY_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#define CURL_LIST(X)                                                                                         \
    X(curl_easy_cleanup)                                                                                     \
    X(curl_easy_getinfo)                                                                                     \
    X(curl_easy_init)                                                                                        \
    X(curl_easy_setopt)                                                                                      \
    X(curl_easy_strerror)                                                                                    \
    X(curl_free)                                                                                             \
    X(curl_global_init)                                                                                      \
    X(curl_multi_add_handle)                                                                                 \
    X(curl_multi_cleanup)                                                                                    \
    X(curl_multi_info_read)                                                                                  \
    X(curl_multi_init)                                                                                       \
    X(curl_multi_perform)                                                                                    \
    X(curl_multi_poll)                                                                                       \
    X(curl_multi_remove_handle)                                                                              \
    X(curl_multi_wakeup)                                                                                     \
    X(curl_slist_append)                                                                                     \
    X(curl_slist_free_all)                                                                                   \
    X(curl_url)                                                                                              \
    X(curl_url_cleanup)                                                                                      \
    X(curl_url_get)                                                                                          \
    X(curl_url_set)

/* Some of these are also macros: a call is (lib.name)(…). */
typedef struct curl_library {
#define X(name) __typeof__(&(name)) name;
    CURL_LIST(X)
#undef X
} curl_library;

/* Valid after curl_library_load has succeeded. */
extern curl_library lib;

/* The names of libcurl in the distributions, ended by NULL. */
extern const char *const curl_library_names[];

/* Loads the first of these libraries that exists, once per process. False: `why` says what is missing. */
bool curl_library_load(const char *const *names, char *why, size_t size);

#endif
