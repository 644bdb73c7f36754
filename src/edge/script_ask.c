/* SPDX-License-Identifier: MIT */
/*
 * script_ask decides which scripts a configuration has, what of a body they see
 * and what is logged of their errors.
 */
#include "base/mem.h"
#include "conf_problem.h"
#include "file_text.h"
#include "proto/coding.h"
#include "script.h"

#define ERROR_MAX 300 /* bytes of one that is logged, before it is escaped */

/* --- loading ------------------------------------------------------------- */

static struct script *
find(const struct conf *c, const char *path)
{
	for (size_t i = 0; i < c->nscripts; i++) {
		if (strcmp(c->scripts[i]->path, path) == 0)
			return c->scripts[i];
	}
	return NULL;
}

static int
keep(struct conf *c, struct script *s)
{
	struct script **v =
	    conf_pool_grow(&c->pool, c->scripts, c->nscripts, sizeof(*v));

	if (v == NULL)
		return -1;
	c->scripts = v;
	v[c->nscripts++] = s;
	return 0;
}

/* NULL, with one problem. */
static struct script *
load(struct conf *c, const struct conf_file *f, struct conf_problems *problems)
{
	struct conf_where where = {.file = f->where};
	struct script *s = NULL;
	struct file_text text;
	struct strbuf why;
	const char *flaw;

	if (file_text_read(f->path, SCRIPT_FILE_MAX, &text, &flaw) < 0) {
		conf_problem(problems, where, "script: %s: %s", f->path, flaw);
		return NULL;
	}
	strbuf_init(&why, 4096);
	if (script_new(f->path, (struct span){text.p, text.n}, &s, &why) < 0) {
		conf_problem(problems, where, "script: %s: %.*s", f->path,
		    SPAN_ARG(strbuf_view(&why)));
	} else if (keep(c, s) < 0) {
		conf_problem_no_memory(problems);
		script_free(s);
		s = NULL;
	}
	strbuf_free(&why);
	file_text_free(&text);
	return s;
}

/* *failed: a path that gave a problem already; told once is enough. */
static int
load_service(struct conf *c, struct conf_service *s,
    struct conf_problems *problems, const char **failed)
{
	const char *path = s->script_file.path;

	if (s->policy.backoff.strategy != STRATEGY_CUSTOM)
		return 0;
	if (*failed && strcmp(*failed, path) == 0)
		return -1;
	s->script = find(c, path);
	if (s->script == NULL)
		s->script = load(c, &s->script_file, problems);
	if (s->script == NULL) {
		*failed = path;
		return -1;
	}
	s->policy.script_body = s->script->wants_body;
	return 0;
}

int
scripts_load(struct conf *c, struct conf_problems *problems)
{
	const char *failed = NULL;
	int rc = load_service(c, &c->defaults, problems, &failed);

	for (size_t i = 0; i < c->nservices; i++) {
		if (load_service(c, c->services[i], problems, &failed) < 0)
			rc = -1;
	}
	return rc;
}

void
scripts_free(struct conf *c)
{
	for (size_t i = 0; i < c->nscripts; i++)
		script_free(c->scripts[i]);
	c->nscripts = 0;
}

/* --- asking -------------------------------------------------------------- */

/*
 * The body as text, at most SCRIPT_BODY_MAX bytes, perhaps in *room (to be
 * freed); empty where it was not looked at or can't be read. A rule may have
 * looked at it where the script does not want to: then it is empty as ever.
 */
static struct span
body_text(const struct script *s, const struct custom_ctx *c,
    struct strbuf *room)
{
	struct span in = c->body->bytes, none = {"", 0};
	struct coding_list codings;
	bool whole;

	strbuf_init(room, 0);
	if (!s->wants_body || in.p == NULL ||
	    coding_list_of(c->head, &codings) < 0)
		return none;
	if (codings.n > 0) {
		if (coding_undo(&codings, in, c->body->whole, SCRIPT_BODY_MAX,
			room, &whole) < 0 ||
		    room->n == 0)
			return none;
		in = strbuf_view(room);
	}
	if (in.n > SCRIPT_BODY_MAX)
		in.n = SCRIPT_BODY_MAX;
	return in;
}

static void
tell(const struct conf_service *service, struct span error)
{
	const char *name = *service->name ? service->name : "[defaults]";
	struct strbuf shown;

	if (error.n > ERROR_MAX)
		error.n = ERROR_MAX;
	strbuf_init(&shown, 4 * ERROR_MAX);
	strbuf_escaped(&shown, error);
	log_warn(
	    "script %s, asked for service %s: %.*s; own back-off takes its "
	    "place; this is not logged again",
	    service->script->path, name, SPAN_ARG(strbuf_view(&shown)));
	strbuf_free(&shown);
}

int
script_ask(const struct conf_service *service, const char *key, uint64_t seed,
    const struct custom_ctx *ctx, struct custom_wait *ret)
{
	struct script_call call = {
	    .ctx = ctx,
	    .service = service->name,
	    .key = key,
	    .seed = seed,
	};
	struct strbuf why, room;
	int rc;

	strbuf_init(&why, 4096);
	call.body = body_text(service->script, ctx, &room);
	rc = script_call(service->script, &call, ret, &why);
	if (rc < 0 && script_may_tell(service->script, strbuf_view(&why)))
		tell(service, strbuf_view(&why));
	strbuf_free(&room);
	strbuf_free(&why);
	return rc;
}
