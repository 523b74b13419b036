/* Resolves the paths that a user gives into a list of existing, readable files.
 *
 * Runs on the driver before the job starts, so that all bad paths are reported at once. */
#ifndef GLINT_INPUT_INPUT_H
#define GLINT_INPUT_INPUT_H

#include "engine/base/env.h"
#include "engine/base/error.h"
#include "engine/base/mem.h"
#include "engine/glint.h"
#include "engine/input/decompress.h"

/* The expected content. With INPUT_TEXT the first bytes of each file are examined, and files of
 * another format are rejected (input/format.h). */
enum input_content { INPUT_TEXT, INPUT_BINARY };

struct input_file {
    const char *path;   /* in the list's arena; of a saved output's part: the final one */
    const char *stored; /* the part's path until the output is published; NULL: `path` */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t device, inode;
    /* An object at a URL: in the list's arena. `stored` is the URL, and `path` what is shown of it;
     * size, but no time, device and inode. NULL: a file. */
    const struct remote_identity *remote;
    bool detect; /* a small object that nothing was read of: its reader detects the compression */
    bool pipe;   /* standard input or a FIFO: `stored` is its copy */
    enum compression compression;     /* by its first bytes (text only), or else by its name */
    uint8_t format;                   /* enum format_kind: a file of columns; 0: none */
    bool nul_is_text;                 /* of the list: for its reader */
    int cancelled;                    /* of the list: while the driver reads it */
    const struct column_map *columns; /* input/column_map.h; NULL: rows stay as they are */
};

#define SPLIT_TO_END UINT64_MAX
/* The path of input whose lines another engine feeds (context_config.stdin_tasks). */
#define SPLIT_STDIN "-"

/* What rows of files of columns have: some of the files' columns, by name. */
struct row_column {
    uint32_t field; /* of the row, from 0; ascending */
    const char *name;
    bool key;       /* its zeros have no sign (glint_key_columns) */
    uint8_t common; /* enum arrow_common */
};

struct row_layout {
    uint32_t fields; /* of a row; those without a column are empty */
    uint32_t count;
    const struct row_column *columns;
    struct glint_slice types; /* of all fields, if rows are typed (typed_row.h); size 0: text */
};

/* A range of one file. A line belongs to the piece that contains its first byte. In a compressed
 * file offset and length count decompressed bytes; a file that is read whole, and an empty
 * one, has (0, SPLIT_TO_END).
 *
 * A file of many frames is cut between them. Such a piece is a range of the file on disk, whose
 * decompressed size is unknown: offset and length count from the start of its first frame. It has
 * the lines whose first byte is in [1, size of its frames], so that it need not look at the frame
 * before; the file's first piece starts at 0.
 *
 * Of a file of columns, offset and length count its pieces: row groups, record batches. */
struct split_piece {
    const char *path;
    const char *stored;      /* the path to open; NULL: `path`, which is the name in messages */
    uint64_t offset, length; /* length > 0 */
    uint64_t file_size;      /* on disk, when the splits were made */
    int64_t mtime_ns;
    uint64_t frames_start, frames_end; /* the range; frames_end 0: none */
    enum compression compression;
    const struct remote_identity *remote; /* of an object at a URL; NULL: a file */
    bool detect;                          /* struct input_file's */
    bool header;                          /* skip the first line; with offset 0 only */
    uint8_t format;                       /* enum format_kind: a file of columns; 0: none */
    const struct row_layout *layout;      /* of its rows; NULL: no file of columns */
    uint64_t rows_before; /* of a file of columns: rows of the row groups before `offset` */
    bool nul_is_text;     /* struct input_file's */
    uint8_t csv;          /* rows are records of CSV with this delimiter (input/csv.h); 0: lines */
    bool records;         /* of CSV, unchanged */
    /* Lines are objects of JSON: the pointers to their values (json_line.h), perhaps none;
     * data NULL: they are not. */
    struct glint_slice json;
    struct glint_slice nulls;         /* of CSV and JSON (input/csv.h) */
    int cancelled;                    /* struct input_file's; not encoded: a task has its own */
    const struct column_map *columns; /* input/column_map.h; NULL: rows stay as they are */
};

/* The piece that is a whole file, without its header. */
static inline struct split_piece split_whole_file(const struct input_file *file)
{
    return (struct split_piece){.path = file->path,
                                .stored = file->stored,
                                .length = SPLIT_TO_END,
                                .file_size = file->size,
                                .mtime_ns = file->mtime_ns,
                                .compression = file->compression,
                                .remote = file->remote,
                                .detect = file->detect,
                                .nul_is_text = file->nul_is_text,
                                .format = file->format,
                                .cancelled = file->cancelled,
                                .columns = file->columns};
}

struct split {
    const struct split_piece *pieces; /* in the order of reading */
    uint32_t count;                   /* 1 .. SPLIT_FILES_MAX */
};

/* Columns that the job chooses by name, or by number beside names, in files with headers. */
struct input_columns {
    struct glint_slice header; /* that the numbers are of; data NULL: files are not compared */
    uint8_t delimiter;         /* of lines */
    struct glint_column_use *uses;
    uint32_t count;
    bool united; /* the header is that of all files, which have its columns alone */
    const struct glint_slice *lines; /* the header of each file, so that it is read once; or NULL */
    bool differ;                     /* while it was made, two headers were different */
    bool missing;   /* a column by name that a file does not have is null, not an error */
    uint64_t moved; /* files whose rows are changed; the first of them */
    const char *first_moved;
};

/* A directory whose files are input, as the user named it or a glob matched it. */
struct input_dir {
    const char *path; /* in the list's arena */
    uint64_t device, inode;
};

/* An output that the job has saved and that is not published yet. */
struct saved_output {
    const char *path;      /* as the job named it */
    const char *directory; /* of its parts; NULL: explain, no parts were written */
    uint32_t stage, parts; /* explain: the stage that would write it, and its tasks */
    const struct saved_output *next;
};

struct input_spool;

struct input_list {
    struct input_spool *spool; /* for standard input and FIFOs; NULL: they are rejected */
    int cancelled; /* a descriptor that ends what blocks in the driver (base/cancel.h); 0: none */
    const struct saved_output *saved;      /* outputs of the job itself that paths may name */
    const struct saved_output **unwritten; /* explain: those of them that are input */
    uint32_t unwritten_count;
    struct input_file *files;
    uint64_t count;
    uint64_t bytes; /* of all files, their size on disk */
    enum input_content content;
    bool nul_is_text; /* NUL bytes do not make a file binary; set before resolving */
    /* The first line of each file is a header, not a row. Set by the caller, used by split.h. */
    bool header;
    bool skips_nested;  /* directories in a directory are no error; set before resolving */
    bool apart;         /* no split has parts of two files, and an empty file has one */
    uint8_t csv;        /* the delimiter of records of CSV, as `header`; 0: rows are lines */
    bool records;       /* of CSV stay as they are */
    struct buffer json; /* lines are objects of JSON: the pointers to their values (json_line.h) */
    bool json_lines;
    struct input_columns columns;       /* in the arena */
    bool has_columns;                   /* all files are files of columns */
    bool accepts_columns;               /* the job can read those */
    struct column_schemas *schemas;     /* those that were read, also by other lists */
    const struct column_schema *schema; /* of those files, once it was read (input/column_file.h) */
    const struct row_layout *layout; /* the columns that the job needs; NULL: all; in the arena */
    struct glint_slice types;        /* of the layout; in the arena */
    bool *keys;                      /* by column of the schema; NULL: none is; in the arena */
    struct glint_slice nulls;        /* as struct split_piece has them; in the arena */
    uint64_t capacity;
    struct input_dir *dirs;
    uint64_t dir_count, dir_capacity;
    struct arena arena;
};

/* The pointers, as struct split_piece has them. */
static inline struct glint_slice input_list_json(const struct input_list *list)
{
    if (!list->json_lines) return (struct glint_slice){NULL, 0};
    if (list->json.size == 0) return (struct glint_slice){(const uint8_t *)"", 0};
    return (struct glint_slice){list->json.data, list->json.size};
}

/* `paths` are files, directories, globs, file URLs of these (base/path.h), and URLs of objects
 * (input/remote_target.h), separated by commas; a comma
 * that belongs to a name has a backslash before it, and a backslash before a comma is doubled.
 * In a glob, ** matches any number of directories; at its end, all files in them. {a,b} is short
 * for two paths; a comma in braces does not end a path. Standard input
 * (-) and FIFOs are copied (input/input_source.h). If a file has exactly the given name, it is not
 * parsed as a list, URL or glob. The files of a directory and the matches of a glob are sorted by
 * bytes; names that start with _ or . are skipped. A directory inside a directory is not read, and
 * an error unless out->skips_nested. Duplicates are kept. A path in out->saved means that output,
 * even if a file has the name; `path` of its files is the one they will have when it is published.
 *
 * `out` is zeros except `saved`, `spool`, `cancelled`, `nul_is_text` and `skips_nested`; call
 * input_list_fini in any case. Returns 0 or a code: INPUT_NOT_FOUND, INPUT_PERMISSION, INPUT_KIND,
 * INPUT_FORMAT, INPUT_URL or INPUT_IO (of the first bad path; the cause lists all), INTERRUPTED,
 * SYSTEM, NO_MEMORY. */
int input_list_resolve(struct env *env, const char *paths, enum input_content content,
                       struct input_list *out, struct glint_error *error);
void input_list_fini(struct input_list *list);

#endif
