/* SPDX-License-Identifier: MIT */
/*
 * sse: the first event of an event stream, as far as it has come in (WHATWG
 * HTML, "server-sent events", parsing an event stream). Borrows; remembers
 * nothing but where a stream in pieces has been looked at.
 */
#ifndef AB_SSE_H
#define AB_SSE_H

#include "base/strbuf.h"

/* How far it has been looked at, so that small pieces cost linear time. Zeroed
 * before a new stream, kept while that only grows at its end. */
struct sse_scan {
	size_t at;    /* start of the first line not looked at */
	size_t seen;  /* up to here no end of that line was found */
	size_t event; /* start of the event at hand */
	bool data;    /* which has a data field */
};

/*
 * True: an event has ended in stream (a block of lines with a data field, then
 * an empty line), and *ret is it, without that empty line. Blocks without data
 * (comments that keep the line open, retry, id) are passed over. Lines end with
 * CR, LF or CRLF; a byte order mark at the start is no part of it.
 */
bool sse_first_event(struct span stream, struct sse_scan *scan,
    struct span *ret);

/* The data of an event: the values of its data fields, joined by LF. */
void sse_data(struct span event, struct strbuf *out);

#endif
