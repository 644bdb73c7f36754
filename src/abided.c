/* SPDX-License-Identifier: MIT */
/*
 * abided: the command line. Everything else is edge/daemon.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "edge/auth.h"
#include "edge/daemon.h"
#include "edge/script.h"
#include "edge/tls_set.h"
#include "policy/json_path.h"

#define ABIDED_CONF AB_SYSCONFDIR "/abided/abided.conf"

static const char help[] =
    "usage: abided [-c FILE] [-t] [-s SECTION.KEY=VALUE]... [-v]... [-V] [-h]\n"
    "\n"
    "A forward HTTP proxy that absorbs throttling: it obeys 429, 503, 504 and\n"
    "Retry-After in its clients' place. Point HTTP_PROXY at it.\n"
    "\n"
    "  -c FILE   configuration (default " ABIDED_CONF ";\n"
    "            none there: built-in defaults)\n"
    "  -t        check the configuration: print every problem as FILE:LINE: text\n"
    "            and exit 0 or 1\n"
    "  -s SECTION.KEY=VALUE\n"
    "            override one setting, as in -s proxy.listen=127.0.0.1:8080 or\n"
    "            -s 'service api.rate=90/min'; also from the environment:\n"
    "            ABIDED_SET='a.b=c; d.e=f'\n"
    "  -v        log more; twice: still more\n"
    "  -V        print the version and exit\n"
    "  -h        print this and exit\n"
    "\n"
    "It stays in the foreground and logs to standard error. SIGTERM drains and\n"
    "stops, a second one stops at once; SIGHUP reads the configuration again.\n"
    "Exit codes: 0 clean stop, 1 bad configuration or usage, 2 a needed resource\n"
    "is missing.\n";

struct options {
	const char *conf_path;
	bool check;
	bool bad; /* an override that can't be read: the rest is checked too */
	int verbose;
	struct conf_overrides over;
};

static int
usage_error(const char *text)
{
	fprintf(stderr, "abided: %s\nTry 'abided -h'.\n", text);
	return 1;
}

/* -1: go on; else the exit code. */
static int
parse(int argc, char **argv, struct options *o, struct conf_problems *problems)
{
	int c;

	if (conf_overrides_add_env(&o->over, getenv("ABIDED_SET"), problems) <
	    0)
		o->bad = true;
	while ((c = getopt(argc, argv, "c:ts:vVh")) != -1) {
		switch (c) {
		case 'c':
			o->conf_path = optarg;
			break;
		case 't':
			o->check = true;
			break;
		case 's':
			if (conf_overrides_add(&o->over, optarg, "-s",
				problems) < 0)
				o->bad = true;
			break;
		case 'v':
			o->verbose++;
			break;
		case 'V':
			puts("abided " PACKAGE_VERSION);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs("Try 'abided -h'.\n", stderr);
			return 1;
		}
	}
	if (optind < argc)
		return usage_error("takes no arguments but options");
	return -1;
}

/* The default file may be missing, a named one may not. */
static void
choose_file(struct options *o)
{
	if (!o->conf_path &&
	    (access(ABIDED_CONF, F_OK) == 0 || errno != ENOENT))
		o->conf_path = ABIDED_CONF;
}

static void
print_hint(struct span hint)
{
	fprintf(stderr, "%.*s\n", SPAN_ARG(hint));
}

static int
run(struct options *o, struct conf_problems *problems)
{
	struct daemon_args args = {
	    .over = o->over.v,
	    .nover = o->over.n,
	    .verbose = o->verbose,
	};
	struct conf *conf;
	int tls, auth, scripts;

	choose_file(o);
	args.conf_path = o->conf_path;
	conf = conf_load(o->conf_path, o->over.v, o->over.n, problems);
	if (!conf || o->bad) {
		conf_unref(conf);
		return 1;
	}
	tls = tls_set_load(conf, problems);
	auth = auth_load_conf(conf, problems);
	scripts = scripts_load(conf, problems);
	if (tls < 0 || auth < 0 || scripts < 0) {
		conf_unref(conf);
		/* What is written in a script is configuration, too. */
		return o->check || (tls == 0 && auth == 0) ? 1 : 2;
	}
	if (!o->check)
		return daemon_run(conf, &args);
	conf_hints(conf, print_hint);
	conf_unref(conf);
	printf("%s: configuration is good\n",
	    o->conf_path ? o->conf_path : "built-in defaults");
	return 0;
}

int
main(int argc, char **argv)
{
	struct conf_problems problems = {0};
	struct options o = {0};

	json_setup();
	int code = parse(argc, argv, &o, &problems);

	if (code < 0)
		code = run(&o, &problems);
	conf_problems_print(&problems, stderr);
	conf_problems_free(&problems);
	conf_overrides_free(&o.over);
	return code;
}
