/* SPDX-License-Identifier: MIT */
/*
 * log.c: one line, one write(2).
 *
 * Decides how a line looks and when it is cut. It refuses to know what is
 * worth a line. No lock and no heap: a line is built on the stack, so that
 * a thread out of memory can still say so, and PIPE_BUF bytes or less are
 * written at once, so that lines of several threads never mix. A line that
 * the other end does not take (a full pipe, a full disk) is lost in the end.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CLOGGED_MS 100 /* how long a full pipe is waited for, once */

/* Settings are words of their own: a reader may see a reload half done. */
static atomic_int log_level_now = LOG_INFO;
static atomic_int log_format_now = LOG_TEXT;
static atomic_int log_fd_now = STDERR_FILENO;
static atomic_ulong never_count;
static atomic_ulong lost_count; /* lines, since the last one that was told */

static const char *const level_names[] = {
    [LOG_ERR] = "err",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

void
log_setup(enum log_level level, enum log_format format)
{
	atomic_store_explicit(&log_level_now, (int)level, memory_order_relaxed);
	atomic_store_explicit(&log_format_now, (int)format,
	    memory_order_relaxed);
}

void
log_set_fd(int fd)
{
	atomic_store_explicit(&log_fd_now, fd, memory_order_relaxed);
}

enum log_format
log_get_format(void)
{
	return (enum log_format)atomic_load_explicit(&log_format_now,
	    memory_order_relaxed);
}

bool
log_on(enum log_level level)
{
	return (int)level <=
	    atomic_load_explicit(&log_level_now, memory_order_relaxed);
}

/* `max` leaves the byte that strbuf keeps for a NUL: it never reallocates. */
static struct strbuf
over(char *p, size_t bytes)
{
	return (struct strbuf){.p = p, .cap = bytes, .max = bytes - 1};
}

/*
 * 2026-12-01T06:00:00.123Z. The part down to seconds is kept per thread:
 * gmtime_r takes a lock of the C library.
 */
static void
put_time(struct strbuf *b)
{
	static _Thread_local char text[32];
	static _Thread_local time_t text_s = -1;
	int64_t now_ms = clock_wall_ms();
	time_t now_s = (time_t)(now_ms / 1000);
	struct tm tm;

	if (now_s != text_s && gmtime_r(&now_s, &tm) != NULL) {
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		text_s = now_s;
	}
	strbuf_fmt(b, "%s.%03dZ", text, (int)(now_ms % 1000));
}

static void
put_head(struct strbuf *b, enum log_format format, enum log_level level)
{
	if (format == LOG_JSON)
		strbuf_lit(b, "{\"time\":\"");
	put_time(b);
	if (format == LOG_JSON)
		strbuf_fmt(b, "\",\"level\":\"%s\",", level_names[level]);
	else
		strbuf_fmt(b, " %s ", level_names[level]);
}

/* A control is a caller's mistake; it still must not end the line. */
static void
put_text(struct strbuf *b, struct span s)
{
	bool cut = s.n > LOG_INSIDE_MAX;

	if (cut)
		s.n = LOG_INSIDE_MAX;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		strbuf_char(b, c < 0x20 || c == 0x7f ? '?' : s.p[i]);
	}
	if (cut)
		strbuf_lit(b, "...");
}

/* Escapes make text up to six times longer: cuts until it fits. */
static void
put_msg(struct strbuf *b, struct span s)
{
	size_t begin = b->n, max = b->max;
	bool cut = s.n > LOG_INSIDE_MAX;

	if (cut)
		s.n = LOG_INSIDE_MAX;
	b->max = begin + LOG_INSIDE_MAX;
	for (;;) {
		strbuf_lit(b, "\"msg\":");
		strbuf_json(b, s);
		if (!b->failed)
			break;
		cut = true;
		s.n -= s.n / 4 + 1;
		b->failed = false;
		b->n = begin;
	}
	b->max = max;
	if (cut) {
		b->n--; /* the closing quote */
		strbuf_lit(b, "...\"");
	}
}

static void
put_members(struct strbuf *b, struct span s)
{
	if (s.n <= LOG_INSIDE_MAX)
		strbuf_span(b, s);
	else
		strbuf_lit(b, "\"msg\":\"line too long\"");
}

/*
 * A full pipe that nobody reads must not stop a worker, and a reader that is
 * behind for a moment must not cost a line: it is waited for a little, once;
 * then lines are lost at once until it takes them again. A pipe that polls as
 * writable has room for PIPE_BUF bytes, which is a line (pipe(7)).
 */
static bool
takes_a_line(int fd)
{
	static atomic_bool clogged;
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	bool was = atomic_load_explicit(&clogged, memory_order_relaxed);
	bool takes = poll(&p, 1, was ? 0 : CLOGGED_MS) != 0;

	if (takes == was)
		atomic_store_explicit(&clogged, !takes, memory_order_relaxed);
	if (!takes)
		atomic_fetch_add_explicit(&lost_count, 1, memory_order_relaxed);
	return takes;
}

/* Where lines were lost, the first one after them says so. */
static void
tell_lost(struct strbuf *b, enum log_format format)
{
	unsigned long n =
	    atomic_exchange_explicit(&lost_count, 0, memory_order_relaxed);

	if (n == 0)
		return;
	put_head(b, format, LOG_WARN);
	strbuf_fmt(b,
	    format == LOG_JSON
		? "\"msg\":\"%lu log lines were lost: nobody read them\"}\n"
		: "%lu log lines were lost: nobody read them\n",
	    n);
}

static void
write_line(int fd, struct strbuf *b, enum log_format format)
{
	ssize_t n;

	if (format == LOG_JSON)
		strbuf_char(b, '}');
	strbuf_char(b, '\n');
	if (fd < 0)
		fd = atomic_load_explicit(&log_fd_now, memory_order_relaxed);
	if (!takes_a_line(fd))
		return;
	do {
		n = write(fd, b->p, b->n);
	} while (n < 0 && errno == EINTR);
	if (atomic_load_explicit(&lost_count, memory_order_relaxed) == 0)
		return;
	b->n = 0;
	tell_lost(b, format);
	if (b->n && takes_a_line(fd))
		(void)!write(fd, b->p, b->n);
}

void
log_put(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX + 1], text[LOG_LINE_MAX];
	struct strbuf b = over(line, sizeof(line));
	enum log_format format = log_get_format();
	int saved_errno = errno;
	struct span msg;
	va_list ap;
	int n;

	if (!log_on(level))
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	msg = (struct span){text, n < 0 ? 0 : (size_t)n};
	if (msg.n >= sizeof(text))
		msg.n = sizeof(text) - 1;
	put_head(&b, format, level);
	if (format == LOG_JSON)
		put_msg(&b, msg);
	else
		put_text(&b, msg);
	write_line(-1, &b, format);
	errno = saved_errno;
}

void
log_line(int fd, enum log_level level, struct span inside)
{
	char line[LOG_LINE_MAX + 1];
	struct strbuf b = over(line, sizeof(line));
	enum log_format format = log_get_format();
	int saved_errno = errno;

	put_head(&b, format, level);
	if (format == LOG_JSON)
		put_members(&b, inside);
	else
		put_text(&b, inside);
	write_line(fd, &b, format);
	errno = saved_errno;
}

void
log_never(const char *what, const char *file, int line)
{
	atomic_fetch_add_explicit(&never_count, 1, memory_order_relaxed);
	log_put(LOG_ERR, "never: %s (%s:%d)", what, file, line);
#ifdef AB_DEBUG
	abort();
#endif
}

unsigned long
log_never_count(void)
{
	return atomic_load_explicit(&never_count, memory_order_relaxed);
}
