/* SPDX-License-Identifier: MIT */
/*
 * conf: the configuration, read whole, checked whole, then published and never
 * changed. A struct conf is shared by reference count: each request keeps the
 * one it began with, a reload publishes a new one.
 *
 * Every option is one row of the table in conf_table.c; the parser, -t, the
 * example file (etc/abided.conf) and the manual's option list come from it.
 */
#ifndef AB_CONF_H
#define AB_CONF_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "conf_pool.h"
#include "policy/policy.h"
#include "policy/rules.h"

struct auth;
struct script;
struct tls_set;
struct tls_upstream;

/* No socket path can be longer: sun_path with its NUL. */
#define CONF_UNIX_PATH_MAX 107

enum conf_listen_kind {
	CONF_LISTEN_PLAIN,
	CONF_LISTEN_TLS,         /* "tls:HOST:PORT": the proxy over HTTPS */
	CONF_LISTEN_TRANSPARENT, /* "transparent:HOST:PORT": redirected by
	                          * netfilter, meant for somebody else */
};

struct conf_listen {
	const char *text;      /* as written, for messages */
	enum conf_listen_kind kind;
	const char *unix_path; /* NULL: TCP */
	struct sockaddr_storage addr; /* of the socket, also where it is unix */
	socklen_t addr_len;
};

struct conf_net { /* a CIDR block; IPv4 is kept as ::ffff:a.b.c.d/96+n */
	struct in6_addr addr;
	unsigned bits; /* 0..128 */
};
bool conf_net_has(const struct conf_net *net, const struct in6_addr *a);

struct conf_nets {
	struct conf_net *v;
	size_t n;
};
bool conf_nets_have(const struct conf_nets *nets, const struct in6_addr *a);

/* allow_destinations, deny_destinations or no_proxy, classes expanded. */
struct conf_places {
	bool all;           /* "*" */
	struct conf_nets nets;
	struct rules hosts; /* host patterns; owns its maps */
	struct conf_places *next; /* in conf.no_proxies */
};

/* A file that a start needs. */
struct conf_file {
	const char *path;      /* NULL: not set */
	const char *where;     /* "FILE:LINE", for messages; NULL: not set */
};

/* tls = ...: what is done with TLS of a client, or for it. */
enum conf_tls { CONF_TLS_TUNNEL, CONF_TLS_INTERCEPT, CONF_TLS_ORIGINATE };

enum conf_tls_version { CONF_TLS_1_2, CONF_TLS_1_3 };

struct conf_parent { /* a proxy on the way upstream */
	const char *host;      /* without brackets; NULL: none */
	uint16_t port;
	const char *auth;      /* value of Proxy-Authorization, or NULL */
	const char *text;      /* "host:port", for messages: no secrets */
};

struct conf_service {
	const char *name;      /* "" for [defaults] */
	const char *preset;    /* the name of the one it stands on; NULL: none */
	const char *preset_where; /* "FILE:LINE", for messages; NULL: none */
	bool tls_unread;       /* HTTPS passes unread, and nobody said that it
	                        * should: see conf_hints */
	struct policy policy;  /* its spans point into the pool */
	uint32_t burst;        /* of rates without their own; policy has it */
	const char **hosts;    /* patterns as written */
	size_t nhosts;
	const char *route;     /* "/prefix/" or NULL */
	const char *route_host; /* where a routed request goes: the first of
	                         * `hosts` that is no wildcard, without brackets
	                         * and port; NULL without a route */
	uint16_t route_port;   /* that host's, else 80, or 443 with originate */
	enum conf_tls tls;
	struct conf_file upstream_ca, upstream_cert, upstream_key; /* [tls]'s
	                        * own where this service has none; path NULL:
	                        * the system's store, no certificate */
	struct conf_file script_file; /* of strategy = custom */
	struct script *script; /* in conf.scripts: what it holds, ready to be
	                        * asked; NULL: another strategy, or not loaded */
	struct conf_parent parent;
	const struct conf_places *no_proxy; /* reached without the parent; NULL:
	                        * nothing is; see conf_places_name */
	struct tls_upstream *tls_upstream; /* in conf.tls: how TLS is spoken to
	                        * its servers */
	void *state;           /* opaque here: set by who publishes the conf, to
	                        * what lives on from one conf to the next */
};

struct conf {
	atomic_uint refs;
	struct conf_pool pool;  /* owns all that is reachable from here, but the
	                         * maps inside a struct rules */
	uint64_t generation;    /* counts up with each load, from 1 */

	/* [proxy] */
	struct conf_listen *listen;
	size_t nlisten;
	unsigned workers;             /* resolved: >= 1 */
	struct conf_nets allow_clients;
	struct conf_places deny;      /* deny_destinations */
	struct conf_places allow;     /* allow_destinations; wins */
	uint16_t *connect_ports;      /* CONNECT may go there */
	size_t nconnect_ports;
	bool connect_any;             /* connect_ports = * */
	unsigned max_connections;     /* 0: what the descriptor limit allows */
	unsigned max_parked;
	int64_t drain_timeout_ms;
	const char *access_log;       /* "-": with the log; "off"; or a file */
	enum log_level log_level;
	enum log_format log_format;
	const char *spill_dir;        /* where unlinked spill files are made */

	const char *preset_dir;       /* the user's own presets; NULL: none */
	struct conf_file auth;        /* htpasswd */

	/* [tls] */
	struct conf_file ca_cert, ca_key; /* of intercepted hosts; both or none */
	struct conf_file listen_cert, listen_key; /* of tls: listeners */
	enum conf_tls_version min_version;
	struct tls_set *tls;          /* owns: what these files hold, ready for
	                               * use; NULL: not loaded, see tls_set.h */
	struct script **scripts;      /* owns: of all files that services name;
	                               * see script.h */
	size_t nscripts;
	struct auth *auth_users;      /* a reference; NULL: nobody is asked */

	/* [dns] */
	const char *dns_servers;      /* "": the system's; else a comma list of
	                               * ADDRESS:PORT, [v6]:PORT (for c-ares) */
	int64_t dns_timeout_ms;
	int64_t dns_cache_ttl_max_ms;

	struct conf_service defaults;   /* for hosts that no service names */
	struct conf_service **services; /* in the order of the file */
	size_t nservices;
	struct rules rules;             /* host, route -> struct conf_service * */
	struct conf_places *no_proxies; /* all there are, for their maps */

	const char *const *texts;       /* per row of the table: the value of a
	                                 * [proxy] or [dns] option in one line;
	                                 * NULL: the built-in default */
};

/* A setting given with -s or ABIDED_SET, kept for reloads. */
struct conf_override {
	char *section, *key, *value; /* owns */
	const char *from;            /* "-s" or "ABIDED_SET", for messages */
};
struct conf_overrides {
	struct conf_override *v; /* owns */
	size_t n;
};

/*
 * Problems found, all of them; each line "FILE:LINE: text". Out of memory is
 * one of them, and its text needs none.
 */
struct conf_problems {
	char **v; /* owns */
	size_t n;
	size_t cap;
};
void conf_problems_free(struct conf_problems *p); /* empty and usable again */
void conf_problems_print(const struct conf_problems *p, FILE *to);

/* What a problem says that goes away with a CA, and no other one does. */
#define CONF_WANTS_CA "needs ca_cert and ca_key in [tls]"

/*
 * Splits "SECTION.KEY=VALUE" (section of a service: "service NAME.KEY=VALUE";
 * the last '.' before '=' separates). 0, or -1 with *ret_why (static).
 */
AB_MUST int conf_override_parse(const char *text, const char *from,
    struct conf_override *ret, const char **ret_why);
void conf_override_free(struct conf_override *o);

/*
 * Append to a list: one setting, or those of ABIDED_SET, which ';' separates
 * (but in "quotes"; text may be NULL: not set). 0, or -1 with one problem or more.
 * A later one wins over an earlier one, so the environment is added first. An
 * option that takes a list adds up those of one origin (`from`).
 */
AB_MUST int conf_overrides_add(struct conf_overrides *o, const char *text,
    const char *from, struct conf_problems *problems);
AB_MUST int conf_overrides_add_env(struct conf_overrides *o, const char *text,
    struct conf_problems *problems);
void conf_overrides_free(struct conf_overrides *o);

/*
 * Reads `path` (NULL: built-in defaults only) and its includes, applies the
 * overrides, validates. Returns a conf with one reference, or NULL with at
 * least one problem added to *ret_problems. A file that is not there is a
 * problem: whether a default path may be missing is the caller's to decide.
 */
AB_MUST struct conf *conf_load(const char *path,
    const struct conf_override *over, size_t nover,
    struct conf_problems *ret_problems);
/* The same from memory; `name` stands for the file in messages, and includes
 * are looked for beside it. */
AB_MUST struct conf *conf_load_text(const char *name, struct span text,
    const struct conf_override *over, size_t nover,
    struct conf_problems *ret_problems);
/*
 * preset_dir as they say, whatever else is wrong with them; in the pool. NULL:
 * none.
 */
const char *conf_preset_dir(const char *path, const struct conf_override *over,
    size_t nover, struct conf_pool *pool);
struct conf *conf_ref(struct conf *c);
void conf_unref(struct conf *c); /* takes NULL; the last one frees */

/* What is no mistake, but may not be meant as it is written: "FILE:LINE: text"
 * each. Without memory nothing is said. */
void conf_hints(const struct conf *c, void (*say)(struct span hint));

/* The service a host belongs to: a named one, or &c->defaults. */
const struct conf_service *conf_service_of(const struct conf *c,
    struct span host, uint16_t port);
/* By name; NULL: no such service. */
const struct conf_service *conf_service_named(const struct conf *c,
    struct span name);

/* Of an AF_INET (mapped) or AF_INET6 socket address; false: another one. */
bool conf_in6_of(const struct sockaddr *sa, struct in6_addr *ret);
bool conf_client_allowed(const struct conf *c, const struct in6_addr *a);
bool conf_connect_port_allowed(const struct conf *c, uint16_t port);

/*
 * May a request go there? The name decides where a list has it, else each
 * address it resolves to is asked for; a name that is a literal address too.
 */
enum conf_access { CONF_ALLOWED, CONF_DENIED, CONF_ASK_ADDRESS };
enum conf_access conf_host_access(const struct conf *c, struct span host,
    uint16_t port);
/* Does the list name it? An address by its block too; nothing is resolved.
 * Host without brackets. places may be NULL: it names nothing. */
bool conf_places_name(const struct conf_places *places, struct span host,
    uint16_t port);
bool conf_addr_allowed(const struct conf *c, const struct in6_addr *a);

/*
 * Writes the options ("proxy.listen, proxy.workers") whose new value takes
 * effect at the next start only; returns how many.
 */
size_t conf_restart_changes(const struct conf *old, const struct conf *now,
    struct strbuf *ret);

/* The example configuration: every option, commented, with its default. */
void conf_print_example(FILE *to);
/* The option list, as Markdown: docs/OPTIONS.md. */
void conf_print_options(FILE *to);
/* The same in mdoc, subsections of docs/abided.conf.5. */
void conf_print_man(FILE *to);

#endif
