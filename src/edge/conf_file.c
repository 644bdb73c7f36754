/* SPDX-License-Identifier: MIT */
/*
 * conf_file.c: from files to the draft, through inih.
 *
 *   file -> next_line (conf_line.c) -> inih -> on_setting -> conf_draft_add
 *
 * Decides how a file is opened and how includes are found. inih tells neither
 * line numbers nor empty sections, so the reader that feeds it keeps the line
 * and the section at hand; a line that is bad is noted and reaches inih as an
 * empty one, so that all of them are found in one run.
 */
#include "edge/conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <ini.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/conf_line.h"
#include "edge/conf_preset.h"
#include "edge/conf_value.h"

struct reader {
	struct conf_draft *draft;
	struct conf_where where;      /* the line at hand */
	struct span rest;             /* of the text */
	struct conf_section *section; /* NULL: none yet, or a bad one */
	struct conf_section *preset;  /* the only one of this file; or NULL */
	bool any_section;
	bool below_key;
	bool skipping;           /* what continues a bad line is bad too */
	bool continued;          /* the line at hand is indented */
	struct conf_where from;  /* the include that led here */
	const struct reader *up; /* the file that it stands in, or NULL */
	unsigned depth;
	dev_t dev;
	ino_t ino; /* 0: no file */
};

static void read_text(struct reader *r, struct span text);
static void include_item(struct conf_draft *d, const struct reader *up,
    const char *base, struct span item, struct conf_where where);

/* --- lines --------------------------------------------------------------- */

static void
problem(const struct reader *r, const char *flaw)
{
	conf_problem(r->draft->problems, r->where, "%s", flaw);
}

static void
begin_section(struct reader *r, struct span header)
{
	r->any_section = true;
	r->below_key = false;
	r->section = r->preset != NULL
	    ? conf_preset_section(r->draft, r->preset, header, r->where)
	    : conf_draft_section(r->draft, header, r->where);
}

/* What inih is to see of the line. */
static struct span
screen_line(struct reader *r, struct span whole)
{
	static const struct span nothing = {"", 0};
	struct conf_line line = conf_line_of(whole, r->below_key);

	r->continued = line.kind == CONF_LINE_MORE;
	switch (line.kind) {
	case CONF_LINE_BLANK:
		return nothing;
	case CONF_LINE_BAD:
		problem(r, line.flaw);
		if (span_starts(whole, SPAN("["))) { /* whose keys are these? */
			r->any_section = true;
			r->section = NULL;
		}
		r->below_key = true;
		r->skipping = true;
		return nothing;
	case CONF_LINE_SECTION:
		begin_section(r, line.name);
		r->skipping = false;
		return line.text;
	case CONF_LINE_SETTING:
		if (!r->any_section)
			problem(r,
			    "a setting stands before the first "
			    "[section]");
		r->below_key = true;
		r->skipping = r->section == NULL;
		break;
	case CONF_LINE_MORE:
		break;
	}
	return r->skipping ? nothing : line.text;
}

/* As fgets: one line per call, NULL at the end. */
static char *
next_line(char *buf, int size, void *stream)
{
	struct reader *r = stream;
	struct span line, show;

	if (r->rest.p == NULL || r->rest.n == 0 || size <= CONF_LINE_MAX)
		return NULL;
	(void)span_cut(&r->rest, '\n', &line);
	r->where.line++;
	if (r->where.line == 1 && span_starts(line, SPAN("\xef\xbb\xbf")))
		line = (struct span){line.p + 3, line.n - 3}; /* BOM */
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	show = screen_line(r, line);
	/* A blank in front is what makes it a continuation. */
	size_t at = r->continued && show.n > 0;
	buf[0] = ' ';
	memcpy(buf + at, show.p, show.n);
	buf[at + show.n] = '\0';
	return buf;
}

static int
on_setting(void *user, const char *section, const char *key, const char *value)
{
	struct reader *r = user;
	const struct conf_option *opt;
	struct span rest = span_of(value), item;

	(void)section; /* r->section is where it stands */
	if (r->section == NULL)
		return 1;
	opt = conf_draft_add(r->draft, r->section, span_of(key), rest, r->where,
	    r->continued);
	if (opt == NULL) {
		r->skipping = true;
		return 1;
	}
	if (strcmp(opt->key, "include") != 0 || r->draft->include_overridden)
		return 1;
	while (value_next_item(&rest, &item))
		include_item(r->draft, r, r->where.file, item, r->where);
	return 1;
}

static void
read_text(struct reader *r, struct span text)
{
	r->rest = text;
	/* Lines that inih can't read never get there; if one did, or if this
	 * inih's line buffer is too small, it must not pass in silence. */
	if (ini_parse_stream(next_line, r, on_setting, r) != 0 ||
	    (r->rest.p != NULL && r->rest.n > 0))
		problem(r, "the INI library can't read this file");
}

/* --- files --------------------------------------------------------------- */

/* The whole of a file, to be freed. 0, or errno. */
static int
slurp(int fd, char **ret, size_t *ret_n)
{
	size_t n = 0, cap = 0;
	char *p = NULL;

	for (;;) {
		if (n == cap) {
			cap = cap ? 2 * cap : 4096;
			char *larger = mem_realloc(p, cap);
			if (larger == NULL) {
				mem_free(p);
				return ENOMEM;
			}
			p = larger;
		}
		ssize_t got = read(fd, p + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0)
			n += (size_t)got;
		if (got <= 0 || n > CONF_FILE_MAX) {
			int error = got < 0 ? errno : got > 0 ? EFBIG : 0;
			if (error)
				mem_free(p);
			*ret = error ? NULL : p;
			*ret_n = n;
			return error;
		}
	}
}

static const struct reader *
find_loop(const struct reader *r)
{
	for (const struct reader *up = r->up; up != NULL; up = up->up) {
		if (up->ino == r->ino && up->dev == r->dev && r->ino != 0)
			return up;
	}
	return NULL;
}

static void
cannot(const struct reader *r, const char *what)
{
	struct conf_where file = {.file = r->where.file};
	char from[CONF_WHERE_MAX];

	if (r->from.file != NULL)
		conf_problem(r->draft->problems, file, "%s (included at %s)",
		    what, conf_where_text(r->from, from));
	else
		conf_problem(r->draft->problems, file, "%s", what);
}

static void
cannot_errno(const struct reader *r, const char *verb, int error)
{
	char what[128];

	(void)snprintf(what, sizeof(what), "cannot %s: %s", verb,
	    error == EFBIG ? "it is larger than 4 MiB" : strerror(error));
	cannot(r, what);
}

/* Reads what is open; r->where.file is its name. */
static void
read_open(struct reader *r, int fd)
{
	struct stat st;
	char *text;
	size_t n;

	if (fstat(fd, &st) != 0) {
		cannot_errno(r, "read", errno);
		return;
	}
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	if (find_loop(r) != NULL || r->depth > CONF_DEPTH_MAX) {
		cannot(r,
		    find_loop(r) ? "the file includes itself"
				 : "more than 8 files include one "
				   "another");
		return;
	}
	int error = slurp(fd, &text, &n);
	if (error == ENOMEM) {
		r->draft->pool.failed = true;
	} else if (error) {
		cannot_errno(r, "read", error);
	} else {
		read_text(r, (struct span){text, n});
		mem_free(text);
	}
}

static void
read_path(struct reader *r, struct span path, bool regular_only)
{
	r->where.file = conf_pool_dup(&r->draft->pool, path);
	if (r->where.file == NULL)
		return;
	/* Not to hang on a pipe that a pattern happens to find. */
	struct stat st;
	if (regular_only && stat(r->where.file, &st) == 0 &&
	    !S_ISREG(st.st_mode)) {
		cannot(r, "it is no regular file");
		return;
	}
	int fd = open(r->where.file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		cannot_errno(r, "open", errno);
		return;
	}
	read_open(r, fd);
	(void)close(fd);
}

void
conf_file_read(struct conf_draft *d, const char *path)
{
	struct reader r = {.draft = d};

	read_path(&r, span_of(path), false);
}

void
conf_file_read_text(struct conf_draft *d, const char *name, struct span text)
{
	struct reader r = {.draft = d};

	r.where.file = conf_pool_dup(&d->pool, span_of(name));
	if (r.where.file != NULL)
		read_text(&r, text);
}

void
conf_file_read_preset(struct conf_draft *d, struct conf_section *preset,
    const char *name, struct span text)
{
	struct reader r = {.draft = d, .preset = preset, .where.file = name};

	read_text(&r, text);
}

/* --- includes ------------------------------------------------------------ */

static void
include_path(struct conf_draft *d, const struct reader *up, struct span path,
    struct conf_where where)
{
	struct reader r = {.draft = d,
	    .from = where,
	    .up = up,
	    .depth = up ? up->depth + 1 : 1};

	read_path(&r, path, true);
}

/* glob's errors go to a function without an argument for its caller. */
static _Thread_local int glob_error;

/* A directory that is not there holds no file, and that is fine. */
static int
on_glob_error(const char *path, int error)
{
	(void)path;
	glob_error = error;
	return error != ENOENT;
}

static void
include_pattern(struct conf_draft *d, const struct reader *up,
    const char *pattern, struct conf_where where)
{
	glob_t found;
	int rc = glob(pattern, 0, on_glob_error, &found);

	if (rc == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			include_path(d, up, span_of(found.gl_pathv[i]), where);
	} else if (rc == GLOB_NOSPACE) {
		d->pool.failed = true;
	} else if (rc != GLOB_NOMATCH) {
		conf_problem(d->problems, where,
		    "include '%s': cannot read a directory: %s", pattern,
		    strerror(glob_error));
	}
	globfree(&found);
}

static bool
is_pattern_char(char c)
{
	return c == '*' || c == '?' || c == '[';
}

static bool
is_pattern(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (is_pattern_char(s.p[i]))
			return true;
	}
	return false;
}

/*
 * The path, from where `base` stands when it is no absolute one. In front of a
 * pattern the directory of `base` is taken by the letter.
 */
static const char *
beside(struct conf_draft *d, const char *base, struct span item)
{
	const char *slash = strrchr(base, '/');
	struct strbuf b;

	strbuf_init(&b, SIZE_MAX);
	if (item.p[0] == '/' || slash == NULL)
		slash = base; /* nothing goes in front */
	else
		slash++;
	for (; base < slash; base++) {
		if (is_pattern(item) &&
		    (is_pattern_char(*base) || *base == '\\'))
			strbuf_char(&b, '\\');
		strbuf_char(&b, *base);
	}
	strbuf_span(&b, item);
	const char *path =
	    b.failed ? NULL : conf_pool_dup(&d->pool, strbuf_view(&b));
	d->pool.failed |= b.failed;
	strbuf_free(&b);
	return path;
}

static void
include_item(struct conf_draft *d, const struct reader *up, const char *base,
    struct span item, struct conf_where where)
{
	const char *path = beside(d, base, item);

	if (path == NULL)
		return;
	if (is_pattern(item))
		include_pattern(d, up, path, where);
	else
		include_path(d, up, span_of(path), where);
}

void
conf_file_include(struct conf_draft *d, const char *base, struct span list,
    struct conf_where where)
{
	struct span item;

	while (value_next_item(&list, &item))
		include_item(d, NULL, base, item, where);
}
