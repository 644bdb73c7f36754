/* SPDX-License-Identifier: MIT */
/*
 * auth: who may use the proxy: the users of a file, read once and never
 * changed. Shared by reference count, between configurations and with checks
 * that are under way; a reload makes a new one.
 */
#ifndef AB_AUTH_H
#define AB_AUTH_H

#include "conf.h"

struct auth;

/* The users of a file. One reference, or NULL with at least one problem. */
AB_MUST struct auth *auth_load(const struct conf_file *file,
    struct conf_problems *problems);
/* The users that c->auth names, into c->auth_users: before c is published.
 * 0, or -1 with at least one problem. No file is named: nothing is done. */
AB_MUST int auth_load_conf(struct conf *c, struct conf_problems *problems);
struct auth *auth_ref(struct auth *a);
void auth_unref(struct auth *a); /* takes NULL; the last one frees */

/*
 * The hash that a password of this user is checked against; lives as long as
 * *a. For a name that is not in the file it is another user's, always the same
 * one, and *ret_known is false: so it takes as long to say no to a name that
 * is not there as to a wrong password. NULL: there are no users at all.
 */
const char *auth_hash(const struct auth *a, struct span user, bool *ret_known);

#endif
