/* SPDX-License-Identifier: MIT */
/*
 * args.c: one table of all options of all commands.
 *
 * Decides what an option is called and what values it takes. It knows no
 * command.
 */
#include "ctl/args.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/ca.h"

static const struct {
	unsigned bit;
	char letter;       /* 0: none */
	const char *name;  /* NULL: only the letter */
	const char *value; /* NULL: takes none */
	const char *help;
} rows[] = {
    /* clang-format off */
	{ARG_CONF, 'c', NULL, "FILE",
	    "configuration (default " ARGS_CONF_DEFAULT ")"},
	{ARG_SET, 's', NULL, "SECTION.KEY=VALUE",
	    "set one option of it, as abided -s does"},
	{ARG_CERT, 0, "cert", "FILE",
	    "the CA's certificate (default: ca_cert in [tls])"},
	{ARG_KEY, 0, "key", "FILE",
	    "its private key (default: ca_key in [tls])"},
	{ARG_HOST, 0, "host", "PATTERN",
	    "a host that it may sign for, NAME, *.NAME or an address; may be\n"
	    "repeated (default: the hosts of services with tls = intercept)"},
	{ARG_NAME, 0, "name", "TEXT",
	    "the CA's name (default: \"abided CA (HOSTNAME)\")"},
	{ARG_DAYS, 0, "days", "N", "how long it is valid (default 3650)"},
	{ARG_DER, 0, "der", NULL, "DER, not PEM"},
	{ARG_OUT, 0, "out", "FILE", "write it there, not to standard output"},
	{ARG_HELP, 'h', "help", NULL, "print help and exit"},
	{ARG_VERSION, 'V', "version", NULL, "print the version and exit"},
    /* clang-format on */
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* A long option without a letter comes out of getopt as this and its row. */
#define LONG_BASE 256

struct getopt_tables {
	char letters[2 * NROWS + 1];
	struct option longs[NROWS + 1];
};

static void
fill_tables(struct getopt_tables *t)
{
	size_t nletters = 0, nlongs = 0;

	*t = (struct getopt_tables){.letters = ""};
	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].letter) {
			t->letters[nletters++] = rows[i].letter;
			if (rows[i].value)
				t->letters[nletters++] = ':';
		}
		if (!rows[i].name)
			continue;
		t->longs[nlongs++] = (struct option){
		    .name = rows[i].name,
		    .has_arg = rows[i].value ? required_argument : no_argument,
		    .val = LONG_BASE + (int)i,
		};
	}
}

static unsigned
bit_of(int c)
{
	for (size_t i = 0; i < NROWS; i++) {
		if (c == LONG_BASE + (int)i || c == rows[i].letter)
			return rows[i].bit;
	}
	return 0;
}

static int
read_days(const char *text, unsigned *ret)
{
	uint64_t days;

	if (span_u64(span_of(text), &days) < 0 || days < 1 ||
	    days > CA_DAYS_MAX) {
		fprintf(stderr,
		    "abidectl: --days '%s': it takes a whole number from 1 to "
		    "%d\n",
		    text, CA_DAYS_MAX);
		return -1;
	}
	*ret = (unsigned)days;
	return 0;
}

static int
add_set(struct args *a, const char *text)
{
	struct conf_problems problems = {.n = 0};
	int status = conf_overrides_add(&a->over, text, "-s", &problems);

	conf_problems_print(&problems, stderr);
	conf_problems_free(&problems);
	return status;
}

static int
take(struct args *a, unsigned bit, const char *value)
{
	a->given |= bit;
	switch (bit) {
	case ARG_CONF:
		a->conf_path = value;
		return 0;
	case ARG_SET:
		return add_set(a, value);
	case ARG_CERT:
		a->cert = value;
		return 0;
	case ARG_KEY:
		a->key = value;
		return 0;
	case ARG_HOST:
		a->hosts[a->nhosts++] = value;
		return 0;
	case ARG_NAME:
		a->name = value;
		return 0;
	case ARG_DAYS:
		return read_days(value, &a->days);
	case ARG_OUT:
		a->out = value;
		return 0;
	default:
		return 0;
	}
}

static int
add_environment(struct args *a)
{
	struct conf_problems problems = {.n = 0};
	int status =
	    conf_overrides_add_env(&a->over, getenv("ABIDED_SET"), &problems);

	conf_problems_print(&problems, stderr);
	conf_problems_free(&problems);
	return status;
}

int
args_parse(int argc, char **argv, struct args *ret)
{
	struct getopt_tables t;
	int c, status;

	fill_tables(&t);
	*ret = (struct args){.days = ARGS_DAYS};
	ret->hosts = mem_must_zalloc((size_t)argc * sizeof(*ret->hosts));
	status = add_environment(ret);
	while ((c = getopt_long(argc, argv, t.letters, t.longs, NULL)) != -1) {
		unsigned bit = bit_of(c);

		/* getopt has said what is wrong. */
		if (bit == 0 || take(ret, bit, optarg) < 0)
			status = -1;
	}
	ret->words = argv + optind;
	ret->nwords = argc - optind;
	return status;
}

void
args_free(struct args *a)
{
	conf_overrides_free(&a->over);
	mem_free(a->hosts);
}

const char *
args_conf_path(const struct args *a)
{
	if (a->conf_path)
		return a->conf_path;
	if (access(ARGS_CONF_DEFAULT, F_OK) < 0 && errno == ENOENT)
		return NULL;
	return ARGS_CONF_DEFAULT;
}

static void
spell(size_t row, char *text, size_t size)
{
	if (rows[row].name && rows[row].letter)
		(void)snprintf(text, size, "-%c, --%s", rows[row].letter,
		    rows[row].name);
	else if (rows[row].name)
		(void)snprintf(text, size, "--%s", rows[row].name);
	else
		(void)snprintf(text, size, "-%c", rows[row].letter);
}

const char *
args_name(unsigned bit)
{
	static char text[32];

	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].bit == bit)
			spell(i, text, sizeof(text));
	}
	return text;
}

void
args_help(unsigned bits, FILE *to)
{
	for (size_t i = 0; i < NROWS; i++) {
		const char *line = rows[i].help, *end;
		char name[32];

		if (!(rows[i].bit & bits))
			continue;
		spell(i, name, sizeof(name));
		fprintf(to, "  %s%s%s\n", name, rows[i].value ? " " : "",
		    rows[i].value ? rows[i].value : "");
		for (; line; line = end ? end + 1 : NULL) {
			end = strchr(line, '\n');
			fprintf(to, "        %.*s\n",
			    end ? (int)(end - line) : (int)strlen(line), line);
		}
	}
}
