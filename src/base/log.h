/* SPDX-License-Identifier: MIT */
/*
 * log: lines to standard error or a file, as text or JSON, from any thread.
 *
 * Each line is written whole, with one write(2). err: the operator must act;
 * warn: degraded, going on; info: lifecycle, and one line per finished request;
 * debug: transitions. Callers escape what a peer sent (strbuf_escaped); secrets
 * and bodies are never passed here.
 */
#ifndef AB_LOG_H
#define AB_LOG_H

#include "base/strbuf.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/*
 * Bytes in a line with its newline: PIPE_BUF, up to which a pipe keeps lines
 * of several threads apart. A longer text is cut and ends in "...".
 */
#define LOG_LINE_MAX 4096
#define LOG_INSIDE_MAX (LOG_LINE_MAX - 96)

/* Process-wide; may be called again (reload). Default: info, text. */
void log_setup(enum log_level level, enum log_format format);
/* Where lines go; 2 at first. The fd is borrowed until the next call. */
void log_set_fd(int fd);
enum log_format log_get_format(void);
bool log_on(enum log_level level);

/* One line: time, level, text (text form), or {"time","level","msg"}. */
void log_put(enum log_level level, const char *fmt, ...) AB_PRINTF(2, 3);
/*
 * A line whose inside the caller built: in the text form its text, in the
 * JSON form members (`"a":1,"b":"x"`) that follow "time" and "level". `fd`:
 * where to (an access log), or -1 for where the log goes. The level is not
 * asked again. More than LOG_INSIDE_MAX bytes: text is cut, members are
 * replaced by a "msg" that says so; so cut what a peer sent beforehand.
 */
void log_line(int fd, enum log_level level, struct span inside);
#define log_err(...) log_put(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_put(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_put(LOG_INFO, __VA_ARGS__)
#define log_debug(...) (log_on(LOG_DEBUG) ? log_put(LOG_DEBUG, __VA_ARGS__) : (void)0)

/* AB_NEVER(cond): believed impossible. Logged and counted; fatal in debug builds. */
void log_never(const char *what, const char *file, int line);
unsigned long log_never_count(void);
#define AB_NEVER(cond) \
	(__builtin_expect(!!(cond), 0) ? (log_never(#cond, __FILE__, __LINE__), true) : false)

#endif
