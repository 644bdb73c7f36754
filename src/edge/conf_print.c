/* SPDX-License-Identifier: MIT */
/*
 * conf_print.c: the option table as text for people.
 *
 * Decides how the example configuration, the option list and the part of the
 * manual page that lists the options look. Every word in them comes from the
 * table, so none can go stale: a test compares what is in the tree with what
 * is printed here.
 */
#include "base/mem.h"
#include "edge/conf_set.h"

#define WIDTH 78

static const struct {
	enum conf_in in;
	const char *header; /* in the example */
	const char *title;
	const char *about;
} sections[] = {
    {CONF_IN_PROXY, "[proxy]", "[proxy]",
	"The daemon as a whole: where it listens, for whom, and how much it "
	"takes on."},
    {CONF_IN_TLS, "[tls]", "[tls]",
	"Certificates and keys. The files are read at the start and at each "
	"reload."},
    {CONF_IN_DNS, "[dns]", "[dns]", "How names of servers are resolved."},
    {CONF_IN_DEFAULTS, "[defaults]", "[defaults] and [service NAME]",
	"Policy: how throttling is met. [defaults] holds for every server that "
	"no service names, each with a state of its own; a service begins with "
	"these values and changes what it gives itself. A list that it gives "
	"replaces the whole list."},
    {CONF_IN_SERVICE, "#[service example]", "[service NAME] only",
	"A service: servers that share one state, and with it limits and "
	"waiting line. All keys of [defaults] may stand here too, but those "
	"that say otherwise. A name may hold letters, digits, '.', '_' and "
	"'-'."},
};
#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

/* Each option is shown once, in the first section that it may stand in. */
static bool
shown_in(const struct conf_option *opt, enum conf_in in)
{
	size_t i = 0;

	while (!(opt->in & sections[i].in))
		i++;
	return sections[i].in == in;
}

/* Where else it may or may not stand, behind a full stop. */
static struct span
note_of(const struct conf_option *opt)
{
	if (opt->in == CONF_IN_DEFAULTS)
		return SPAN(" Not in a service.");
	if (opt->in == (CONF_IN_TLS | CONF_IN_POLICY))
		return SPAN(" May stand in [defaults] and in a service too.");
	return SPAN("");
}

/* A comment, broken between words. */
static void
print_comment(FILE *to, struct span text)
{
	struct span word;
	size_t column = 0;

	while (span_cut(&text, ' ', &word)) {
		if (column > 0 && column + 1 + word.n > WIDTH) {
			(void)fputc('\n', to);
			column = 0;
		}
		if (column == 0)
			column = (size_t)fprintf(to, "# %.*s", SPAN_ARG(word));
		else
			column += (size_t)fprintf(to, " %.*s", SPAN_ARG(word));
	}
	(void)fputc('\n', to);
}

/* "Takes a whole number from 1 to 256, or auto." */
static void
print_takes(FILE *to, const struct conf_option *opt)
{
	struct strbuf b;

	strbuf_init(&b, 2048);
	strbuf_lit(&b, "Takes ");
	conf_put_takes(&b, opt);
	strbuf_char(&b, '.');
	strbuf_span(&b, note_of(opt));
	if (opt->restart)
		strbuf_lit(&b, " A change waits for a restart.");
	print_comment(to, strbuf_view(&b));
	strbuf_free(&b);
}

/* A long list goes on in indented lines, as a line of the file may not be long.
 * Each of them is a setting of its own, so no comma stands between two. */
static void
print_value(FILE *to, const struct conf_option *opt, struct span value)
{
	int column = fprintf(to, "#%s = ", opt->key);
	struct span item;
	bool first = true;

	if (!opt->list) {
		(void)fprintf(to, "%.*s\n", SPAN_ARG(value));
		return;
	}
	while (span_next_item(&value, &item)) {
		if (!first && column + 2 + (int)item.n > WIDTH)
			column = fprintf(to, "\n#\t%.*s", SPAN_ARG(item));
		else
			column += fprintf(to, "%s%.*s", first ? "" : ", ",
			    SPAN_ARG(item));
		first = false;
	}
	(void)fputc('\n', to);
}

static void
print_option(FILE *to, const struct conf_option *opt)
{
	(void)fputc('\n', to);
	print_comment(to, span_of(opt->help));
	print_takes(to, opt);
	print_value(to, opt, span_of(opt->example ? opt->example : opt->def));
}

void
conf_print_example(FILE *to)
{
	print_comment(to,
	    SPAN("abided.conf: every option there is. What is "
		 "commented out below is the built-in default, "
		 "or an example where there is none."));
	(void)fputs("#\n", to);
	print_comment(to,
	    SPAN("A line that is indented continues the one "
		 "above. Comments begin with ';' or '#' at the "
		 "start of a line, or with \" ;\" behind a value. "
		 "A key may be repeated where it takes a list. "
		 "Check with: abided -t -c FILE"));
	for (size_t i = 0; i < NSECTIONS; i++) {
		(void)fputc('\n', to);
		print_comment(to, span_of(sections[i].about));
		(void)fprintf(to, "%s\n", sections[i].header);
		for (size_t j = 0; j < conf_noptions; j++) {
			if (shown_in(&conf_options[j], sections[i].in))
				print_option(to, &conf_options[j]);
		}
	}
}

/* --- the option list ----------------------------------------------------- */

/* What Markdown would take for markup inside a table. */
static void
print_cell(FILE *to, struct span text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (strchr("|*_[]<>\\", text.p[i]))
			(void)fputc('\\', to);
		(void)fputc(text.p[i], to);
	}
}

static void
print_row(FILE *to, const struct conf_option *opt)
{
	struct strbuf takes;

	strbuf_init(&takes, 2048);
	conf_put_takes(&takes, opt);
	(void)fprintf(to, "| `%s` | ", opt->key);
	print_cell(to, strbuf_view(&takes));
	if (opt->def != NULL)
		(void)fprintf(to, " | `%s` | ", opt->def);
	else
		(void)fputs(" | | ", to);
	print_cell(to, span_of(opt->help));
	print_cell(to, note_of(opt));
	(void)fprintf(to, " | %s |\n", opt->restart ? "restart" : "reload");
	strbuf_free(&takes);
}

void
conf_print_options(FILE *to)
{
	(void)fputs("# Options of abided.conf\n\n"
		    "\"Change\" says what makes a new value take effect: a "
		    "reload (SIGHUP) or a restart.\n",
	    to);
	for (size_t i = 0; i < NSECTIONS; i++) {
		(void)fprintf(to,
		    "\n## %s\n\n%s\n\n"
		    "| key | takes | default | what it does | change |\n"
		    "|---|---|---|---|---|\n",
		    sections[i].title, sections[i].about);
		for (size_t j = 0; j < conf_noptions; j++) {
			if (shown_in(&conf_options[j], sections[i].in))
				print_row(to, &conf_options[j]);
		}
	}
}

/* --- the manual page ----------------------------------------------------- */

/* One word of running text; `first` in its line, where . and ' would begin a
 * request. Returns its width. */
static size_t
print_roff_word(FILE *to, struct span word, bool first)
{
	if (first && (word.p[0] == '.' || word.p[0] == '\''))
		(void)fputs("\\&", to);
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] == '\\')
			(void)fputs("\\e", to);
		else
			(void)fputc(word.p[i], to);
	}
	return word.n;
}

/* Filled lines, each sentence on lines of its own, as mdoc wants it. */
static void
print_roff(FILE *to, struct span text)
{
	bool sentence_over = false;
	struct span word;
	size_t column = 0;

	while (span_cut(&text, ' ', &word)) {
		if (word.n == 0)
			continue;
		if (column > 0 &&
		    (sentence_over || column + 1 + word.n > WIDTH)) {
			(void)fputc('\n', to);
			column = 0;
		}
		if (column > 0)
			column += (size_t)fprintf(to, " ");
		column += print_roff_word(to, word, column == 0);
		sentence_over = word.p[word.n - 1] == '.';
	}
	(void)fputc('\n', to);
}

static void
print_item(FILE *to, const struct conf_option *opt)
{
	struct strbuf takes;

	(void)fprintf(to, ".It Cm %s\n", opt->key);
	print_roff(to, span_of(opt->help));
	strbuf_init(&takes, 2048);
	strbuf_lit(&takes, "Takes ");
	conf_put_takes(&takes, opt);
	strbuf_char(&takes, '.');
	strbuf_span(&takes, note_of(opt));
	if (opt->restart)
		strbuf_lit(&takes, " A change waits for a restart.");
	print_roff(to, strbuf_view(&takes));
	strbuf_free(&takes);
	if (opt->def != NULL)
		(void)fprintf(to, "Default:\n.Ql \"%s\" .\n", opt->def);
}

void
conf_print_man(FILE *to)
{
	for (size_t i = 0; i < NSECTIONS; i++) {
		/* The \& is for lint, which takes ] for a mistake there. */
		(void)fprintf(to, ".Ss %s\\&\n", sections[i].title);
		print_roff(to, span_of(sections[i].about));
		(void)fputs(".Bl -tag -width Ds\n", to);
		for (size_t j = 0; j < conf_noptions; j++) {
			if (shown_in(&conf_options[j], sections[i].in))
				print_item(to, &conf_options[j]);
		}
		(void)fputs(".El\n", to);
	}
}
