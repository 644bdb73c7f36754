/* SPDX-License-Identifier: MIT */
/*
 * sse decides where an event ends and what its data is. It refuses to know what
 * an event is about.
 */
#include "proto/sse.h"

/* From `from` on, where a line ends, or the stream so far. */
static size_t
line_end(struct span s, size_t from)
{
	while (from < s.n && s.p[from] != '\r' && s.p[from] != '\n')
		from++;
	return from;
}

/* Cuts the line at *at off; false: there is none. The last one needs no end. */
static bool
next_line(struct span s, size_t *at, struct span *ret)
{
	size_t end = line_end(s, *at);

	if (end == s.n && end == *at)
		return false;
	*ret = (struct span){s.p + *at, end - *at};
	*at = end < s.n ? end + 1 : end;
	return true;
}

/* The same of a stream in pieces; false: the line has not ended yet. A CR at the
 * very end may be half of a CRLF. */
static bool
whole_line(struct span s, struct sse_scan *scan, struct span *ret)
{
	size_t from = scan->seen > scan->at ? scan->seen : scan->at;

	scan->seen = line_end(s, from);
	return scan->seen < s.n && next_line(s, &scan->at, ret);
}

/* The LF of a CRLF whose CR ended a line. */
static void
skip_lf(struct span s, size_t *at)
{
	if (*at > 0 && *at < s.n && s.p[*at] == '\n' && s.p[*at - 1] == '\r')
		++*at;
}

/* "data" or "data: value"; *ret its value. */
static bool
is_data(struct span line, struct span *ret)
{
	if (!span_starts(line, SPAN("data")))
		return false;
	*ret = (struct span){line.p + 4, line.n - 4};
	if (ret->n == 0)
		return true;
	if (ret->p[0] != ':')
		return false;
	ret->p++;
	ret->n--;
	if (ret->n > 0 && ret->p[0] == ' ') {
		ret->p++;
		ret->n--;
	}
	return true;
}

bool
sse_first_event(struct span stream, struct sse_scan *scan, struct span *ret)
{
	struct span line, value;
	size_t start;

	if (scan->at == 0 && span_starts(stream, SPAN("\xef\xbb\xbf")))
		scan->at = scan->event = 3;
	for (;;) {
		bool fresh = scan->event == scan->at;

		skip_lf(stream, &scan->at);
		start = scan->at;
		if (fresh)
			scan->event = start;
		if (!whole_line(stream, scan, &line))
			return false;
		if (line.n > 0) {
			scan->data = scan->data || is_data(line, &value);
			continue;
		}
		if (scan->data) {
			*ret = (struct span){stream.p + scan->event,
			    start - scan->event};
			return true;
		}
		scan->event = scan->at;
	}
}

void
sse_data(struct span event, struct strbuf *out)
{
	struct span line, value;
	bool first = true;
	size_t at = 0;

	while (next_line(event, &at, &line)) {
		skip_lf(event, &at);
		if (!is_data(line, &value))
			continue;
		if (!first)
			strbuf_char(out, '\n');
		strbuf_span(out, value);
		first = false;
	}
}
