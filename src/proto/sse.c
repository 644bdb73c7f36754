/* SPDX-License-Identifier: MIT */
/*
 * sse decides where an event ends and what its data is. It refuses to know what
 * an event is about.
 */
#include "proto/sse.h"

/* Cuts the line at *at off; false: it has not ended yet. A CR at the very end
 * may be half of a CRLF. */
static bool
next_line(struct span s, size_t *at, bool over, struct span *ret)
{
	size_t i = *at;

	while (i < s.n && s.p[i] != '\r' && s.p[i] != '\n')
		i++;
	if (i == s.n) {
		if (!over || i == *at)
			return false;
		*ret = (struct span){s.p + *at, i - *at};
		*at = i;
		return true;
	}
	*ret = (struct span){s.p + *at, i - *at};
	*at = i + 1;
	return true;
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
		if (!next_line(stream, &scan->at, false, &line))
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

	while (next_line(event, &at, true, &line)) {
		skip_lf(event, &at);
		if (!is_data(line, &value))
			continue;
		if (!first)
			strbuf_char(out, '\n');
		strbuf_span(out, value);
		first = false;
	}
}
