/* SPDX-License-Identifier: MIT */
/*
 * abide-origin: a service with limits, for tests. See docs/abide-origin.1.
 *
 *   opts -> origin (rules, keys, report) -> server -> conn -> route -> answer
 *
 * This file puts the parts together and takes them apart again.
 */
#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "origin/opts.h"
#include "origin/summary.h"

enum { EXIT_CLEAN, EXIT_WRONG_USAGE, EXIT_RESOURCE_MISSING };

static int
open_log(struct origin *o, const struct opts *p)
{
	if (p->log == NULL)
		return 0;
	o->log = strcmp(p->log, "-") == 0 ? stdout : fopen(p->log, "ae");
	if (o->log != NULL)
		return 0;
	fprintf(stderr, "abide-origin: --log '%s': %s\n", p->log,
	    strerror(errno));
	return -1;
}

static int
listen_all(struct server *s, const struct opts *p)
{
	char name[320];
	const char *why;
	bool usage;

	for (unsigned i = 0; i < p->nlisten; i++) {
		if (server_listen(s, p->listen[i], name, sizeof name, &why,
			&usage) < 0) {
			fprintf(stderr, "abide-origin: --listen '%s': %s\n",
			    p->listen[i], why);
			return usage ? EXIT_WRONG_USAGE : EXIT_RESOURCE_MISSING;
		}
		printf("listening on %s\n", name);
	}
	(void)fflush(stdout);
	return EXIT_CLEAN;
}

static void
print_summary(struct origin *o)
{
	struct strbuf out;

	strbuf_init(&out, 64u * 1024 * 1024);
	summary_text(&o->report, o->bad, &out);
	if (!out.failed)
		(void)fwrite(out.p, 1, out.n, stdout);
	strbuf_free(&out);
}

static int
serve(struct server *s, struct origin *o, const struct opts *p)
{
	int rc;

	if (open_log(o, p) < 0 || server_init(s, o) < 0)
		return EXIT_RESOURCE_MISSING;
	s->idle_ns = p->idle_ns;
	s->max_conns = p->max_conns;
	rc = listen_all(s, p);
	if (rc != EXIT_CLEAN)
		return rc;
	server_run(s);
	return EXIT_CLEAN;
}

int
main(int argc, char **argv)
{
	struct origin *o = mem_must_zalloc(sizeof *o);
	struct server *s = mem_must_zalloc(sizeof *s);
	struct opts p;
	int rc = EXIT_CLEAN;

	switch (opts_parse(&p, o, argc, argv)) {
	case OPTS_DONE:
		break;
	case OPTS_BAD:
		rc = EXIT_WRONG_USAGE;
		break;
	case OPTS_RUN:
		if (origin_init(o, p.keep) < 0) {
			fputs("abide-origin: out of memory\n", stderr);
			return EXIT_RESOURCE_MISSING;
		}
		rc = serve(s, o, &p);
		server_free(s);
		if (rc == EXIT_CLEAN && !p.quiet)
			print_summary(o);
		origin_free(o);
		break;
	}
	if (fflush(stdout) != 0 && rc == EXIT_CLEAN)
		rc = EXIT_RESOURCE_MISSING;
	mem_free(s);
	mem_free(o);
	return rc;
}
