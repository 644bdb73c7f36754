/* SPDX-License-Identifier: MIT */
/*
 * checker decides which password is checked next, and what is remembered. It
 * refuses to know what follows from a result.
 *
 *   ask -> known? ------------------------------------> answer
 *            | no
 *            v            thread            wake
 *          QUEUED ------> RUNNING ---> KNOWN ------> checker_next
 *            |              (result, or forgotten where there was no memory)
 *            +--> dropped when all who wait have left
 *
 * All is under one mutex, but the hashing itself.
 */
#include "edge/checker.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "edge/auth_id.h"
#include "edge/htpasswd.h"
#include "policy/line.h"

#define NICE 5 /* hashing gives way to those who carry requests */

enum check_state { CHECK_QUEUED, CHECK_RUNNING, CHECK_KNOWN };

struct check {
	struct map_node node; /* in checker.checks */
	struct list link;     /* KNOWN: in right or wrong */
	struct auth_id id;
	enum check_state state;
	bool good; /* KNOWN: the result */
	/* Up to the result: */
	struct line_entry turn; /* QUEUED: in checker.line */
	struct list waits;      /* struct check_wait */
	struct auth *auth;      /* a reference: `hash` is in it */
	const char *hash;
	bool user_known; /* else no password is right */
	char *password;  /* owns; wiped */
};

/* What a password is checked against. */
struct against {
	const char *hash;
	bool known; /* the user is */
	struct auth_id id;
};

struct owner {
	struct list done;    /* struct check_wait */
	struct auth_ids ids; /* only this owner uses it; made when needed */
};

struct known { /* the oldest first */
	struct list list;
	size_t n;
};

struct checker {
	struct checker_cfg cfg;
	unsigned char key[AUTH_ID_BYTES];
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool stop;
	unsigned nthreads;
	pthread_t *threads; /* owns */
	struct map checks;
	struct line line; /* of those QUEUED: fair between addresses */
	struct known right, wrong;
	struct owner owners[];
};

/* 0, or -1 no memory. */
static int
make_id(struct checker *k, const struct check_ask *ask, struct against *what)
{
	struct auth_ids *ids = &k->owners[ask->owner].ids;
	struct span hash = span_of(what->known ? what->hash : "");

	if (!ids->mac && auth_ids_init(ids, k->key) < 0)
		return -1;
	return auth_ids_make(ids, ask->user, ask->password, hash, &what->id);
}

static uint64_t
id_hash(const struct auth_id *id)
{
	uint64_t hash;

	memcpy(&hash, id->b, sizeof(hash));
	return hash;
}

static struct check *
check_find(struct checker *k, const struct auth_id *id)
{
	struct map_node *it = map_find(&k->checks, id_hash(id));

	for (; it; it = map_find_next(it)) {
		struct check *c = AB_CONTAINER(it, struct check, node);

		if (memcmp(&c->id, id, sizeof(*id)) == 0)
			return c;
	}
	return NULL;
}

/* --- checks --------------------------------------------------------------- */

/* Neither queued nor running: what only that needs is given back. */
static void
check_settle(struct checker *k, struct check *c)
{
	line_leave(&k->line, &c->turn);
	OPENSSL_cleanse(c->password, strlen(c->password));
	mem_free(c->password);
	auth_unref(c->auth);
	c->password = NULL;
	c->auth = NULL;
	c->hash = NULL;
}

static void
check_forget(struct checker *k, struct check *c)
{
	list_del(&c->link);
	map_del(&k->checks, &c->node);
	mem_free(c);
}

static struct check *
check_new(struct checker *k, const struct check_ask *ask,
    const struct against *what)
{
	struct check *c;

	if (line_client_count(&k->line, ask->who) >= CHECKER_QUEUE_WHO_MAX)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	if (!c)
		return NULL;
	line_entry_init(&c->turn, ask->who, 0);
	c->password = mem_dup(ask->password);
	if (!c->password || line_enter(&k->line, &c->turn) != LINE_OK) {
		if (c->password)
			OPENSSL_cleanse(c->password, ask->password.n);
		mem_free(c->password);
		mem_free(c);
		return NULL;
	}
	c->id = what->id;
	list_init(&c->link);
	list_init(&c->waits);
	c->auth = auth_ref(ask->auth);
	c->hash = what->hash;
	c->user_known = what->known;
	map_add(&k->checks, &c->node, id_hash(&c->id));
	return c;
}

static struct check *
check_next(struct checker *k)
{
	struct line_entry *e = line_head(&k->line);
	struct check *c;

	if (!e)
		return NULL;
	c = AB_CONTAINER(e, struct check, turn);
	line_pop(&k->line, e);
	c->state = CHECK_RUNNING;
	return c;
}

static void
wait_done(struct checker *k, struct check_wait *w, enum check_result result)
{
	struct owner *o = &k->owners[w->owner];
	bool idle = list_empty(&o->done);

	list_del(&w->link);
	w->check = NULL;
	w->result = result;
	list_push_back(&o->done, &w->link);
	if (idle)
		k->cfg.wake(k->cfg.arg, w->owner);
}

static void
check_remember(struct checker *k, struct check *c, bool good)
{
	struct known *known = good ? &k->right : &k->wrong;

	c->state = CHECK_KNOWN;
	c->good = good;
	list_push_back(&known->list, &c->link);
	if (++known->n <= CHECKER_KNOWN_MAX)
		return;
	known->n--;
	check_forget(k,
	    AB_CONTAINER(list_first(&known->list), struct check, link));
}

static void
check_done(struct checker *k, struct check *c, int matches)
{
	enum check_result res = matches < 0 ? CHECK_BUSY
	    : matches && c->user_known      ? CHECK_YES
					    : CHECK_NO;
	struct list *it;

	while ((it = list_first(&c->waits)))
		wait_done(k, AB_CONTAINER(it, struct check_wait, link), res);
	check_settle(k, c);
	if (res == CHECK_BUSY)
		check_forget(k, c);
	else
		check_remember(k, c, res == CHECK_YES);
}

/* --- threads -------------------------------------------------------------- */

/* The next check; false: there is none. The lock is held, but while hashing. */
static bool
work(struct checker *k, struct crypt_data *data)
{
	struct check *c = check_next(k);
	int matches = -1;

	if (!c)
		return false;
	pthread_mutex_unlock(&k->lock);
	if (data)
		matches = htpasswd_matches(c->hash, c->password, data);
	pthread_mutex_lock(&k->lock);
	check_done(k, c, matches);
	return true;
}

bool
checker_work(struct checker *k)
{
	struct crypt_data *data = mem_zalloc(sizeof(*data));
	bool worked;

	pthread_mutex_lock(&k->lock);
	worked = work(k, data);
	pthread_mutex_unlock(&k->lock);
	mem_free(data);
	return worked;
}

static void *
checker_main(void *arg)
{
	struct checker *k = arg;
	struct crypt_data *data = NULL;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		if (!data)
			data = mem_zalloc(sizeof(*data));
		if (!work(k, data))
			pthread_cond_wait(&k->work, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	mem_free(data);
	return NULL;
}

/* True where there is a thread at least, or none is wanted. */
static bool
checker_start(struct checker *k)
{
	int err = 0;

	if (k->cfg.threads == 0)
		return true;
	while (k->nthreads < k->cfg.threads && err == 0) {
		err = pthread_create(&k->threads[k->nthreads], NULL,
		    checker_main, k);
		if (err == 0)
			k->nthreads++;
	}
	if (k->nthreads == 0)
		log_err("passwords can't be checked: no thread: %s",
		    strerror(err));
	return k->nthreads > 0;
}

struct checker *
checker_new(const struct checker_cfg *cfg)
{
	struct checker *k =
	    mem_zalloc(sizeof(*k) + cfg->owners * sizeof(k->owners[0]));

	if (!k)
		return NULL;
	k->cfg = *cfg;
	k->threads = mem_zalloc((cfg->threads + 1) * sizeof(*k->threads));
	if (!k->threads || map_init(&k->checks) < 0 ||
	    line_init(&k->line, CHECKER_QUEUE_MAX) < 0 ||
	    getrandom(k->key, sizeof(k->key), 0) != sizeof(k->key)) {
		map_clear(&k->checks);
		line_free(&k->line);
		mem_free(k->threads);
		mem_free(k);
		return NULL;
	}
	list_init(&k->right.list);
	list_init(&k->wrong.list);
	for (unsigned i = 0; i < cfg->owners; i++)
		list_init(&k->owners[i].done);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->work, NULL);
	return k;
}

static void
checker_join(struct checker *k)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_broadcast(&k->work);
	pthread_mutex_unlock(&k->lock);
	for (unsigned i = 0; i < k->nthreads; i++)
		(void)pthread_join(k->threads[i], NULL);
}

void
checker_free(struct checker *k)
{
	struct map_node *it;
	size_t pos = 0;

	if (!k)
		return;
	checker_join(k);
	while ((it = map_walk(&k->checks, &pos, NULL))) {
		struct check *c = AB_CONTAINER(it, struct check, node);

		if (c->state != CHECK_KNOWN)
			check_settle(k, c);
		check_forget(k, c);
		pos--; /* there may be more in the same place */
	}
	for (unsigned i = 0; i < k->cfg.owners; i++)
		auth_ids_free(&k->owners[i].ids);
	map_clear(&k->checks);
	line_free(&k->line);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->work);
	OPENSSL_cleanse(k->key, sizeof(k->key));
	mem_free(k->threads);
	mem_free(k);
}

/* --- asking --------------------------------------------------------------- */

static enum check_result
check_known(struct checker *k, struct check *c)
{
	list_del(&c->link);
	list_push_back(c->good ? &k->right.list : &k->wrong.list, &c->link);
	return c->good ? CHECK_YES : CHECK_NO;
}

static struct check_wait *
wait_new(struct check *c, const struct check_ask *ask)
{
	struct check_wait *w = mem_zalloc(sizeof(*w));

	if (!w)
		return NULL;
	w->check = c;
	w->result = CHECK_WAIT;
	w->owner = ask->owner;
	w->arg = ask->arg;
	list_push_back(&c->waits, &w->link);
	return w;
}

/* Nobody waits for it: it need not be done. One that runs goes on. */
static void
check_drop(struct checker *k, struct check *c)
{
	if (c->state != CHECK_QUEUED || !list_empty(&c->waits))
		return;
	check_settle(k, c);
	check_forget(k, c);
}

static enum check_result
ask_locked(struct checker *k, const struct check_ask *ask,
    const struct against *what, struct check_wait **ret)
{
	struct check *c = check_find(k, &what->id);
	struct check_wait *w;

	if (c && c->state == CHECK_KNOWN)
		return check_known(k, c);
	if (!c && checker_start(k))
		c = check_new(k, ask, what);
	if (!c)
		return CHECK_BUSY;
	w = wait_new(c, ask);
	if (!w) {
		check_drop(k, c);
		return CHECK_BUSY;
	}
	pthread_cond_signal(&k->work);
	*ret = w;
	return CHECK_WAIT;
}

enum check_result
checker_ask(struct checker *k, const struct check_ask *ask,
    struct check_wait **ret)
{
	struct against what;
	enum check_result res;

	what.hash = auth_hash(ask->auth, ask->user, &what.known);
	if (!what.hash)
		return CHECK_NO;
	if (make_id(k, ask, &what) < 0)
		return CHECK_BUSY;
	pthread_mutex_lock(&k->lock);
	res = ask_locked(k, ask, &what, ret);
	pthread_mutex_unlock(&k->lock);
	return res;
}

struct check_wait *
checker_next(struct checker *k, unsigned owner)
{
	struct list *it;

	pthread_mutex_lock(&k->lock);
	it = list_first(&k->owners[owner].done);
	if (it)
		list_del(it);
	pthread_mutex_unlock(&k->lock);
	return it ? AB_CONTAINER(it, struct check_wait, link) : NULL;
}

void
checker_give_up(struct checker *k, struct check_wait *w)
{
	struct check *c;

	pthread_mutex_lock(&k->lock);
	list_del(&w->link);
	c = w->check;
	w->check = NULL;
	if (w->result == CHECK_WAIT)
		w->result = CHECK_BUSY;
	if (c)
		check_drop(k, c);
	pthread_mutex_unlock(&k->lock);
}

void
checker_leave(struct checker *k, struct check_wait *w)
{
	if (!w)
		return;
	checker_give_up(k, w);
	mem_free(w);
}

size_t
checker_known(struct checker *k)
{
	size_t n;

	pthread_mutex_lock(&k->lock);
	n = k->right.n + k->wrong.n;
	pthread_mutex_unlock(&k->lock);
	return n;
}

size_t
checker_queued(struct checker *k)
{
	size_t n;

	pthread_mutex_lock(&k->lock);
	n = line_length(&k->line);
	pthread_mutex_unlock(&k->lock);
	return n;
}
