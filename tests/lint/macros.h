/* Macros of <sys/queue.h> and <jansson.h> for cppcheck, which reads no system headers. */
#define TAILQ_FOREACH(var, head, field)                                                                      \
    for ((var) = (head)->tqh_first; (var) != 0; (var) = (var)->field.tqe_next)
#define TAILQ_FOREACH_REVERSE(var, head, headname, field) /* cppcheck ignores order */                       \
    for ((var) = (head)->tqh_first; (var) != 0; (var) = (var)->field.tqe_next)
#define STAILQ_FOREACH(var, head, field)                                                                     \
    for ((var) = (head)->stqh_first; (var) != 0; (var) = (var)->field.stqe_next)
#define LIST_HEAD(name, type)                                                                                \
    struct name {                                                                                            \
        struct type *lh_first;                                                                               \
    }
#define LIST_FOREACH(var, head, field)                                                                       \
    for ((var) = (head)->lh_first; (var) != 0; (var) = (var)->field.le_next)
#define json_array_foreach(array, index, value)                                                              \
    for ((index) = 0; (index) < json_array_size(array) && ((value) = json_array_get(array, index)) != 0;     \
         (index)++)
#define json_object_foreach(object, key, value)                                                              \
    for ((key) = json_object_iter_key(json_object_iter(object));                                             \
         (key) != 0 && ((value) = json_object_iter_value(json_object_key_to_iter(key))) != 0;                \
         (key) = json_object_iter_key(json_object_iter_next(object, json_object_key_to_iter(key))))
