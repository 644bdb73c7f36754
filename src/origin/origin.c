/* SPDX-License-Identifier: MIT */
/*
 * The simulator's memory, and the end of an attempt: what was promised to keep
 * count of is counted down here, and its line is written.
 */
#include "origin.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>
#include <time.h>

#include "amount.h"
#include "answer.h"
#include "base/log.h"
#include "base/mem.h"

#define KEYS_MAX 20000u
#define LIMITS_MAX (64u * 1024 * 1024) /* bytes of sliding windows */

static int64_t
read_clock(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * AMOUNT_SECOND_NS + ts.tv_nsec;
}

int64_t
origin_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t
origin_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int
origin_init(struct origin *o, uint64_t keep)
{
	/* not secret from those it is meant for: without it, times serve */
	if (getrandom(&o->seed, sizeof o->seed, 0) != sizeof o->seed)
		o->seed = (struct hash_key){(uint64_t)origin_mono_ns(),
		    (uint64_t)origin_wall_ns()};
	report_init(&o->report, keep);
	if (keytab_init(&o->keys, &o->seed, KEYS_MAX, LIMITS_MAX) < 0)
		return -1;
	return keytab_init(&o->idents, &o->seed, KEYS_MAX, LIMITS_MAX);
}

void
origin_free(struct origin *o)
{
	keytab_free(&o->keys);
	keytab_free(&o->idents);
	report_free(&o->report);
	for (unsigned i = 0; i < o->nrules; i++)
		wish_free(&o->rules[i].wish);
	if (o->log != NULL && o->log != stdout)
		(void)fclose(o->log);
	o->log = NULL;
}

/* A full disk ends the log, not the simulator, and is told once. */
static void
put_line(struct origin *o, const struct attempt *at)
{
	struct strbuf line;

	strbuf_init(&line, 16384);
	attempt_json(at, &line);
	strbuf_char(&line, '\n');
	if (!line.failed && fwrite(line.p, 1, line.n, o->log) != line.n &&
	    !o->log_failed) {
		o->log_failed = true;
		log_warn("the attempt log can't be written: %s",
		    strerror(errno));
	}
	strbuf_free(&line);
}

static void
put_readable(const struct attempt *at)
{
	static const char *const ends[] = {" open", "", " cut", " client left"};
	struct strbuf line;

	strbuf_init(&line, 16384);
	strbuf_fmt(&line, "%" PRId64 ".%03" PRId64 " #%" PRIu64 " ",
	    at->mono_ns / AMOUNT_SECOND_NS,
	    at->mono_ns % AMOUNT_SECOND_NS / AMOUNT_MS_NS, at->seq);
	strbuf_escaped(&line, attempt_method(at));
	strbuf_char(&line, ' ');
	strbuf_escaped(&line, attempt_path(at));
	strbuf_lit(&line, " key=");
	strbuf_escaped(&line, attempt_key(at));
	strbuf_fmt(&line, " %d%s", at->status, ends[at->end]);
	if (at->hint_ns >= 0) {
		strbuf_lit(&line, " hint=");
		report_put_ms(&line, at->hint_ns);
		strbuf_lit(&line, "ms");
	}
	if (at->early_ns > 0) {
		strbuf_lit(&line, " EARLY by ");
		report_put_ms(&line, at->early_ns);
		strbuf_lit(&line, "ms");
	}
	strbuf_char(&line, '\n');
	if (!line.failed)
		(void)fwrite(line.p, 1, line.n, stdout);
	strbuf_free(&line);
}

void
origin_end(struct origin *o, struct answer *a, const struct origin_end *end)
{
	struct attempt *at = report_get(&o->report, a->seq);

	if (a->key != NULL) {
		a->key->running--;
		a->key->held -= a->held;
	}
	if (a->ident != NULL)
		a->ident->running--;
	a->key = a->ident = NULL;
	a->held = false;
	if (at == NULL)
		return;
	at->end = end->how;
	at->end_ns = end->now_ns;
	at->body_bytes = end->body_bytes;
	at->body_crc = end->body_crc;
	at->sent_bytes = end->sent_bytes;
	if (o->log != NULL)
		put_line(o, at);
	if (o->verbose)
		put_readable(at);
}

void
origin_flush(struct origin *o)
{
	if (o->log != NULL && o->log != stdout)
		(void)fflush(o->log);
	(void)fflush(stdout);
}
