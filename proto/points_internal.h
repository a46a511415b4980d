/* What the readers of the four formats share: blocks of rows, problems, the text of an unfinished cell. */
#ifndef PROTO_POINTS_INTERNAL_H
#define PROTO_POINTS_INTERNAL_H

#include "proto/csv.h"
#include "proto/encode_export.h"
#include "proto/keys.h"
#include "proto/points.h"

#define POINTS_CELL_MAX 1024 /* characters of a number or of a name in JSON */

/* In place of the number of a feature. */
#define KEY_COLUMN     SIZE_MAX
#define IGNORED_COLUMN (SIZE_MAX - 1)

/* State of a CSV reader; see points_csv.c. */
typedef struct points_csv {
    wire_csv csv;
    char **first; /* cells of the first line; names, if that is a header */
    size_t n_first, first_capacity;
    size_t *order; /* the feature of each column, or KEY_COLUMN or IGNORED_COLUMN; NULL: in this order */
    char *
        *features; /* the names of features in the header, borrowed from `first`; NULL: there is no header */
    size_t n_features;
    bool first_line_done;
} points_csv;

#define POINTS_KEY_MAX (6 * WIRE_MAX_KEY) /* each byte as \u0041 */

/* State of a JSON reader; see points_json.c. */
typedef struct points_json {
    enum {
        JSON_AT_START,
        JSON_AT_KEY_OR_END, /* after { */
        JSON_AT_KEY,        /* after , in the object */
        JSON_IN_KEY,
        JSON_AT_COLON,
        JSON_AT_LIST,
        JSON_AT_ROW_OR_END, /* after [ */
        JSON_AT_ROW,        /* after , between rows */
        JSON_AFTER_ROW,
        JSON_AT_CELL_OR_END,
        JSON_AT_CELL,
        JSON_IN_CELL,
        JSON_AFTER_CELL,
        JSON_AFTER_LIST,
        JSON_IN_KEYS, /* see `keys` */
        JSON_AT_EOF
    } state;
    enum {
        KEYS_AT_LIST,
        KEYS_AT_ITEM_OR_END, /* after [ */
        KEYS_AT_ITEM,        /* after , between keys */
        KEYS_IN_TEXT,
        KEYS_IN_NULL,
        KEYS_AFTER_ITEM
    } keys;
    size_t n_keys;                            /* read so far */
    bool escaped;                             /* in a key, after a backslash */
    bool has_points, has_keys, key_is_points; /* seen; the last one is "points" */
    size_t offset;                            /* of the byte being read, from 0 */
    size_t start;                             /* offset of the key or cell being read */
} points_json;

#define POINTS_NPY_HEADER_MAX 10000 /* as NumPy itself */

/* State of a reader of .npy; see points_npy.c. */
typedef struct points_npy {
    enum { NPY_START, NPY_DATA } state;
    size_t offset;        /* of the next byte, at the start */
    size_t length_size;   /* bytes that the header's length takes */
    size_t header_length; /* of the header; header_size: bytes of it read so far */
    size_t header_size;
    char *header;
    char type[8]; /* '<f8' … */
    char kind;    /* f, i, u, b */
    bool fortran_order, big_endian;
    size_t shape[2], n_shape;
    size_t item_size;
    unsigned char item[8]; /* an item that is split between chunks */
    size_t n_item;
    unsigned char *kept; /* in Fortran order: all items so far; owned */
    size_t n_kept, kept_capacity;
} points_npy;

struct wire_points_reader {
    wire_points_format format;
    wire_points_sink *sink;
    void *arg;
    wire_status status;   /* the first failure, which stays */
    size_t dimension;     /* 0: not known yet */
    char **names;         /* of the features; owned */
    size_t n_names;       /* 0: they have none */
    bool renames;         /* a header may replace the names */
    const char *key_name; /* another name for the column of the keys; NULL, or borrowed */
    char *ignored;        /* see wire_ignored_new; NULL: none. Owned */
    size_t block_rows;
    double *block;   /* block_rows x dimension; until the dimension is known: the first row as it grows */
    size_t capacity; /* doubles */
    size_t in_block; /* full rows in it */
    size_t cells;    /* in the row being read */
    size_t rows;     /* full rows so far */
    wire_keys keys;  /* of the first rows; the others have none */
    char key[POINTS_KEY_MAX]; /* n_key bytes of a key in JSON, as it is written */
    size_t n_key;
    char cell[POINTS_CELL_MAX + 1]; /* text that may continue in the next chunk */
    size_t cell_size;
    union {
        points_csv csv;
        points_json json;
        points_npy npy;
        wire_lines ndjson;
    } u;
};

/* Each returns WIRE_OK, or adds an error and returns the status that the reader keeps from then on. */
void points_csv_init(wire_points_reader *r);
wire_status points_csv_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors);
wire_status points_csv_finish(wire_points_reader *r, wire_errors *errors);
void points_csv_clear(wire_points_reader *r);
wire_status points_json_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors);
wire_status points_json_finish(wire_points_reader *r, wire_errors *errors);
wire_status points_json_feed_keys(wire_points_reader *r, char c, wire_errors *errors); /* in JSON_IN_KEYS */
void points_ndjson_init(wire_points_reader *r);
wire_status points_ndjson_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors);
wire_status points_ndjson_finish(wire_points_reader *r, wire_errors *errors);
void points_ndjson_clear(wire_points_reader *r);
wire_status points_npy_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors);
wire_status points_npy_finish(wire_points_reader *r, wire_errors *errors);
void points_npy_clear(wire_points_reader *r);

/* Adds a cell to the row. The caller ensures cells < dimension once the dimension is known. */
wire_status points_put(wire_points_reader *r, double value);
/* The same for a cell of any feature of the row. Beyond the first, the dimension must be known. */
wire_status points_put_at(wire_points_reader *r, size_t feature, double value);
/* Adds the key of a row, checked. "" where the row has none. */
wire_status points_put_key(wire_points_reader *r, size_t row, const char *key, size_t n);
/* The row is full: it has `dimension` cells, or it is the first and sets the dimension. */
wire_status points_end_row(wire_points_reader *r);

void points_forget_names(wire_points_reader *r);

#endif
