/* SPDX-License-Identifier: MIT */
/*
 * conf_set_proxy.c: values of [proxy] and [dns], from text to field.
 *
 * Decides what a listening address, a place and a path look like, and what the
 * classes of destinations stand for. Nothing is opened here; a directory is
 * only looked at, so that -t finds what a start would.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "edge/conf_set.h"
#include "edge/conf_value.h"

/* --- listen -------------------------------------------------------------- */

/* v4 comes as the mapped address and becomes a plain AF_INET socket. */
static void
fill_tcp(struct conf_listen *l, const struct in6_addr *a, uint16_t port)
{
	if (IN6_IS_ADDR_V4MAPPED(a)) {
		struct sockaddr_in in = {.sin_family = AF_INET,
		    .sin_port = htons(port)};

		memcpy(&in.sin_addr, a->s6_addr + 12, 4);
		memcpy(&l->addr, &in, sizeof(in));
		l->addr_len = sizeof(in);
	} else {
		struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
		    .sin6_port = htons(port),
		    .sin6_addr = *a};

		memcpy(&l->addr, &in6, sizeof(in6));
		l->addr_len = sizeof(in6);
	}
}

static int
fill_unix(struct conf_setter *to, struct conf_listen *l, struct span path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (path.n == 0 || path.p[0] != '/')
		return conf_set_bad(to, "a socket's path begins with /");
	if (path.n > CONF_UNIX_PATH_MAX)
		return conf_set_bad(to,
		    "a socket's path has 107 bytes at most");
	memcpy(un.sun_path, path.p, path.n);
	memcpy(&l->addr, &un, sizeof(un));
	l->addr_len = sizeof(un);
	return conf_set_text(to, path, &l->unix_path);
}

static const struct conf_listen *
find_listen(const struct conf *c, const struct conf_listen *l)
{
	for (size_t i = 0; i < c->nlisten; i++) {
		if (c->listen[i].addr_len == l->addr_len &&
		    !memcmp(&c->listen[i].addr, &l->addr, l->addr_len))
			return &c->listen[i];
	}
	return NULL;
}

/* Takes "tls:" or "transparent:" off the front. */
static enum conf_listen_kind
take_kind(struct span *s)
{
	static const struct {
		struct span word;
		enum conf_listen_kind kind;
	} kinds[] = {
	    {{"tls:", 4}, CONF_LISTEN_TLS},
	    {{"transparent:", 12}, CONF_LISTEN_TRANSPARENT},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = kinds[i].word.n;

		if (!span_starts(*s, kinds[i].word))
			continue;
		*s = (struct span){s->p + n, s->n - n};
		return kinds[i].kind;
	}
	return CONF_LISTEN_PLAIN;
}

static int
fill_addr(struct conf_setter *to, struct conf_listen *l, struct span text,
    uint16_t *ret_port)
{
	struct in6_addr addr;

	l->kind = take_kind(&text);
	if (span_starts(text, SPAN("unix:"))) {
		if (l->kind != CONF_LISTEN_PLAIN)
			return conf_set_bad(to,
			    "a unix socket takes no tls: or transparent:");
		*ret_port = 1;
		return fill_unix(to, l, (struct span){text.p + 5, text.n - 5});
	}
	if (value_endpoint(text, -1, 0, &addr, ret_port, &to->why) != 0)
		return CONF_SET_BAD;
	fill_tcp(l, &addr, *ret_port);
	return CONF_SET_OK;
}

int
conf_set_listen(struct conf_setter *to, struct span item)
{
	struct conf *c = to->conf;
	struct conf_listen l = {.addr_len = 0};
	uint16_t port = 0;

	if (item.p == NULL) {
		c->listen = NULL;
		c->nlisten = 0;
		return CONF_SET_OK;
	}
	int rc = fill_addr(to, &l, item, &port);
	if (rc != CONF_SET_OK)
		return rc;
	/* Any number of free ports may be asked for. */
	const struct conf_listen *other = port ? find_listen(c, &l) : NULL;
	if (other != NULL)
		return conf_set_told(to,
		    "the same address is listed twice ('%s'); take one out",
		    other->text);
	rc = conf_set_text(to, item, &l.text);
	if (rc != CONF_SET_OK)
		return rc;
	struct conf_listen *v =
	    conf_pool_grow(&c->pool, c->listen, c->nlisten, sizeof(*c->listen));
	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	v[c->nlisten++] = l;
	c->listen = v;
	return CONF_SET_OK;
}

/* --- addresses and places ------------------------------------------------ */

static int
add_net(struct conf_setter *to, struct conf_nets *nets,
    const struct conf_net *net)
{
	struct conf_net *v =
	    conf_pool_grow(&to->conf->pool, nets->v, nets->n, sizeof(*nets->v));

	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	v[nets->n++] = *net;
	nets->v = v;
	return CONF_SET_OK;
}

int
conf_set_nets(struct conf_setter *to, struct span item)
{
	struct conf_nets *nets = conf_field(to);
	struct conf_net net;

	if (item.p == NULL) {
		*nets = (struct conf_nets){.v = NULL};
		return CONF_SET_OK;
	}
	if (value_net(item, &net, &to->why) != 0)
		return CONF_SET_BAD;
	return add_net(to, nets, &net);
}

/*
 * Classes of destinations, as blocks: RFC 6890 and the registries it set up,
 * but for "this host" (0.0.0.0, ::), which a connection takes for loopback, and
 * for where clouds answer questions about the machine itself, with credentials
 * among the answers. No names: whatever a name is, its addresses are checked,
 * and a name here would outweigh an address that is allowed.
 */
static const struct {
	const char *name;
	const char *nets; /* separated by a space */
} classes[] = {
    {"loopback", "127.0.0.0/8 ::1 0.0.0.0 ::"},
    {"link-local", "169.254.0.0/16 fe80::/10"},
    {"metadata",
	"169.254.169.254 169.254.170.2 169.254.170.23 "
	"fd00:ec2::254 fd00:ec2::23 fd20:ce::254 100.100.100.200 "
	"168.63.129.16 192.0.0.192"},
    {"multicast", "224.0.0.0/4 ff00::/8"},
    {"reserved",
	"0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 "
	"198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 "
	"::/96 100::/64 2001:db8::/32 3fff::/20 5f00::/16"},
    {"private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10"},
    {"cgnat", "100.64.0.0/10"},
};
#define NCLASSES (sizeof(classes) / sizeof(classes[0]))

static int
add_host(struct conf_setter *to, struct conf_places *places, struct span item)
{
	static char listed; /* what a lookup finds: that it is there */
	void *other;

	switch (
	    rules_add_host(&places->hosts, item, &listed, &other, &to->why)) {
	case RULES_BAD:
		return CONF_SET_BAD;
	case RULES_NO_MEMORY:
		return CONF_SET_NO_MEMORY;
	default:
		return CONF_SET_OK; /* listed twice does no harm */
	}
}

/* "127.1" would be a host pattern, yet nobody means a host of that name. */
static bool
looks_like_net(struct span s)
{
	bool numeric = s.n > 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '/')
			return true;
		numeric = numeric && strchr("0123456789.", s.p[i]);
	}
	if (s.n > 0 && s.p[0] == '[')
		return false;
	const char *colon = memchr(s.p, ':', s.n);
	return numeric || (colon && memrchr(s.p, ':', s.n) != colon);
}

static int
add_place(struct conf_setter *to, struct conf_places *places, struct span item)
{
	struct conf_net net;

	if (!looks_like_net(item))
		return add_host(to, places, item);
	if (value_net(item, &net, &to->why) != 0)
		return CONF_SET_BAD;
	return add_net(to, &places->nets, &net);
}

static int
add_class(struct conf_setter *to, struct conf_places *places, const char *list)
{
	struct span rest = span_of(list), net;

	while (span_cut(&rest, ' ', &net)) {
		int rc = add_place(to, places, net);

		if (rc != CONF_SET_OK)
			return rc;
	}
	return CONF_SET_OK;
}

/* A mistyped class would pass as the name of a host, and deny nothing. */
static const char *
mistyped_class(struct span item)
{
	for (size_t i = 0; i < NCLASSES; i++) {
		if (!memchr(item.p, '.', item.n) &&
		    conf_distance(item, span_of(classes[i].name), 2) <= 2)
			return classes[i].name;
	}
	return NULL;
}

int
conf_add_place(struct conf_setter *to, struct conf_places *places,
    struct span item)
{
	if (span_eq(item, SPAN("*"))) {
		places->all = true;
		return CONF_SET_OK;
	}
	for (size_t i = 0; i < NCLASSES; i++) {
		if (span_eq(item, span_of(classes[i].name)))
			return add_class(to, places, classes[i].nets);
	}
	const char *meant = mistyped_class(item);
	if (meant != NULL)
		return conf_set_told(to, "did you mean '%s'?", meant);
	return add_place(to, places, item);
}

int
conf_set_places(struct conf_setter *to, struct span item)
{
	struct conf_places *places = conf_field(to);

	if (item.p != NULL)
		return conf_add_place(to, places, item);
	rules_free(&places->hosts);
	*places = (struct conf_places){.all = false};
	return rules_init(&places->hosts) == 0 ? CONF_SET_OK
					       : CONF_SET_NO_MEMORY;
}

int
conf_set_ports(struct conf_setter *to, struct span item)
{
	struct conf *c = to->conf;
	uint16_t port;

	if (item.p == NULL) {
		c->connect_ports = NULL;
		c->nconnect_ports = 0;
		c->connect_any = false;
		return CONF_SET_OK;
	}
	if (span_eq(item, SPAN("*"))) {
		c->connect_any = true;
		return CONF_SET_OK;
	}
	if (value_port(item, &port, &to->why) != 0)
		return CONF_SET_BAD;
	uint16_t *v = conf_pool_grow(&c->pool, c->connect_ports,
	    c->nconnect_ports, sizeof(*v));
	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	v[c->nconnect_ports++] = port;
	c->connect_ports = v;
	return CONF_SET_OK;
}

/* --- files --------------------------------------------------------------- */

int
conf_set_log_path(struct conf_setter *to, struct span item)
{
	if (!span_eq(item, SPAN("-")) && !span_eq(item, SPAN("off")) &&
	    item.p[0] != '/')
		return conf_set_bad(to, "a file's path begins with /");
	return conf_set_text(to, item, conf_field(to));
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int
conf_set_dir(struct conf_setter *to, struct span item)
{
	const char *path = getenv("TMPDIR");

	if (span_eq(item, SPAN("auto"))) {
		if (path == NULL || path[0] != '/' || !is_directory(path))
			path = "/var/tmp";
		return conf_set_text(to, span_of(path), conf_field(to));
	}
	if (item.p[0] != '/')
		return conf_set_bad(to, "a directory's path begins with /");
	int rc = conf_set_text(to, item, &path);
	if (rc != CONF_SET_OK)
		return rc;
	if (!is_directory(path))
		return conf_set_bad(to, "there is no such directory");
	if (access(path, W_OK | X_OK) != 0)
		return conf_set_bad(to, "the directory may not be written to");
	memcpy(conf_field(to), &path, sizeof(path));
	return CONF_SET_OK;
}

/* Checked and turned into words by the reader, see conf_file.c. */
int
conf_set_include(struct conf_setter *to, struct span item)
{
	(void)to;
	(void)item;
	return CONF_SET_OK;
}

/* --- name servers -------------------------------------------------------- */

/* "192.0.2.1:53" or "[2001:db8::1]:53". */
static void
put_endpoint(struct strbuf *b, const struct in6_addr *a, uint16_t port)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(a);
	char text[INET6_ADDRSTRLEN];

	if (!inet_ntop(v4 ? AF_INET : AF_INET6,
		v4 ? a->s6_addr + 12 : a->s6_addr, text, sizeof(text)))
		text[0] = '\0'; /* can't be: the room suffices for both */
	strbuf_fmt(b, v4 ? "%s:%u" : "[%s]:%u", text, (unsigned)port);
}

int
conf_set_servers(struct conf_setter *to, struct span item)
{
	struct conf *c = to->conf;
	struct in6_addr addr;
	uint16_t port;

	if (item.p == NULL || span_eq(item, SPAN("system"))) {
		c->dns_servers = "";
		return CONF_SET_OK;
	}
	if (value_endpoint(item, 53, 1, &addr, &port, &to->why) != 0)
		return CONF_SET_BAD;

	struct strbuf b;
	strbuf_init(&b, SIZE_MAX);
	strbuf_span(&b, span_of(c->dns_servers));
	if (b.n > 0)
		strbuf_char(&b, ',');
	put_endpoint(&b, &addr, port);
	int rc = b.failed ? CONF_SET_NO_MEMORY
			  : conf_set_text(to, strbuf_view(&b), &c->dns_servers);
	strbuf_free(&b);
	return rc;
}
