/* SPDX-License-Identifier: MIT */
/*
 * head.c: scans heads line by line, strictly.
 *
 * Decides what is a head, by the grammar of RFC 9112 alone. It refuses to know
 * what fields mean: framing, target and forward judge that.
 *
 *     find LF -> limits -> start line or field line -> ... -> empty line
 *                  |
 *                  +-- no LF yet: the same line functions judge the part that
 *                      is there (struct line, whole = false)
 *
 * Whole and plain field lines, as nearly all are, take a shorter way
 * (plain_fields); it may only accept, and leaves every doubt to the functions
 * below. One function per kind of line judges both a whole line and the
 * beginning of one. So a fault is certain at the same byte, and has the same
 * verdict, however the bytes were cut into pieces. Limits are checked in the
 * order of the bytes too: first what lies inside the limit, then the limit.
 */
#include "proto/head.h"

#include "proto/octet.h"

/* A line, or as much as there is of it, without its line end. */
struct line {
	const char *p, *end; /* borrow the caller's buffer */
	const char *from;    /* bytes before it are known to be good */
	bool whole;
};

struct parser {
	const char *buf;     /* borrows */
	size_t n;            /* never more than head_bytes */
	const char *last_lf; /* in buf[scan.line, n), or NULL */
	const struct head_limits *lim;
	struct head *h; /* borrows */
	const char *why;
};

/* Where the text that starts at p can go on being checked. */
static const char *
resume_at(const char *p, const struct line *l)
{
	return p < l->from ? l->from : p;
}

/*
 * The end of the part that starts at p. Among the bytes that were good before
 * `l->from` only `stop` can have ended it.
 */
static const char *
part_end(const char *p, const struct line *l, char stop,
    const char *(*skip)(const char *p, const char *end))
{
	if (p < l->from) {
		const char *at = memchr(p, stop, (size_t)(l->from - p));

		if (at != NULL)
			return at;
		p = l->from;
	}
	return skip(p, l->end);
}

static enum head_result
bad(struct parser *ps, const char *why)
{
	ps->why = why;
	return HEAD_BAD;
}

/* The line ended, or the bytes did. */
static enum head_result
ran_out(struct parser *ps, const struct line *l, const char *why)
{
	return l->whole ? bad(ps, why) : HEAD_AGAIN;
}

/*
 * p[0, n) begins like "HTTP/d.d". Other versions than ours are faults only
 * when the rest of the line is known to be good.
 */
static bool
like_version(const char *p, size_t n)
{
	static const char form[] = "HTTP/0.0";

	if (n >= 8 && (memcmp(p, "HTTP/1.1", 8) == 0))
		return true; /* nearly always */
	for (size_t i = 0; i < n && i < sizeof(form) - 1; i++) {
		if (form[i] == '0' ? !octet_is_digit(p[i]) : p[i] != form[i])
			return false;
	}
	return true;
}

/* p[0, 8) is like a version. */
static enum head_result
take_version(struct parser *ps, const char *p)
{
	if (p[5] != '1' || p[7] > '1') {
		ps->why = "HTTP version other than 1.0 and 1.1";
		return HEAD_VERSION;
	}
	ps->h->minor = p[7] == '1';
	return HEAD_OK;
}

/* The third part of a request line. */
static enum head_result
request_version(struct parser *ps, const struct line *l, const char *p)
{
	size_t n = (size_t)(l->end - p);

	if (!like_version(p, n) || n > 8)
		return bad(ps,
		    "request line does not end with an HTTP version");
	if (n < 8 || !l->whole)
		return ran_out(ps, l, "HTTP version is cut short");
	return take_version(ps, p);
}

/* method SP request-target SP HTTP-version (RFC 9112 3) */
static enum head_result
request_line(struct parser *ps, const struct line *l)
{
	struct head *h = ps->h;
	const char *p = l->p;
	const char *q = part_end(p, l, ' ', octet_skip_token);

	if (q == l->end)
		return ran_out(ps, l, "request line without a target");
	if (q == p || *q != ' ')
		return bad(ps, "method is not a token followed by a space");
	h->method = (struct span){p, (size_t)(q - p)};
	p = q + 1;
	q = part_end(p, l, ' ', octet_skip_visible);
	if (q == l->end)
		return ran_out(ps, l, "request line without an HTTP version");
	if (*q != ' ')
		return bad(ps, "control or non-ASCII byte in the target");
	if (q == p)
		return bad(ps, "more than one space before the target");
	h->target = (struct span){p, (size_t)(q - p)};
	return request_version(ps, l, q + 1);
}

/* HTTP-version SP 3DIGIT [ SP [ reason-phrase ] ] (RFC 9112 4) */
static enum head_result
status_line(struct parser *ps, const struct line *l)
{
	const char *p = l->p;
	size_t n = (size_t)(l->end - p);
	size_t i;

	if (!like_version(p, n) || (n > 8 && p[8] != ' '))
		return bad(ps, "not an HTTP status line");
	for (i = 9; i < n && i < 12; i++) {
		if (!octet_is_digit(p[i]) || (i == 9 && p[i] == '0'))
			return bad(ps, "status is not a number of 100 to 999");
	}
	if (n < 12)
		return ran_out(ps, l, "status line is cut short");
	if (n > 12 && p[12] != ' ')
		return bad(ps, "status is not followed by a space");
	if (n > 13 && octet_skip_text(resume_at(p + 13, l), l->end) != l->end)
		return bad(ps, "control byte in the reason phrase");
	if (!l->whole)
		return HEAD_AGAIN;
	ps->h->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
	ps->h->reason = (struct span){p + n, 0};
	if (n > 13)
		ps->h->reason = (struct span){p + 13, n - 13};
	return take_version(ps, p);
}

/* fields[i] was scanned and found good: gives it its id. */
static void
note_field(struct head *h, unsigned i)
{
	enum field_id id = head_field_id(h->fields[i].name);
	uint64_t bit = UINT64_C(1) << id;

	h->fields[i].id = id;
	if (h->seen & bit) {
		h->again |= bit;
		return;
	}
	h->seen |= bit;
	h->first[id] = (uint8_t)i;
}

/* field-name ":" OWS field-value OWS (RFC 9112 5); the line is not empty. */
static enum head_result
field_line(struct parser *ps, const struct line *l, struct field *f)
{
	const char *p = l->p;
	const char *q;

	if (octet_is_blank(*p))
		return bad(ps, "folded field line");
	q = part_end(p, l, ':', octet_skip_token);
	if (q == l->end)
		return ran_out(ps, l, "field line without a colon");
	if (*q != ':')
		return bad(ps, "field name is not directly followed by \":\"");
	if (q == p)
		return bad(ps, "field line without a name");
	if (octet_skip_text(resume_at(q + 1, l), l->end) != l->end)
		return bad(ps, "control byte in a field value");
	if (!l->whole)
		return HEAD_AGAIN;
	f->name = (struct span){p, (size_t)(q - p)};
	f->value = span_trim((struct span){q + 1, (size_t)(l->end - (q + 1))});
	return HEAD_OK;
}

/*
 * A field line from p that ends with CRLF before `end`; end[-1] is LF, which
 * stops every loop. Returns the next line, or NULL where a closer look is due.
 */
static const char *
plain_field(const char *p, const char *end, struct field *f)
{
	const char *q = p, *v, *stop;

	while (octet_is(*q, OCTET_TOKEN))
		q++;
	if (q == p || *q != ':')
		return NULL;
	v = q + 1;
	if (*v == ' ')
		v++;
	stop = octet_skip_text(v, end);
	if (*stop != '\r' || stop[1] != '\n')
		return NULL;
	f->name = (struct span){p, (size_t)(q - p)};
	f->value = (struct span){v, (size_t)(stop - v)};
	if (v < stop && (octet_is_blank(*v) || octet_is_blank(stop[-1])))
		f->value = span_trim(f->value);
	return stop + 2;
}

/* Takes field lines as long as they are plain. */
static void
plain_fields(struct parser *ps, struct head_scan *s)
{
	struct head *h = ps->h;
	const char *p = ps->buf + s->line;
	unsigned lines = s->lines, most = ps->lim->fields;

	if (most > HEAD_FIELDS_MAX)
		most = HEAD_FIELDS_MAX;
	/* A line that was begun in an earlier call is not looked at again. */
	if (s->at != s->line)
		return;
	while (p < ps->last_lf && lines <= most) {
		const char *next =
		    plain_field(p, ps->last_lf + 1, &h->fields[lines - 1]);

		if (next == NULL)
			break;
		note_field(h, lines - 1);
		lines++;
		p = next;
	}
	s->lines = lines;
	s->at = s->line = (size_t)(p - ps->buf);
}

static enum head_result
one_line(struct parser *ps, const struct head_scan *s, const struct line *l)
{
	struct head *h = ps->h;
	struct field *f;
	enum head_result r;

	if (s->lines == 0)
		return h->is_request ? request_line(ps, l) : status_line(ps, l);
	if (s->lines > ps->lim->fields || s->lines > HEAD_FIELDS_MAX) {
		ps->why = "too many header fields";
		return HEAD_TOO_LARGE;
	}
	f = &h->fields[s->lines - 1];
	r = field_line(ps, l, f);
	if (r == HEAD_OK)
		note_field(h, s->lines - 1);
	return r;
}

/*
 * There is no LF within the limit. Judges what is there of the line: its first
 * `line_max` bytes, and one more that tells whether the limit is passed.
 */
static enum head_result
partial_line(struct parser *ps, struct head_scan *s, size_t line_max)
{
	const char *p = ps->buf + s->line;
	size_t avail = ps->n - s->line;
	size_t n = avail > line_max ? line_max + 1 : avail;
	/* A CR at the end may be half of a line end. */
	size_t good = n > 0 && p[n - 1] == '\r' ? n - 1 : n;
	struct line l = {.p = p, .end = p + good, .from = ps->buf + s->at};
	enum head_result r = HEAD_AGAIN;

	if (good > 0)
		r = one_line(ps, s, &l);
	if (r != HEAD_AGAIN)
		return r;
	if (good > line_max) {
		ps->why = "request line too long";
		return HEAD_URI_TOO_LONG;
	}
	if (good < n && n < avail)
		return bad(ps, "CR that does not end a line");
	s->at = s->line + good;
	return HEAD_AGAIN;
}

/* The empty line of n bytes with its line end. HEAD_OK: the head is whole. */
static enum head_result
empty_line(struct parser *ps, struct head_scan *s, size_t n)
{
	if (s->lines > 0) {
		ps->h->bytes = s->line + n;
		ps->h->nfields = s->lines - 1;
		return HEAD_OK;
	}
	if (!ps->h->is_request)
		return bad(ps, "empty line instead of a status line");
	if (s->line > 0)
		return bad(ps, "empty lines instead of a request line");
	s->at = s->line = n;
	return HEAD_AGAIN;
}

/* The line end in p[0, avail), or NULL where the limit or the bytes end. */
static const char *
find_lf(const struct parser *ps, const struct head_scan *s, size_t line_max)
{
	const char *p = ps->buf + s->line;
	const char *from = ps->buf + s->at;
	size_t avail = ps->n - s->line;
	const char *lf;

	if (avail > line_max && avail - line_max > 2)
		avail = line_max + 2;
	if (from >= p + avail)
		return NULL;
	lf = memchr(from, '\n', (size_t)(p + avail - from));
	/* One byte over the limit, then a bare LF: over all the same. */
	if (lf != NULL && (size_t)(lf - p) > line_max && lf[-1] != '\r')
		return NULL;
	return lf;
}

/* What comes before the LF is judged first, as if the LF had not come yet. */
static enum head_result
bare_lf(struct parser *ps, const struct head_scan *s, struct line *l)
{
	enum head_result r = HEAD_AGAIN;

	l->whole = false;
	if (l->end > l->p)
		r = one_line(ps, s, l);
	return r == HEAD_AGAIN ? bad(ps, "line ends with a bare LF") : r;
}

/* Goes on to the next line; HEAD_OK: that was the last. */
static enum head_result
next_line(struct parser *ps, struct head_scan *s, bool *ret_more)
{
	bool limited = ps->h->is_request && s->lines == 0;
	size_t line_max = limited ? ps->lim->line_bytes : SIZE_MAX - 2;
	const char *p = ps->buf + s->line;
	const char *lf = find_lf(ps, s, line_max);
	struct line l = {.p = p, .end = lf, .whole = true};
	enum head_result r;

	*ret_more = false;
	if (lf == NULL)
		return partial_line(ps, s, line_max);
	l.from = ps->buf + s->at;
	if (lf > p && lf[-1] == '\r')
		l.end = lf - 1;
	else if (ps->h->is_request)
		return bare_lf(ps, s, &l);
	if (l.end == p) {
		r = empty_line(ps, s, (size_t)(lf + 1 - p));
		*ret_more = r == HEAD_AGAIN;
		return r;
	}
	r = one_line(ps, s, &l);
	if (r != HEAD_OK)
		return r;
	s->lines++;
	s->at = s->line = (size_t)(lf + 1 - ps->buf);
	*ret_more = true;
	return HEAD_AGAIN;
}

static enum head_result
scan_head(struct parser *ps, struct head_scan *s)
{
	bool resumed = s->lines > 0;
	bool more;
	enum head_result r;

	do {
		if (s->lines > 0 && ps->last_lf != NULL)
			plain_fields(ps, s);
		r = next_line(ps, s, &more);
		if (r == HEAD_OK && resumed) {
			/* *h knows the lines of this call only: once more. */
			*s = (struct head_scan){0};
			ps->h->seen = ps->h->again = 0;
			resumed = false;
			more = true;
		}
	} while (more);
	return r;
}

static enum head_result
head_any(struct parser *ps, size_t n, struct head_scan *scan)
{
	enum head_result r;

	ps->n = n < ps->lim->head_bytes ? n : ps->lim->head_bytes;
	ps->last_lf = memrchr(ps->buf + scan->line, '\n', ps->n - scan->line);
	ps->h->nfields = 0;
	ps->h->seen = ps->h->again = 0;
	r = scan_head(ps, scan);
	if (r == HEAD_OK)
		*scan = (struct head_scan){0};
	if (r != HEAD_AGAIN || ps->n < ps->lim->head_bytes)
		return r;
	ps->why = "header section too large";
	return HEAD_TOO_LARGE;
}

enum head_result
head_request(const char *buf, size_t n, struct head_scan *scan,
    const struct head_limits *lim, struct head *h, const char **ret_why)
{
	struct parser ps = {.buf = buf, .lim = lim, .h = h};
	enum head_result r;

	h->is_request = true;
	h->status = 0;
	h->reason = (struct span){0};
	r = head_any(&ps, n, scan);
	if (ps.why != NULL)
		*ret_why = ps.why;
	return r;
}

enum head_result
head_response(const char *buf, size_t n, struct head_scan *scan,
    const struct head_limits *lim, struct head *h, const char **ret_why)
{
	struct parser ps = {.buf = buf, .lim = lim, .h = h};
	enum head_result r;

	h->is_request = false;
	h->method = h->target = (struct span){0};
	r = head_any(&ps, n, scan);
	if (ps.why != NULL)
		*ret_why = ps.why;
	return r;
}

int
head_field_line(struct span line, struct field *ret, const char **ret_why)
{
	struct parser ps = {.buf = line.p};
	struct line l = {
	    .p = line.p,
	    .end = line.p + line.n,
	    .from = line.p,
	    .whole = true,
	};
	struct field f;

	if (line.n == 0) {
		*ret_why = "empty field line";
		return -1;
	}
	if (field_line(&ps, &l, &f) != HEAD_OK) {
		*ret_why = ps.why;
		return -1;
	}
	f.id = head_field_id(f.name);
	*ret = f;
	return 0;
}
