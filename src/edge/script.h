/* SPDX-License-Identifier: MIT */
/*
 * script: a Lua file of strategy = custom, compiled once with its configuration
 * and only read from then on, by any thread. Each call has a state of its own
 * (script_box.h): what a script keeps in a variable is gone after the call.
 */
#ifndef AB_SCRIPT_H
#define AB_SCRIPT_H

#include <stdatomic.h>

#include "conf.h"
#include "engine/ports.h"

#define SCRIPT_FILE_MAX (64 * 1024) /* bytes */
#define SCRIPT_BODY_MAX (64 * 1024) /* bytes of ctx.body_prefix */
#define SCRIPT_KINDS_MAX 16         /* different errors that are logged */

struct script {
	char *path;       /* owns; as configured, for people */
	struct span code; /* owns; what Lua made of the file */
	bool wants_body;
	atomic_ullong told[SCRIPT_KINDS_MAX]; /* hashes of errors, 0: free */
};

/*
 * Compiles it, runs its top level once and looks for get_delay. 0; or -1 with
 * what is wrong in *ret_why, in Lua's words ("a.lua:3: ...").
 */
AB_MUST int script_new(const char *path, struct span text, struct script **ret,
    struct strbuf *ret_why);
void script_free(struct script *s); /* takes NULL */

/* What one call is told. */
struct script_call {
	const struct custom_ctx *ctx;
	struct span body;     /* of the refusal, decoded; may be empty */
	const char *service;  /* "" for [defaults] */
	const char *key;      /* its label: no secrets */
	uint64_t seed;        /* of math.random */
};

/*
 * get_delay(ctx). 0 and *ret: OWN (nil), WAIT (ms, rounded up) or GIVE_UP
 * (false); or -1 with why in *ret_why.
 */
AB_MUST int script_call(const struct script *s, const struct script_call *call,
    struct custom_wait *ret, struct strbuf *ret_why);

/* Has this error not been told yet? Then it counts as told from now on. Any
 * thread. False, too, when SCRIPT_KINDS_MAX others have been. */
bool script_may_tell(struct script *s, struct span error);

/*
 * Reads what the services of c with strategy = custom name into c->scripts, and
 * sets their policy.script_body. 0; else -1 with a problem for each file that
 * can't be used.
 */
AB_MUST int scripts_load(struct conf *c, struct conf_problems *problems);
void scripts_free(struct conf *c);

/*
 * For the port of the engine: asks the script of the service (which has one),
 * and logs its error once per kind. key, seed: as in struct script_call. 0 and
 * *ret, or -1.
 */
AB_MUST int script_ask(const struct conf_service *service, const char *key,
    uint64_t seed, const struct custom_ctx *ctx, struct custom_wait *ret);

#endif
