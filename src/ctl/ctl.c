/* SPDX-License-Identifier: MIT */
/*
 * ctl.c: from the words of a command line to a command.
 *
 * Decides which command is meant, whether it takes the options that were
 * given, and what help says. What a command does is in a file of its own.
 */
#include "ctl/ctl.h"

#include <stdio.h>

#include "ctl/args.h"
#include "ctl/ca_cmd.h"
#include "ctl/presets_cmd.h"
#include "edge/conf_table.h"

/* What each one takes. */
#define ARGS_ALL (ARG_HELP | ARG_VERSION)
#define ARGS_CA (ARG_CONF | ARG_SET | ARG_CERT | ARG_KEY)
#define WORDS_MAX 2
#define EDITS_MAX 3 /* beyond that a word is no slip of another */

static const struct command {
	const char *words[WORDS_MAX];
	unsigned takes; /* enum args_bit */
	int (*run)(const struct args *args);
	const char *more; /* a word that may follow, for help; or NULL */
	const char *help;
} commands[] = {
    /* clang-format off */
	{{"ca", "init"}, ARGS_CA | ARG_HOST | ARG_NAME | ARG_DAYS, ca_cmd_init, NULL,
	    "make a CA for intercepted hosts; overwrites nothing"},
	{{"ca", "show"}, ARGS_CA | ARG_HOST, ca_cmd_show, NULL,
	    "what it is, and whether all is well with it"},
	{{"ca", "export"}, ARGS_CA | ARG_DER | ARG_OUT, ca_cmd_export, NULL,
	    "its certificate, for clients; never its key"},
	{{"ca", "renew"}, ARGS_CA | ARG_HOST | ARG_DAYS, ca_cmd_renew, NULL,
	    "a new certificate for its key and the hosts of now"},
	{{"presets"}, ARG_CONF | ARG_SET, presets_cmd, "NAME",
	    "list the presets there are; of one, print its file"},
    /* clang-format on */
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
put_words(const struct command *c, FILE *to)
{
	for (int i = 0; i < WORDS_MAX && c->words[i]; i++)
		fprintf(to, "%s%s", i > 0 ? " " : "", c->words[i]);
}

/* How many words of the command line begin this command: all, or 0. */
static int
matches(const struct command *c, const struct args *a, int nwords)
{
	int n = 0;

	for (; n < WORDS_MAX && c->words[n] && n < nwords; n++) {
		if (strcmp(c->words[n], a->words[n]) != 0)
			return 0;
	}
	return n;
}

static const struct command *
find(const struct args *a)
{
	for (size_t i = 0; i < NCOMMANDS; i++) {
		int n = matches(&commands[i], a, a->nwords);

		if (n > 0 && (n == WORDS_MAX || !commands[i].words[n]))
			return &commands[i];
	}
	return NULL;
}

/* --- help ----------------------------------------------------------------- */

static void
put_command(const struct command *c, FILE *to)
{
	int n = 0;

	fputs("  ", to);
	for (int i = 0; i < WORDS_MAX && c->words[i]; i++)
		n += fprintf(to, "%s%s", i > 0 ? " " : "", c->words[i]);
	if (c->more)
		n += fprintf(to, " [%s]", c->more);
	fprintf(to, "%*s%s\n", n < 16 ? 16 - n : 1, "", c->help);
}

/* Of the commands that begin with the words that there are. */
static int
help(const struct args *a)
{
	unsigned takes = 0;
	bool any = false;

	for (size_t i = 0; i < NCOMMANDS; i++)
		any = any || matches(&commands[i], a, a->nwords) > 0;
	fputs("usage: abidectl COMMAND [OPTION]...\n\n", stdout);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (any && matches(&commands[i], a, a->nwords) == 0)
			continue;
		put_command(&commands[i], stdout);
		takes |= commands[i].takes;
	}
	fputs("\nOptions, anywhere on the line:\n", stdout);
	args_help(takes | ARGS_ALL, stdout);
	fputs("\nExit codes: 0 well, 1 wrong usage or configuration, or "
	      "something is wrong with\nwhat was looked at, 2 a file is "
	      "missing or can't be written.\n",
	    stdout);
	return CTL_OK;
}

/* --- a command line that is not right ------------------------------------- */

static int
try_help(void)
{
	fputs("Try 'abidectl -h'.\n", stderr);
	return CTL_WRONG;
}

/*
 * How far a command is from what was meant: of its second word where both have
 * two, else of any of its words. A third of the letters may be wrong.
 */
static unsigned
distance(const struct command *c, const struct args *a)
{
	unsigned least = EDITS_MAX + 1;

	for (int i = a->nwords > 1 && c->words[1]; i < WORDS_MAX && c->words[i];
	     i++) {
		struct span word = span_of(a->words[i < a->nwords ? i : 0]);
		unsigned most = (unsigned)(word.n + 2) / 3, d;

		if (most > EDITS_MAX)
			most = EDITS_MAX;
		d = conf_distance(word, span_of(c->words[i]), most);
		if (d <= most && d < least)
			least = d;
	}
	return least;
}

static void
suggest(const struct args *a)
{
	const struct command *near = NULL;
	unsigned least = EDITS_MAX + 1;

	for (size_t i = 0; i < NCOMMANDS; i++) {
		unsigned d = distance(&commands[i], a);

		if (d < least) {
			least = d;
			near = &commands[i];
		}
	}
	if (!near)
		return;
	fputs("; did you mean '", stderr);
	put_words(near, stderr);
	fputs("'?", stderr);
}

/* "ca": the words that may follow. */
static void
ask_for_more(const struct args *a)
{
	const char *before = ": ";

	fprintf(stderr, "abidectl: '%s' needs one word more", a->words[0]);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (matches(&commands[i], a, 1) == 0)
			continue;
		fprintf(stderr, "%s%s", before, commands[i].words[1]);
		before = ", ";
	}
	fputc('\n', stderr);
}

static int
unknown(const struct args *a)
{
	bool begins = false;

	for (size_t i = 0; a->nwords == 1 && i < NCOMMANDS; i++)
		begins = begins || matches(&commands[i], a, 1) > 0;
	if (a->nwords == 0) {
		fputs("abidectl: a command is missing\n", stderr);
		return try_help();
	}
	if (begins) {
		ask_for_more(a);
		return try_help();
	}
	fputs("abidectl: there is no command '", stderr);
	for (int i = 0; i < a->nwords && i < WORDS_MAX; i++)
		fprintf(stderr, "%s%s", i > 0 ? " " : "", a->words[i]);
	fputc('\'', stderr);
	suggest(a);
	fputc('\n', stderr);
	return try_help();
}

/* 0, or -1 where something stands there that the command does not take. */
static int
check(const struct command *c, const struct args *a)
{
	unsigned wrong = a->given & ~(c->takes | ARGS_ALL);
	int n = matches(c, a, a->nwords);

	if (c->more && n < a->nwords)
		n++;
	if (wrong == 0 && a->nwords == n)
		return 0;
	fputs("abidectl: ", stderr);
	put_words(c, stderr);
	if (wrong != 0)
		fprintf(stderr, " takes no %s\n",
		    args_name(wrong & -wrong)); /* the first of them */
	else
		fprintf(stderr, ": what is '%s'?\n", a->words[n]);
	return -1;
}

/* --- the program ---------------------------------------------------------- */

static int
run(const struct args *a)
{
	const struct command *c = find(a);

	if (a->given & ARG_HELP)
		return help(a);
	if (a->given & ARG_VERSION) {
		puts("abidectl " PACKAGE_VERSION);
		return CTL_OK;
	}
	if (!c)
		return unknown(a);
	if (check(c, a) < 0)
		return try_help();
	return c->run(a);
}

int
ctl_main(int argc, char **argv)
{
	struct args args;
	int code;

	if (args_parse(argc, argv, &args) < 0)
		code = try_help();
	else
		code = run(&args);
	args_free(&args);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("abidectl: standard output");
		return code == CTL_OK ? CTL_MISSING : code;
	}
	return code;
}
