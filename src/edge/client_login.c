/* SPDX-License-Identifier: MIT */
/*
 * client_login decides whether a request comes from somebody who may use the
 * proxy. It refuses to know how a password is checked (checker).
 *
 * A password that has been checked before is known at once. Else the client
 * waits in CLIENT_LOGIN with its head unread; when the result is there the head
 * is read once more, as if it had come just now.
 */
#include "client_login.h"

#include <openssl/crypto.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf_problem.h"
#include "proto/basic.h"

#define CHALLENGE \
	"Proxy-Authenticate: Basic realm=\"abided\", charset=\"UTF-8\"\r\n"
#define BUSY_RETRY_S 1

static void
forget_user(struct client *c)
{
	mem_free(c->user);
	c->user = NULL;
}

/* Says no; the connection may be used again where no body follows. */
static enum check_result
refuse(struct client *c, const struct head *h, int status, const char *detail,
    struct refusal *ret)
{
	struct framing body = {.kind = FRAMING_NONE};
	const char *why;

	forget_user(c);
	ret->status = status;
	ret->why = status == 400 ? GIVE_UP_BAD_REQUEST : GIVE_UP_PROXY_AUTH;
	ret->detail = detail;
	ret->extra = status == 407 ? CHALLENGE : NULL;
	ret->retry_after_s = status == 503 ? BUSY_RETRY_S : 0;
	ret->is_head = span_eq(h->method, SPAN("HEAD"));
	ret->keep = status != 400 && framing_request(h, &body, &why) == 0 &&
	    body.kind == FRAMING_NONE && exchange_wants_keep(h);
	return CHECK_NO;
}

/*
 * "OPTIONS *" is for ourselves: whoever watches that we live has no account.
 * A client that does not know that we are here can't say who it is; behind its
 * CONNECT it has done so.
 */
static bool
must_say(const struct client *c, const struct head *h)
{
	return c->worker->conf->auth_users && !c->inner && !c->redirect &&
	    !span_eq(h->target, SPAN("*"));
}

/* What is no UTF-8 is ISO-8859-1: some clients still send that (RFC 7617 B.3).
 * buf has room for twice as much. */
static struct span
as_utf8(struct span s, char *buf)
{
	size_t n = 0;

	if (!conf_text_flaw(s))
		return s;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c >= 0x80)
			buf[n++] = (char)(0xc0 | c >> 6);
		buf[n++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
	}
	return (struct span){buf, n};
}

static void
log_wrong(struct client *c, struct span user)
{
	struct worker *w = c->worker;
	struct strbuf name;
	unsigned silent;

	if (!loglimit_may(&w->proc->login_log, c->who, w->engine.now_ms,
		&silent))
		return;
	strbuf_init(&name, 4 * 2 * BASIC_USER_MAX);
	strbuf_escaped(&name, user);
	log_warn(
	    "login refused: client=%s user=%.*s: wrong password, or no such "
	    "user; %u more of this client since the last such line",
	    c->text, SPAN_ARG(strbuf_view(&name)), silent);
	strbuf_free(&name);
}

/* 0, or -1 no memory. Requests of one connection are one user's, as a rule. */
static int
take_user(struct client *c, struct span user)
{
	if (c->user && span_eq(span_of(c->user), user))
		return 0;
	forget_user(c);
	c->user = mem_dup(user);
	return c->user ? 0 : -1;
}

static enum check_result
check(struct client *c, struct span user, struct span password)
{
	struct worker *w = c->worker;
	struct check_ask ask = {
	    .auth = w->conf->auth_users,
	    .user = user,
	    .password = password,
	    .who = c->who,
	    .owner = w->index,
	    .arg = c,
	};

	if (c->wait)
		return c->wait->result;
	return checker_ask(w->proc->checker, &ask, &c->wait);
}

static enum check_result
login(struct client *c, const struct head *h, const struct basic *sent,
    struct refusal *ret)
{
	char user_buf[2 * BASIC_USER_MAX], pass_buf[2 * BASIC_PASSWORD_MAX];
	struct span user = as_utf8(sent->user, user_buf);
	enum check_result res =
	    check(c, user, as_utf8(sent->password, pass_buf));

	OPENSSL_cleanse(pass_buf, sizeof(pass_buf));
	if (res == CHECK_YES && take_user(c, user) < 0)
		res = CHECK_BUSY;
	if (res == CHECK_NO) {
		log_wrong(c, user);
		return refuse(c, h, 407,
		    "The user name or the password is wrong.", ret);
	}
	if (res == CHECK_BUSY)
		return refuse(c, h, 503,
		    "Too many passwords are waiting to be checked. Try again "
		    "after Retry-After.",
		    ret);
	return res;
}

enum check_result
client_login(struct client *c, const struct head *h, struct refusal *ret)
{
	char buf[BASIC_PAIR_MAX];
	struct basic sent;
	enum check_result res;

	if (!must_say(c, h)) {
		if (!c->inner)
			forget_user(c);
		return CHECK_YES;
	}
	if (head_repeats(h, FIELD_PROXY_AUTHORIZATION))
		return refuse(c, h, 400,
		    "There is more than one Proxy-Authorization field.", ret);
	if (!head_has(h, FIELD_PROXY_AUTHORIZATION))
		return refuse(c, h, 407, NULL, ret);
	switch (
	    basic_parse(head_get(h, FIELD_PROXY_AUTHORIZATION), buf, &sent)) {
	case BASIC_OTHER:
		return refuse(c, h, 407,
		    "This proxy knows the Basic scheme only.", ret);
	case BASIC_BAD:
		return refuse(c, h, 407,
		    "The credentials can't be read: they must be the base64 "
		    "of USER:PASSWORD, without control characters.",
		    ret);
	case BASIC_OK:
		break;
	}
	res = login(c, h, &sent, ret);
	OPENSSL_cleanse(buf, sizeof(buf));
	return res;
}

void
client_login_end(struct client *c)
{
	checker_leave(c->worker->proc->checker, c->wait);
	c->wait = NULL;
}

/* Its head is read again, now that there is a result. */
static void
resume(struct client *c)
{
	if (AB_NEVER(c->state != CLIENT_LOGIN))
		return;
	c->state = CLIENT_HEAD;
	worker_again(c->worker, &c->again, client_look_again);
}

void
client_login_late(struct client *c)
{
	checker_give_up(c->worker->proc->checker, c->wait);
	client_timer(c, client_policy(c)->deadline_ms);
	if (c->state == CLIENT_LOGIN)
		resume(c);
}

void
client_login_watch(struct client *c)
{
	int got = chan_peek(&c->chan);

	if (got == CHAN_ERROR ||
	    ((got == 0 || c->chan.fin) && !client_policy(c)->allow_half_close))
		client_lost(c);
}

void
client_logins(struct worker *w)
{
	struct check_wait *wait;

	while ((wait = checker_next(w->proc->checker, w->index)))
		resume(wait->arg);
}
