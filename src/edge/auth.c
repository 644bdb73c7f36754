/* SPDX-License-Identifier: MIT */
/*
 * auth decides against what a password is checked. It refuses to know how a
 * client says who it is (client_login), and does no checks (checker).
 */
#include "edge/auth.h"

#include <errno.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/mem.h"
#include "edge/htpasswd.h"

struct auth {
	atomic_uint refs;
	struct hash_key hash;  /* chooses for names that are not there */
	struct htpasswd users; /* owns */
};

struct auth *
auth_load(const struct conf_file *file, struct conf_problems *problems)
{
	struct conf_where where = {.file = file->where};
	struct auth *a = mem_zalloc(sizeof(*a));

	if (!a) {
		conf_problem_no_memory(problems);
		return NULL;
	}
	atomic_init(&a->refs, 1);
	if (getrandom(&a->hash, sizeof(a->hash), 0) != sizeof(a->hash)) {
		conf_problem(problems, where, "no random numbers: %s",
		    strerror(errno));
		mem_free(a);
		return NULL;
	}
	if (htpasswd_read(&a->users, file->path, where, problems) < 0) {
		mem_free(a);
		return NULL;
	}
	return a;
}

int
auth_load_conf(struct conf *c, struct conf_problems *problems)
{
	if (!c->auth.path)
		return 0;
	c->auth_users = auth_load(&c->auth, problems);
	return c->auth_users ? 0 : -1;
}

struct auth *
auth_ref(struct auth *a)
{
	atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	return a;
}

void
auth_unref(struct auth *a)
{
	if (!a ||
	    atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1)
		return;
	htpasswd_free(&a->users);
	mem_free(a);
}

const char *
auth_hash(const struct auth *a, struct span user, bool *ret_known)
{
	const struct htpasswd_user *u = htpasswd_find(&a->users, user);

	*ret_known = u != NULL;
	if (!u && a->users.n)
		u = &a->users
			 .v[hash_bytes(&a->hash, user.p, user.n) % a->users.n];
	return u ? u->hash : NULL;
}
