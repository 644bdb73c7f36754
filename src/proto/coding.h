/* SPDX-License-Identifier: MIT */
/*
 * coding: content codings (RFC 9110 8.4) undone, so that the beginning of a
 * body can be read. Knows gzip and deflate, as many members as there are; at
 * most two codings, one upon the other.
 */
#ifndef AB_CODING_H
#define AB_CODING_H

#include "base/strbuf.h"
#include "head.h"

#define CODING_MAX 2

enum coding { CODING_GZIP, CODING_DEFLATE };

struct coding_list { /* in the order in which they were applied */
	unsigned n;  /* 0: the body is as it is */
	enum coding v[CODING_MAX];
};

/*
 * What Content-Encoding says, all its lines. identity is none; x-gzip is gzip.
 * 0, or -1: one that is not known here (br, zstd), or more than two.
 */
AB_MUST int coding_list_of(const struct head *h, struct coding_list *ret);

/*
 * Undoes the codings, the last one first. in: a body from its first byte on,
 * of which at most twice max bytes are read. *ret (made here, to be freed by
 * the caller, also on failure) gets at most max bytes; what a broken or
 * truncated stream gave before its fault is text all the same. *ret_whole: that
 * is all there is, which needs `whole` of the input, and its check sum right.
 * deflate: the zlib format, and the bare one that some servers mean by it.
 * Bytes behind a gzip stream that begin no other member are ignored.
 * 0, or -1 no memory. list->n must not be 0, nor max.
 */
AB_MUST int coding_undo(const struct coding_list *list, struct span in,
    bool whole, size_t max, struct strbuf *ret, bool *ret_whole);

#endif
