/* SPDX-License-Identifier: MIT */
/*
 * json_path: a JSON text, read once, and the values that a path finds in it.
 *
 *   PATH = step *( "." step )
 *   step = a name, as it is or in quotes ("@type", "a.b"; \" and \\ in them),
 *          a number of an array (from 0), or "*": all of an array or an object
 *
 * In an object a number is a name like any other.
 */
#ifndef AB_JSON_PATH_H
#define AB_JSON_PATH_H

#include "base/span.h"

#define JSON_PATH_STEPS_MAX 16
#define JSON_DEPTH_MAX 64 /* of a text: deeper ones are not read */
#define JSON_PATH_ALL_MAX 1000 /* that the "*" of a path stand for, all told */

/*
 * Once, before any thread is there that reads JSON: the library's memory comes
 * from base/mem. Without it all works, but no test can make it fail.
 */
void json_setup(void);

struct json_doc {
	void *root; /* owns; NULL: none */
};

/*
 * An object or array; what follows it is ignored, and so is a byte order mark
 * before it. Of a name given twice the last one counts. -1: no JSON (or not
 * UTF-8, or a NUL in a name), nested too deep, no memory.
 */
AB_MUST int json_doc_read(struct span text, struct json_doc *ret);
void json_doc_clear(struct json_doc *d); /* takes a cleared one */

/* A path made ready: its steps, one after the other. */
struct json_path {
	struct span steps; /* borrows; see json_path.c */
};

/*
 * Writes the steps of `text` to buf, of at least JSON_PATH_BYTES(text.n) bytes,
 * and *ret_n. 0, or -1 with *ret_why (static) and the offset of what is wrong.
 */
#define JSON_PATH_BYTES(n) ((n) + JSON_PATH_STEPS_MAX + 1)
AB_MUST int json_path_parse(struct span text, char *buf, size_t *ret_n,
    const char **ret_why, size_t *ret_at);

enum json_kind {
	JSON_VALUE_TEXT,
	JSON_VALUE_NUMBER, /* text: a decimal without an exponent */
	JSON_VALUE_WORD,   /* true, false */
	JSON_VALUE_TREE,   /* an object or an array: text is empty */
};

struct json_value {
	enum json_kind kind;
	struct span text; /* valid within the call that it is given to */
};

/*
 * Calls fn for each value that the path finds, in order, until it returns
 * true; returns whether it did. null is no value. What lies behind the first
 * JSON_PATH_ALL_MAX that a "*" stands for is not found.
 */
bool json_path_each(const struct json_doc *d, struct json_path path,
    bool (*fn)(void *arg, const struct json_value *v), void *arg);

#endif
