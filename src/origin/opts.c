/* SPDX-License-Identifier: MIT */
/*
 * The command line: what the options are called and what --help says. The
 * words of --limit are the parameters of URLs; wish.c has their table.
 */
#include "opts.h"

#include <getopt.h>

#include "amount.h"
#include "pages.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#define NAME "abide-origin"

enum { OPT_KEEP = 256, OPT_CONNS, OPT_IDLE, OPT_GRACE, OPT_PLAIN };

static const char short_options[] = "l:L:o:qvVh";
static const struct option long_options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"limit", required_argument, NULL, 'L'},
    {"log", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"max-connections", required_argument, NULL, OPT_CONNS},
    {"idle", required_argument, NULL, OPT_IDLE},
    {"grace", required_argument, NULL, OPT_GRACE},
    {"plain", no_argument, NULL, OPT_PLAIN},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help_top[] =
    "usage: " NAME " [option ...]\n"
    "\n"
    "A service with real limits, for tests: it refuses who comes too often,\n"
    "says when to come again, and reports who came too early.\n"
    "\n"
    "  -l, --listen HOST:PORT   listen there; [IPv6]:PORT, port 0 takes a\n"
    "                           free one; repeatable (default\n"
    "                           127.0.0.1:3190). Each is printed as a line\n"
    "                           \"listening on HOST:PORT\"\n"
    "  -L, --limit 'PATH WORDS' limits for PATH and all below it; repeatable,\n"
    "                           the longest PATH wins. WORDS are rates and\n"
    "                           pairs of a parameter and its value\n"
    "      --plain              only --limit rules and /report; all other\n"
    "                           paths are 200 and no query is read\n"
    "  -o, --log FILE           write each attempt as a line of JSON; - is\n"
    "                           standard output\n"
    "  -v, --verbose            print a line for each attempt\n"
    "  -q, --quiet              print no summary at the end\n"
    "      --keep N             remember the last N attempts (default 100000)\n"
    "      --grace TIME         an attempt so shortly after a hint was sent\n"
    "                           crossed it and is not early (default 0)\n"
    "      --idle TIME          close idle connections then (default 60s)\n"
    "      --max-connections N  accept no more at once (default 20000)\n"
    "  -V, --version            print the version\n"
    "  -h, --help               print this\n"
    "\n"
    "  SIGTERM or SIGINT stops it; it then prints a summary. Exit status: 0\n"
    "  after that, 1 wrong usage, 2 when something that it needs is missing,\n"
    "  such as a free port.\n"
    "\n"
    "Examples\n"
    "    " NAME " --limit '/api 200/s burst 20 hint seconds'\n"
    "    " NAME " -L '/ 90/min window fixed status 503 hint date' -v\n"
    "    " NAME " -L '/v1 10/s by header:Authorization' --log attempts.json\n"
    "    curl 'http://127.0.0.1:3190/fail?n=2&after=1&key=a'\n"
    "    curl http://127.0.0.1:3190/report/summary\n"
    "\n"
    "Paths\n";

static void
print_help(void)
{
	struct strbuf out;

	strbuf_init(&out, 65536);
	strbuf_lit(&out, help_top);
	page_help(&out);
	strbuf_lit(&out, "\nParameters, of every path and of --limit\n");
	wish_help(&out);
	strbuf_lit(&out, "\nMore, with examples: man " NAME "\n");
	(void)fwrite(out.p, 1, out.n, stdout);
	strbuf_free(&out);
}

static int
bad(const char *option, const char *value, const char *why)
{
	fprintf(stderr, NAME ": %s '%s': %s\n", option, value, why);
	return -1;
}

static int
add_rule(struct origin *o, const char *text)
{
	struct span words = span_trim(span_of(text)), path;
	struct rule *r = &o->rules[o->nrules];
	struct strbuf why;
	int rc = -1;

	if (o->nrules == ORIGIN_RULES_MAX)
		return bad("--limit", text, "too many rules");
	(void)span_cut(&words, ' ', &path);
	if (path.n == 0 || path.p[0] != '/')
		return bad("--limit", text,
		    "begin with a path, e.g. "
		    "'/api 200/s burst 20'");
	r->path = path;
	wish_init(&r->wish);
	o->nrules++;
	strbuf_init(&why, WISH_TEXT_MAX);
	if ((words.p == NULL || wish_words(&r->wish, words, &why) == 0) &&
	    wish_check(&r->wish, &why) == 0) {
		rc = 0;
	} else {
		strbuf_char(&why, '\0');
		(void)bad("--limit", text, why.failed ? "too long" : why.p);
	}
	strbuf_free(&why);
	return rc;
}

static int
number(const char *option, const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n;

	if (amount_count(span_of(text), max, &n) < 0 || n == 0)
		return bad(option, text, "a number from 1 up is needed");
	*ret = n;
	return 0;
}

static int
duration(const char *option, const char *text, int64_t *ret_ns)
{
	if (amount_time(span_of(text), ret_ns) < 0)
		return bad(option, text, "a time is needed, e.g. 250ms or 5s");
	return 0;
}

static int
add_listen(struct opts *p, const char *where)
{
	if (p->nlisten == SERVER_LISTENERS_MAX)
		return bad("--listen", where, "at most eight of them");
	p->listen[p->nlisten++] = where;
	return 0;
}

/* One option; 0, or -1 after a line on standard error. */
static int
take(struct opts *p, struct origin *o, int opt, const char *value)
{
	switch (opt) {
	case 'l':
		return add_listen(p, value);
	case 'L':
		return add_rule(o, value);
	case 'o':
		p->log = value;
		return 0;
	case 'q':
		p->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_PLAIN:
		o->plain = true;
		return 0;
	case OPT_KEEP:
		return number("--keep", value, 100000000, &p->keep);
	case OPT_CONNS:
		return number("--max-connections", value, 1000000,
		    &p->max_conns);
	case OPT_IDLE:
		return duration("--idle", value, &p->idle_ns);
	case OPT_GRACE:
		return duration("--grace", value, &o->grace_ns);
	default:
		return -1; /* getopt has told */
	}
}

enum opts_result
opts_parse(struct opts *p, struct origin *o, int argc, char **argv)
{
	int opt;

	*p = (struct opts){
	    .keep = 100000,
	    .max_conns = 20000,
	    .idle_ns = 60 * AMOUNT_SECOND_NS,
	};
	while ((opt = getopt_long(argc, argv, short_options, long_options,
		    NULL)) != -1) {
		if (opt == 'h') {
			print_help();
			return OPTS_DONE;
		}
		if (opt == 'V') {
			printf(NAME " (abided) " PACKAGE_VERSION "\n");
			return OPTS_DONE;
		}
		if (take(p, o, opt, optarg) < 0)
			goto usage;
	}
	if (optind < argc) {
		(void)bad("argument", argv[optind], "there is nothing for it");
		goto usage;
	}
	if (p->nlisten == 0)
		p->listen[p->nlisten++] = "127.0.0.1:3190";
	return OPTS_RUN;
usage:
	fprintf(stderr, "Try '" NAME " --help'.\n");
	return OPTS_BAD;
}
