/* SPDX-License-Identifier: MIT */
/*
 * Decides which service a host or a path belongs to, and which routes are sane
 * (hosts: pattern.c). It does not know what a service is: services are pointers
 * that it hands back.
 *
 * Three tables by text: hosts, suffixes of wildcards, route prefixes. Patterns
 * of one host that differ in the port share a hash, so one chain answers both
 * "with this port" and "with any". A lookup tries the whole host, then each
 * suffix from the longest on; the bounds on hosts and prefixes bound its cost.
 * The hash key may be a constant: only the configuration adds to the tables.
 */
#include "policy/rules.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "policy/pattern.h"

struct rule {
	struct map_node node; /* hash: of text, without case */
	void *service;        /* shared */
	uint16_t port;        /* 0: any; routes: always 0 */
	size_t n;
	char text[]; /* n bytes */
};

/* --- tables -------------------------------------------------------------- */

static uint64_t
rule_hash(struct span text)
{
	static const struct hash_key key = {0, 0};

	return hash_span_nocase(&key, text);
}

static struct rule *
rule_of(struct map_node *node)
{
	return AB_CONTAINER(node, struct rule, node);
}

/* The rule of exactly this text (hosts: without case) and port. */
static struct rule *
table_get(const struct map *m, struct span text, uint16_t port, bool with_case)
{
	struct map_node *node = map_find(m, rule_hash(text));

	for (; node; node = map_find_next(node)) {
		struct rule *r = rule_of(node);
		struct span own = {r->text, r->n};

		if (r->port == port &&
		    (with_case ? span_eq(own, text) : span_ieq(own, text)))
			return r;
	}
	return NULL;
}

/* The host with this port, else with any. */
static struct rule *
table_match(const struct map *m, struct span host, uint16_t port)
{
	struct map_node *node = map_find(m, rule_hash(host));
	struct rule *any = NULL;

	for (; node; node = map_find_next(node)) {
		struct rule *r = rule_of(node);

		if (!span_ieq((struct span){r->text, r->n}, host))
			continue;
		if (r->port != 0 && r->port == port)
			return r;
		if (r->port == 0)
			any = r;
	}
	return any;
}

static enum rules_result
table_add(struct map *m, struct span text, uint16_t port, void *service)
{
	struct rule *r = mem_alloc(sizeof(*r) + text.n);

	if (!r)
		return RULES_NO_MEMORY;
	r->service = service;
	r->port = port;
	r->n = text.n;
	memcpy(r->text, text.p, text.n);
	map_add(m, &r->node, rule_hash(text));
	return RULES_OK;
}

static void
table_free(struct map *m)
{
	size_t pos = 0;
	struct map_node *node = map_walk(m, &pos, NULL);

	/* The walk needs the node it left until it has found the next. */
	while (node) {
		struct map_node *next = map_walk(m, &pos, node);

		mem_free(rule_of(node));
		node = next;
	}
	map_clear(m);
}

int
rules_init(struct rules *r)
{
	*r = (struct rules){0};
	if (map_init(&r->exact) == 0 && map_init(&r->suffix) == 0 &&
	    map_init(&r->routes) == 0)
		return 0;
	rules_free(r);
	return -1;
}

void
rules_free(struct rules *r)
{
	table_free(&r->exact);
	table_free(&r->suffix);
	table_free(&r->routes);
	*r = (struct rules){0};
}

/* --- hosts ---------------------------------------------------------------- */

enum rules_result
rules_add_host(struct rules *r, struct span pattern, void *service,
    void **ret_other, const char **ret_why)
{
	struct pattern p;
	struct map *m;
	const struct rule *other;
	const char *why = pattern_parse(pattern, &p);

	if (why) {
		*ret_why = why;
		return RULES_BAD;
	}
	if (p.is_any) {
		if (r->any) {
			*ret_other = r->any;
			return RULES_DUPLICATE;
		}
		r->any = service;
		return RULES_OK;
	}
	m = p.is_wildcard ? &r->suffix : &r->exact;
	other = table_get(m, p.host, p.port, false);
	if (other) {
		*ret_other = other->service;
		return RULES_DUPLICATE;
	}
	return table_add(m, p.host, p.port, service);
}

/* The longest wildcard that ends the host; at least one label is left. */
static const struct rule *
suffix_match(const struct rules *r, struct span host, uint16_t port)
{
	struct span rest = host, label;

	while (r->suffix.n > 0 && span_cut(&rest, '.', &label) && rest.p) {
		const struct rule *found = table_match(&r->suffix, rest, port);

		if (found && rest.p > host.p + 1)
			return found;
	}
	return NULL;
}

void *
rules_find_host(const struct rules *r, struct span host, uint16_t port)
{
	const struct rule *found;
	char ip6[PATTERN_IP6_BYTES];

	host = pattern_host(host, ip6);
	if (host.n == 0 || host.n > PATTERN_HOST_MAX)
		return r->any;
	found = table_match(&r->exact, host, port);
	if (!found)
		found = suffix_match(r, host, port);
	return found ? found->service : r->any;
}

/* --- routes -------------------------------------------------------------- */

static const char *
segment_fault(struct span segment)
{
	if (segment.n == 0)
		return "empty segment in the route";
	if (span_eq(segment, SPAN(".")) || span_eq(segment, SPAN("..")))
		return "'.' or '..' in the route";
	for (size_t i = 0; i < segment.n; i++) {
		char c = segment.p[i];

		if (c <= ' ' || c > '~' || c == '?' || c == '#')
			return "a route is a path of visible ASCII without "
			       "'?' and '#'";
	}
	return NULL;
}

static const char *
prefix_fault(struct span prefix)
{
	struct span rest, segment;

	if (!span_starts(prefix, SPAN("/")) || !span_ends(prefix, SPAN("/")))
		return "a route begins and ends with '/'";
	if (prefix.n > RULES_PREFIX_MAX)
		return "route of more than 255 characters";
	if (prefix.n == 1)
		return NULL;
	rest = (struct span){prefix.p + 1, prefix.n - 2};
	while (span_cut(&rest, '/', &segment)) {
		const char *why = segment_fault(segment);

		if (why)
			return why;
	}
	return NULL;
}

enum rules_result
rules_add_route(struct rules *r, struct span prefix, void *service,
    void **ret_other, const char **ret_why)
{
	enum rules_result res;
	const struct rule *other;
	const char *why = prefix_fault(prefix);

	if (why) {
		*ret_why = why;
		return RULES_BAD;
	}
	other = table_get(&r->routes, prefix, 0, true);
	if (other) {
		*ret_other = other->service;
		return RULES_DUPLICATE;
	}
	res = table_add(&r->routes, prefix, 0, service);
	if (res == RULES_OK && prefix.n > r->routes_longest)
		r->routes_longest = prefix.n;
	return res;
}

void *
rules_find_route(const struct rules *r, struct span path, size_t *ret_n)
{
	size_t n = path.n;

	if (n > r->routes_longest)
		n = r->routes_longest;
	for (; n > 0; n--) {
		const struct rule *found;

		if (path.p[n - 1] != '/')
			continue;
		found =
		    table_get(&r->routes, (struct span){path.p, n}, 0, true);
		if (found) {
			*ret_n = n;
			return found->service;
		}
	}
	return NULL;
}
