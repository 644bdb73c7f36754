/* SPDX-License-Identifier: MIT */
/*
 * conf_set: from the text of a value to a field of the configuration. One
 * function per kind of value; the table names it. Internal to the
 * configuration.
 */
#ifndef AB_CONF_SET_H
#define AB_CONF_SET_H

#include "edge/conf_problem.h"
#include "edge/conf_table.h"

/* What a set function works on. */
struct conf_setter {
	struct conf *conf;
	struct conf_service *service; /* CONF_IN_POLICY only */
	const struct conf_option *opt;
	struct conf_where where; /* of the setting at hand */
	const struct conf_service *clash; /* out: whose host it is already */
	bool aside;       /* a service given twice: looked at, but not kept */
	const char *why;  /* out: what is wrong with the item */
	char buf[256];    /* room for a `why` that is made up */
};

enum conf_set_result {
	CONF_SET_OK,
	CONF_SET_BAD,       /* `why`; what the option takes is added to it */
	CONF_SET_TOLD,      /* `why` says it all */
	CONF_SET_NO_MEMORY,
};

/* Numbers, words, switches. */
int conf_set_duration(struct conf_setter *to, struct span item);
int conf_set_size(struct conf_setter *to, struct span item);
int conf_set_count(struct conf_setter *to, struct span item);
int conf_set_flag(struct conf_setter *to, struct span item);
int conf_set_choice(struct conf_setter *to, struct span item);

/* Of [proxy] and [dns]. */
int conf_set_listen(struct conf_setter *to, struct span item);
int conf_set_nets(struct conf_setter *to, struct span item);
int conf_set_places(struct conf_setter *to, struct span item);
int conf_set_ports(struct conf_setter *to, struct span item);
int conf_set_log_path(struct conf_setter *to, struct span item);
int conf_set_dir(struct conf_setter *to, struct span item);
int conf_set_servers(struct conf_setter *to, struct span item);
int conf_set_preset_dir(struct conf_setter *to, struct span item);
int conf_set_include(struct conf_setter *to, struct span item);

/* Of TLS and of the way upstream; secrets never reach `why`. */
int conf_set_file(struct conf_setter *to, struct span item);
int conf_set_parent(struct conf_setter *to, struct span item);
int conf_set_no_proxy(struct conf_setter *to, struct span item);

/* Of a policy. */
int conf_set_statuses(struct conf_setter *to, struct span item);
int conf_set_non_idempotent(struct conf_setter *to, struct span item);
int conf_set_hints(struct conf_setter *to, struct span item);
int conf_set_floor(struct conf_setter *to, struct span item);
int conf_set_rate(struct conf_setter *to, struct span item);
int conf_set_hosts(struct conf_setter *to, struct span item);
int conf_set_route(struct conf_setter *to, struct span item);
int conf_set_preset(struct conf_setter *to, struct span item);
int conf_set_key(struct conf_setter *to, struct span item);

/* Of learning and retrying. */
int conf_set_budget(struct conf_setter *to, struct span item);
int conf_set_share(struct conf_setter *to, struct span item);
int conf_set_field(struct conf_setter *to, struct span item);

/* Rules about answers: policy/when.h. */
int conf_set_rules(struct conf_setter *to, struct span item);
int conf_set_wait_body(struct conf_setter *to, struct span item);
int conf_set_wait_when(struct conf_setter *to, struct span item);

/* The field of the option at hand. */
void *conf_field(const struct conf_setter *to);
int conf_set_bad(struct conf_setter *to, const char *why);
int conf_set_told(struct conf_setter *to, const char *fmt, ...)
    AB_PRINTF(2, 3);
/* One item of a list of places; the words that stand alone are taken out. */
int conf_add_place(struct conf_setter *to, struct conf_places *places,
    struct span item);
/* A copy in the pool, into *ret. */
AB_MUST int conf_set_text(struct conf_setter *to, struct span s,
    const char **ret);

#endif
