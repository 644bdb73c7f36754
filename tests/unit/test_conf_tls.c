/* SPDX-License-Identifier: MIT */
/*
 * TLS, proxy authentication and the way through a parent proxy: what may be
 * said about them, what people are told, and what is never told.
 */
#include "conf_rig.h"

#include <arpa/inet.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define FILE_OR(word) \
	"; it takes the path of a file, which begins with /, or " word "\n"
#define PARENTS \
	"; it takes http://HOST:PORT or http://USER:PASSWORD@HOST:PORT (what " \
	"is special in a URL as %XX), or none\n"

static const struct conf_service *
named(const struct conf *c, const char *name)
{
	const struct conf_service *s = conf_service_named(c, span_of(name));

	assert_non_null(s);
	return s;
}

/* NULL in v stands for a file that is not set. */
static void
assert_file(const struct conf_file *f, const char *path, const char *where)
{
	if (path == NULL) {
		assert_null(f->path);
		assert_null(f->where);
		return;
	}
	assert_string_equal(f->path, path);
	assert_string_equal(f->where, where);
}

/* The text "", with what -s and ABIDED_SET say; either may be NULL. */
static struct conf *
load_over(const char *text, const char *env, const char *s,
    struct conf_problems *p)
{
	struct conf_overrides o = {.n = 0};
	struct conf *c = NULL;
	int rc = conf_overrides_add_env(&o, env, p);

	if (s != NULL)
		rc |= conf_overrides_add(&o, s, "-s", p);
	if (rc == 0)
		c = conf_load_text("f", span_of(text), o.v, o.n, p);
	conf_overrides_free(&o);
	return c;
}

/* --- [tls] and auth ------------------------------------------------------ */

static void
tls_without_settings_is_tunnels_and_the_system_s_store(void **state)
{
	struct conf *c = rig_good("[service a]\nhosts = a\n");
	const struct conf_service *v[] = {&c->defaults, named(c, "a")};

	(void)state;
	assert_file(&c->auth, NULL, NULL);
	assert_file(&c->ca_cert, NULL, NULL);
	assert_file(&c->ca_key, NULL, NULL);
	assert_file(&c->listen_cert, NULL, NULL);
	assert_file(&c->listen_key, NULL, NULL);
	assert_int_equal(c->min_version, CONF_TLS_1_2);
	for (size_t i = 0; i < COUNT(v); i++) {
		assert_int_equal(v[i]->tls, CONF_TLS_TUNNEL);
		assert_file(&v[i]->upstream_ca, NULL, NULL);
		assert_file(&v[i]->upstream_cert, NULL, NULL);
		assert_file(&v[i]->upstream_key, NULL, NULL);
		assert_null(v[i]->parent.host);
		assert_null(v[i]->no_proxy);
	}
	conf_unref(c);
}

static void
file_keeps_the_place_where_it_was_named(void **state)
{
	struct conf *c = rig_good("[proxy]\nauth = /etc/users\n"
				  "[tls]\nca_cert = /ca.pem ; ours\n"
				  "ca_key = /ca key.pem\n"
				  "listen_key = /l.key\nlisten_cert = /l.pem\n"
				  "min_version = 1.3\n"
				  "[tls]\nupstream_ca = /roots\n");

	(void)state;
	assert_file(&c->auth, "/etc/users", "f:2");
	assert_file(&c->ca_cert, "/ca.pem", "f:4");
	assert_file(&c->ca_key, "/ca key.pem", "f:5");
	assert_file(&c->listen_cert, "/l.pem", "f:7");
	assert_file(&c->listen_key, "/l.key", "f:6");
	assert_file(&c->defaults.upstream_ca, "/roots", "f:10");
	assert_int_equal(c->min_version, CONF_TLS_1_3);
	conf_unref(c);
}

static void
override_names_files_and_takes_them_away(void **state)
{
	static const char text[] = "[proxy]\nauth = /etc/users\n"
				   "[tls]\nca_cert = /a\nca_key = /b\n";
	struct conf_problems p = {.n = 0};
	struct conf *c = load_over(text, "tls.ca_cert=/c; proxy.auth=none",
	    "tls.ca_key=/d", &p);

	(void)state;
	assert_non_null(c);
	assert_file(&c->auth, NULL, NULL);
	assert_file(&c->ca_cert, "/c", "ABIDED_SET tls.ca_cert=/c");
	assert_file(&c->ca_key, "/d", "-s tls.ca_key");
	conf_unref(c);
	c = load_over(text, "tls.ca_cert=none; tls.ca_key=none", NULL, &p);
	assert_non_null(c);
	assert_file(&c->ca_cert, NULL, NULL);
	assert_file(&c->ca_key, NULL, NULL);
	conf_unref(c);
}

static void
upstream_files_come_from_the_nearest_layer(void **state)
{
	struct conf *c =
	    rig_good("[service none]\nhosts = none\nupstream_cert = none\n"
		     "upstream_ca = system\n"
		     "[service own]\nhosts = own\nupstream_ca = /oa\n"
		     "upstream_cert = /oc\nupstream_key = /ok\n"
		     "[service plain]\nhosts = plain\n"
		     "[defaults]\nupstream_ca = /da\n"
		     "[tls]\nupstream_ca = /ta\nupstream_cert = /tc\n"
		     "upstream_key = /tk\n");
	const struct conf_service *s = named(c, "none");

	(void)state;
	assert_file(&c->defaults.upstream_ca, "/da", "f:13");
	assert_file(&c->defaults.upstream_cert, "/tc", "f:16");
	assert_file(&s->upstream_ca, NULL, NULL);
	assert_file(&s->upstream_cert, NULL, NULL);
	assert_file(&s->upstream_key, NULL, NULL);
	s = named(c, "own");
	assert_file(&s->upstream_ca, "/oa", "f:7");
	assert_file(&s->upstream_cert, "/oc", "f:8");
	assert_file(&s->upstream_key, "/ok", "f:9");
	s = named(c, "plain");
	assert_file(&s->upstream_ca, "/da", "f:13");
	assert_file(&s->upstream_cert, "/tc", "f:16");
	assert_file(&s->upstream_key, "/tk", "f:17");
	conf_unref(c);
}

/* What one layer takes away is not there for the next. */
static void
pair_taken_away_by_defaults_is_no_service_s(void **state)
{
	static const char *const taken[] = {"upstream_cert = none\n",
	    "upstream_key = none\n",
	    "upstream_cert = none\nupstream_key = none\n"};

	(void)state;
	for (size_t i = 0; i < COUNT(taken); i++) {
		char text[300];

		(void)snprintf(text, sizeof(text),
		    "[tls]\nupstream_cert = /c\nupstream_key = /k\n"
		    "[defaults]\n%s"
		    "[service a]\nhosts = a\n",
		    taken[i]);
		struct conf *c = rig_good(text);
		const struct conf_service *s = named(c, "a");
		assert_file(&s->upstream_cert, NULL, NULL);
		assert_file(&s->upstream_key, NULL, NULL);
		conf_unref(c);
	}
}

static void
tls_value_that_is_wrong_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[tls]\nca_cert = ca.pem\n",
		"f:2: ca_cert 'ca.pem': a file's path begins with "
		"/" FILE_OR("none")},
	    {"[tls]\nca_cert =\n",
		"f:2: ca_cert '': the value is missing" FILE_OR("none")},
	    {"[tls]\nupstream_ca = /a\nupstream_ca = /b\n",
		"f:3: 'upstream_ca' is given twice, first at f:2; take one out\n"},
	    {"[tls]\nupstream_ca = none\n",
		"f:2: upstream_ca 'none': a file's path begins with "
		"/" FILE_OR("system")},
	    {"[tls]\nmin_version = 1.1\n",
		"f:2: min_version '1.1': no such choice; it takes 1.2, or "
		"1.3\n"},
	    {"[tls]\nmin_version = TLSv1.3\n",
		"f:2: min_version 'TLSv1.3': no such choice; it takes 1.2, or "
		"1.3\n"},
	    {"[defaults]\nca_cert = /a\n",
		"f:2: 'ca_cert' has no place in [defaults]; it belongs in "
		"[tls]\n"},
	    {"[proxy]\nupstream_ca = /a\n",
		"f:2: 'upstream_ca' has no place in [proxy]; it belongs in "
		"[tls], [defaults] or [service NAME]\n"},
	    {"[tls]\ntls = intercept\n",
		"f:2: 'tls' has no place in [tls]; it belongs in [defaults] or "
		"[service NAME]\n"},
	    {"[tsl]\n", "f:1: unknown section [tsl]; did you mean [tls]?\n"},
	    {"[service a]\nhosts = a\ntls = passthrough\n",
		"f:3: tls 'passthrough': no such choice; it takes tunnel, "
		"intercept, or originate\n"},
	    {"[proxy]\nauth = users\n",
		"f:2: auth: a file's path begins with /" FILE_OR("none")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++)
		rig_bad(v[i].text, v[i].problems);
}

static void
certificate_without_its_key_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[tls]\nca_cert = /a\n",
		"f:2: ca_cert without ca_key; give both\n"},
	    {"[tls]\nca_key = /a\n",
		"f:2: ca_key without ca_cert; give both\n"},
	    {"[tls]\nca_key = /a\nca_cert = none\n",
		"f:2: ca_key without ca_cert; give both\n"},
	    {"[tls]\nlisten_cert = /a\nlisten_key = none\n",
		"f:2: listen_cert without listen_key; give both\n"},
	    {"[tls]\nlisten_key = /a\n",
		"f:2: listen_key without listen_cert; give both\n"},
	    {"[tls]\nupstream_cert = /a\n",
		"f:2: upstream_cert without upstream_key; give both\n"},
	    /* One of two layers would not fit the other. */
	    {"[tls]\nupstream_cert = /a\nupstream_key = /b\n"
	     "[service a]\nhosts = a\nupstream_cert = /c\n"
	     "[service b]\nhosts = b\nupstream_key = /c\n",
		"f:6: upstream_cert without upstream_key; give both\n"
		"f:9: upstream_key without upstream_cert; give both\n"},
	    /* Told once, where the mistake is. */
	    {"[defaults]\nupstream_cert = /a\n[service a]\nhosts = a\n",
		"f:2: upstream_cert without upstream_key; give both\n"},
	    {"[tls]\nca_cert = /a\nca_key = k\n"
	     "[service a]\nhosts = a\ntls = intercept\n",
		"f:3: ca_key: a file's path begins with /" FILE_OR("none")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++)
		rig_bad(v[i].text, v[i].problems);
}

/* --- tls ----------------------------------------------------------------- */

static void
service_says_what_is_done_about_tls(void **state)
{
	struct conf *c = rig_good("[tls]\nca_cert = /a\nca_key = /b\n"
				  "[service i]\nhosts = *\ntls = intercept\n"
				  "[service o]\nhosts = o\ntls = originate\n"
				  "[service t]\nhosts = t\ntls = tunnel\n"
				  "[defaults]\ntls = tunnel\n");

	(void)state;
	assert_int_equal(named(c, "i")->tls, CONF_TLS_INTERCEPT);
	assert_int_equal(named(c, "o")->tls, CONF_TLS_ORIGINATE);
	assert_int_equal(named(c, "t")->tls, CONF_TLS_TUNNEL);
	assert_ptr_equal(conf_service_of(c, SPAN("x.test"), 443),
	    named(c, "i"));
	conf_unref(c);
}

static void
tls_that_can_t_be_done_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[service a]\nhosts = a\ntls = intercept\n",
		"f:3: tls (intercept) needs ca_cert and ca_key in [tls]; "
		"\"abidectl ca init\" makes both files\n"},
	    {"[tls]\nca_cert = /a\nca_key = /b\n"
	     "[defaults]\ntls = intercept\n[service a]\nhosts = a\n",
		"f:5: tls (intercept) in [defaults] would take in every host; "
		"give it to a [service NAME] with their names, or with hosts = "
		"*\n"},
	    {"[defaults]\ntls = originate\n",
		"f:2: tls (originate) in [defaults] would take in every host; "
		"give it to a [service NAME] with their names, or with hosts = "
		"*\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++)
		rig_bad(v[i].text, v[i].problems);
}

/* --- listeners ----------------------------------------------------------- */

static void
listen_takes_tls_and_transparent(void **state)
{
	struct conf *c =
	    rig_good("[proxy]\nlisten = 127.0.0.1:1, tls:127.0.0.1:2,\n"
		     "  transparent:[::1]:3, tls:[::1]:0, tls:[::1]:0\n"
		     "[tls]\nlisten_cert = /a\nlisten_key = /b\n");
	static const struct {
		const char *text;
		enum conf_listen_kind kind;
		int family;
		uint16_t port;
	} v[] = {
	    {"127.0.0.1:1", CONF_LISTEN_PLAIN, AF_INET, 1},
	    {"tls:127.0.0.1:2", CONF_LISTEN_TLS, AF_INET, 2},
	    {"transparent:[::1]:3", CONF_LISTEN_TRANSPARENT, AF_INET6, 3},
	    {"tls:[::1]:0", CONF_LISTEN_TLS, AF_INET6, 0},
	    {"tls:[::1]:0", CONF_LISTEN_TLS, AF_INET6, 0},
	};

	(void)state;
	assert_int_equal(c->nlisten, COUNT(v));
	for (size_t i = 0; i < COUNT(v); i++) {
		const struct conf_listen *l = &c->listen[i];
		struct sockaddr_in6
		    in6; /* the port stands where AF_INET's is */

		memcpy(&in6, &l->addr, sizeof(in6));
		assert_string_equal(l->text, v[i].text);
		assert_int_equal(l->kind, v[i].kind);
		assert_int_equal(in6.sin6_family, v[i].family);
		assert_int_equal(ntohs(in6.sin6_port), v[i].port);
		assert_null(l->unix_path);
	}
	conf_unref(c);
}

#define LISTENS \
	"; it takes a list of HOST:PORT, [v6]:PORT (literal addresses; port " \
	"0: any free one), unix:/path; tls: or transparent: may stand before " \
	"HOST:PORT\n"
static void
listener_that_can_t_be_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[proxy]\nlisten = 127.0.0.1:1, tls:127.0.0.1:2\n"
	     "  tls:127.0.0.1:3\n",
		"f:2: listen 'tls:127.0.0.1:2' needs listen_cert and "
		"listen_key in [tls]\n"
		"f:3: listen 'tls:127.0.0.1:3' needs listen_cert and "
		"listen_key in [tls]\n"},
	    {"[proxy]\nlisten = tls:127.0.0.1:2\n[tls]\nlisten_cert = /a\n",
		"f:4: listen_cert without listen_key; give both\n"},
	    {"[proxy]\nlisten = transparent:127.0.0.1:1, 127.0.0.1:1\n",
		"f:2: listen '127.0.0.1:1': the same address is listed twice "
		"('transparent:127.0.0.1:1'); take one out\n"},
	    {"[proxy]\nlisten = tls:unix:/x\n",
		"f:2: listen 'tls:unix:/x': a unix socket takes no tls: or "
		"transparent:" LISTENS},
	    {"[proxy]\nlisten = tls:\n",
		"f:2: listen 'tls:': the port is missing" LISTENS},
	    {"[proxy]\nlisten = transparent:127.0.0.1\n",
		"f:2: listen 'transparent:127.0.0.1': the port is "
		"missing" LISTENS},
	    {"[proxy]\nlisten = transparent:tls:127.0.0.1:1\n",
		"f:2: listen 'transparent:tls:127.0.0.1:1': the port is "
		"missing" LISTENS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++)
		rig_bad(v[i].text, v[i].problems);
}

/* --- parent_proxy -------------------------------------------------------- */

static struct conf *
with_parent(const char *value)
{
	char text[300];

	(void)snprintf(text, sizeof(text), "[defaults]\nparent_proxy = %s\n",
	    value);
	return rig_good(text);
}

static void
parent_is_host_port_and_credentials_ready_to_send(void **state)
{
	/* The second is the example of RFC 7617 2. */
	static const struct {
		const char *value, *host, *text, *auth;
		uint16_t port;
	} v[] = {
	    {"http://proxy.test:3128", "proxy.test", "proxy.test:3128", NULL,
		3128},
	    {"http://Aladdin:open%20sesame@p:1", "p", "p:1",
		"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", 1},
	    {"HTTP://[2001:db8::1]:65535/", "2001:db8::1",
		"[2001:db8::1]:65535", NULL, 65535},
	    {"http://u:@p:1", "p", "p:1", "Basic dTo=", 1},
	    {"http://u@p:1", "p", "p:1", "Basic dTo=", 1},
	    /* The password "@:/%". */
	    {"http://u:%40%3a%2F%25@p:1", "p", "p:1", "Basic dTpAOi8l", 1},
	    {"http://u:@:/%25@p:1", "p", "p:1", "Basic dTpAOi8l", 1},
	    {"http://%c3%bc:\xc3\xa9@p:1", "p", "p:1", "Basic w7w6w6k=", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct conf *c = with_parent(v[i].value);
		const struct conf_parent *p = &c->defaults.parent;

		assert_string_equal(p->host, v[i].host);
		assert_string_equal(p->text, v[i].text);
		assert_int_equal(p->port, v[i].port);
		if (v[i].auth == NULL)
			assert_null(p->auth);
		else
			assert_string_equal(p->auth, v[i].auth);
		conf_unref(c);
	}
}

static void
parent_that_is_wrong_is_told(void **state)
{
	static const struct {
		const char *value, *why;
	} v[] = {
	    {"", "the value is missing"},
	    {"proxy.test:3128", "it does not begin with http://"},
	    {"socks5://p:1", "it does not begin with http://"},
	    {"https://p:1",
		"abided speaks no TLS with a parent proxy; http://"},
	    {"http://", "no host name"},
	    {"http://p", "the port is missing"},
	    {"http://[::1]", "the port is missing"},
	    {"http://p:0", "a port is a number from 1 to 65535"},
	    {"http://p:1/x", "a port is a number from 1 to 65535"},
	    {"http://*.p:1", "a wildcard is no host"},
	    {"http://*", "a wildcard is no host"},
	    {"http://@p:1", "the user before the '@' is missing"},
	    {"http://:x@p:1", "the user before the '@' is missing"},
	    {"http://u:%4@p:1",
		"two hex digits follow a '%'; for itself it is %25"},
	    {"http://u:x%4g@p:1",
		"two hex digits follow a '%'; for itself it is %25"},
	    {"http://u%:x@p:1",
		"two hex digits follow a '%'; for itself it is %25"},
	    {"http://u:%0d%0a@p:1", "a control character in user or password"},
	    {"http://u:%00@p:1", "a control character in user or password"},
	    {"http://u%3a:x@p:1", "a user may hold no ':'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		char text[300], expected[600];

		(void)snprintf(text, sizeof(text),
		    "[defaults]\nparent_proxy = %s\n", v[i].value);
		(void)snprintf(expected, sizeof(expected),
		    "f:2: parent_proxy: %s%s", v[i].why, PARENTS);
		rig_bad(text, expected);
	}
}

static void
parent_that_is_this_proxy_is_told(void **state)
{
	(void)state;
	rig_bad("[service a]\nhosts = a\nparent_proxy = http://u:pw@p:1\n"
		"[service b]\nhosts = b\n"
		"[proxy]\nlisten = 127.0.0.1:3180, [::]:4000\n"
		"[defaults]\nparent_proxy = http://u:pw@localhost:3180\n"
		"[service c]\nhosts = c\nparent_proxy = http://[::1]:4000/\n"
		"[service d]\nhosts = d\nparent_proxy = http://[::1]:3180\n",
	    "f:9: parent_proxy (localhost:3180) is this proxy itself, by "
	    "listen; name another one, or none\n"
	    "f:12: parent_proxy ([::1]:4000) is this proxy itself, by listen; "
	    "name another one, or none\n");
}

static void
parent_with_the_longest_password_is_sent_whole(void **state)
{
	char text[700] = "defaults.parent_proxy=http://u:", *end;
	struct conf_problems p = {.n = 0};

	(void)state;
	end = text + strlen(text);
	memset(end, 'x', 510);
	strcpy(end + 510, "@p:1");
	struct conf *c = load_over("", NULL, text, &p);
	assert_non_null(c);
	/* 512 bytes are 171 groups of three, the last one padded. */
	assert_int_equal(strlen(c->defaults.parent.auth), 6 + 684);
	assert_string_equal(c->defaults.parent.auth + 6 + 680, "eHg=");
	conf_unref(c);

	strcpy(end + 510, "x@p:1");
	rig_expect(load_over("", NULL, text, &p), &p,
	    "-s defaults.parent_proxy: parent_proxy: user and password are "
	    "longer than 512 bytes" PARENTS);
	memset(text, 'x', 699);
	memcpy(text, "defaults.parent_proxy=http://", 29);
	strcpy(text + 29 + 512, ":@p:1");
	rig_expect(load_over("", NULL, text, &p), &p,
	    "-s defaults.parent_proxy: parent_proxy: user and password are "
	    "longer than 512 bytes" PARENTS);
}

static void
parent_comes_from_the_nearest_layer(void **state)
{
	struct conf *c =
	    rig_good("[defaults]\nparent_proxy = http://u:p@one:1\n"
		     "[service a]\nhosts = a\n"
		     "[service b]\nhosts = b\nparent_proxy = http://two:2\n"
		     "[service c]\nhosts = c\nparent_proxy = none\n");

	(void)state;
	assert_string_equal(named(c, "a")->parent.text, "one:1");
	assert_string_equal(named(c, "a")->parent.auth, "Basic dTpw");
	assert_string_equal(named(c, "b")->parent.text, "two:2");
	assert_null(named(c, "b")->parent.auth);
	assert_null(named(c, "c")->parent.host);
	assert_null(named(c, "c")->parent.auth);
	conf_unref(c);
}

/* --- no_proxy ------------------------------------------------------------ */

static void
no_proxy_names_hosts_blocks_and_classes(void **state)
{
	struct conf *c = rig_good(
	    "[defaults]\nno_proxy = *.near.test, a.test:81, private, ::1\n"
	    "[service all]\nhosts = all\nno_proxy = *\n");
	const struct conf_places *p = c->defaults.no_proxy;
	static const struct {
		const char *host;
		uint16_t port;
		bool named;
	} v[] = {
	    {"x.near.test", 80, true}, {"X.NEAR.TEST.", 80, true},
	    {"near.test", 80, false}, {"a.test", 81, true},
	    {"a.test", 80, false}, {"10.1.2.3", 80, true},
	    {"11.1.2.3", 80, false}, {"::1", 80, true}, {"0::1", 80, true},
	    {"::ffff:10.1.2.3", 80, true}, {"::2", 80, false},
	    {"localhost", 80, false}, /* names are not resolved */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		if (conf_places_name(p, span_of(v[i].host), v[i].port) !=
		    v[i].named)
			fail_msg("%s:%u", v[i].host, v[i].port);
	}
	assert_true(conf_places_name(named(c, "all")->no_proxy, SPAN("x"), 1));
	assert_false(conf_places_name(NULL, SPAN("x"), 1));
	conf_unref(c);
}

static void
no_proxy_of_a_service_leaves_that_of_defaults_alone(void **state)
{
	struct conf *c = rig_good("[service a]\nhosts = a\nno_proxy = x.test\n"
				  "  z.test\nno_proxy = 10.0.0.1\n"
				  "[service b]\nhosts = b\n"
				  "[service c]\nhosts = c\nno_proxy = none\n"
				  "[defaults]\nno_proxy = y.test\n");
	const struct conf_places *a = named(c, "a")->no_proxy;
	const struct conf_places *d = c->defaults.no_proxy;

	(void)state;
	assert_true(conf_places_name(a, SPAN("x.test"), 1));
	assert_true(conf_places_name(a, SPAN("z.test"), 1));
	assert_true(conf_places_name(a, SPAN("10.0.0.1"), 1));
	assert_false(conf_places_name(a, SPAN("y.test"), 1));
	assert_true(conf_places_name(d, SPAN("y.test"), 1));
	assert_false(conf_places_name(d, SPAN("x.test"), 1));
	assert_ptr_equal(named(c, "b")->no_proxy, d);
	assert_null(named(c, "c")->no_proxy);
	conf_unref(c);
}

static void
no_proxy_that_is_wrong_is_told(void **state)
{
	(void)state;
	rig_bad("[defaults]\nno_proxy = privat, none\n",
	    "f:2: no_proxy 'none': nothing may stand beside this word\n"
	    "f:2: no_proxy 'privat': did you mean 'private'?\n");
	/* Of a service that is given twice. */
	rig_bad("[service a]\nhosts = a\n[service a]\nno_proxy = 10.0.0.1/8\n"
		"parent_proxy = x\n",
	    "f:3: service 'a' has neither hosts nor a route, so no request "
	    "belongs to it; add hosts\n"
	    "f:3: service 'a' is given twice, first at f:1; rename one or "
	    "join them\n"
	    "f:4: no_proxy '10.0.0.1/8': the address has bits beyond its "
	    "prefix length; it takes a list of loopback, link-local, metadata, "
	    "multicast, reserved, private, cgnat, addresses, blocks "
	    "(10.0.0.0/8), host patterns (api.example.com, *.example.com, "
	    "host:port), or *; or none\n"
	    "f:5: parent_proxy: it does not begin with http://" PARENTS);
}

/* --- secrets ------------------------------------------------------------- */

/* "sesame" is the secret; none of these is right. */
static void
secret_is_in_no_problem(void **state)
{
	static const struct {
		const char *text, *env, *s;
	} v[] = {
	    {"[defaults]\nparent_proxy = http://u:sesame@p\n", NULL, NULL},
	    {"[defaults]\nparent_proxy = u:sesame@p:1\n", NULL, NULL},
	    {"[defaults]\nparent_proxy = http://sesame%@p:1\n", NULL, NULL},
	    {"[defaults]\nparent_proxy = http://u:sesame@p:1\n"
	     "parent_proxy = http://u:sesame@p:1\n",
		NULL, NULL},
	    {"[defaults]\nparent_proxy = http://u:\n  sesame@p:1\n", NULL,
		NULL},
	    {"[defaults]\nparent_proxy http://u:sesame@p:1\n", NULL, NULL},
	    {"[defaults]\nparent_proxy: http://u:sesame=@p:1\n", NULL, NULL},
	    {"[defaults]\nparent_prox = http://u:sesame@p:1\n", NULL, NULL},
	    {"[proxy]\nparent_proxy = http://u:sesame@p:1\n", NULL, NULL},
	    {"[nope]\nparent_proxy = http://u:sesame@p:1\n", NULL, NULL},
	    {"[proxy]\nauth = user:sesame\n", NULL, NULL},
	    {"[tls]\nca_key = sesame\n", NULL, NULL},
	    {"[tls]\nca_key = sesame\n  sesame\n", NULL, NULL},
	    {"[tls]\nlisten_key = sesame\n", NULL, NULL},
	    {"[tls]\nupstream_key = sesame\n", NULL, NULL},
	    {"", "defaults.parent_proxy=http://u:sesame@p", NULL},
	    {"", "defaults.parent_proxy=http://u:x;sesame@p:1", NULL},
	    {"", "defaults.parent_proxy=http://u:x;sesame;x@p:1", NULL},
	    {"", "defaults.parent_proxi=http://u:sesame@p:1", NULL},
	    {"", "default.parent_proxy=http://u:sesame@p:1", NULL},
	    {"", "parent_proxy=http://u:sesame@p:1", NULL},
	    {"", "tls.ca_kye=sesame", NULL},
	    {"", NULL, "defaults.parent_proxy=http://u:sesame@p"},
	    {"", NULL, "defaults.parent_proxy:http://u:sesame@p:1"},
	    {"", NULL, "service a.parent_proxy=http://u:sesame@p:1"},
	    {"", NULL, "tls.ca_key=sesame"},
	    {"", NULL, "tls.parent_proxy=http://u:sesame@p:1"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct conf_problems p = {.n = 0};
		struct conf *c = load_over(v[i].text, v[i].env, v[i].s, &p);

		assert_null(c);
		assert_true(p.n > 0);
		char *text = rig_problems_text(&p);
		if (strstr(text, "sesame") != NULL)
			fail_msg("%zu: %s", i, text);
		free(text);
		conf_problems_free(&p);
	}
}

/* Not the origin of a value either: two values that contradict name it. */
static void
secret_is_not_where_a_problem_is(void **state)
{
	struct conf_problems p = {.n = 0};

	(void)state;
	rig_expect(load_over("", "tls.ca_key=/sesame", NULL, &p), &p,
	    "ABIDED_SET tls.ca_key: ca_key without ca_cert; give both\n");
	rig_expect(load_over("", NULL, "tls.ca_cert=/ca.pem", &p), &p,
	    "-s tls.ca_cert=/ca.pem: ca_cert without ca_key; give both\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		tls_without_settings_is_tunnels_and_the_system_s_store),
	    cmocka_unit_test(file_keeps_the_place_where_it_was_named),
	    cmocka_unit_test(override_names_files_and_takes_them_away),
	    cmocka_unit_test(upstream_files_come_from_the_nearest_layer),
	    cmocka_unit_test(pair_taken_away_by_defaults_is_no_service_s),
	    cmocka_unit_test(tls_value_that_is_wrong_is_told),
	    cmocka_unit_test(certificate_without_its_key_is_told),
	    cmocka_unit_test(service_says_what_is_done_about_tls),
	    cmocka_unit_test(tls_that_can_t_be_done_is_told),
	    cmocka_unit_test(listen_takes_tls_and_transparent),
	    cmocka_unit_test(listener_that_can_t_be_is_told),
	    cmocka_unit_test(parent_is_host_port_and_credentials_ready_to_send),
	    cmocka_unit_test(parent_that_is_wrong_is_told),
	    cmocka_unit_test(parent_that_is_this_proxy_is_told),
	    cmocka_unit_test(parent_with_the_longest_password_is_sent_whole),
	    cmocka_unit_test(parent_comes_from_the_nearest_layer),
	    cmocka_unit_test(no_proxy_names_hosts_blocks_and_classes),
	    cmocka_unit_test(
		no_proxy_of_a_service_leaves_that_of_defaults_alone),
	    cmocka_unit_test(no_proxy_that_is_wrong_is_told),
	    cmocka_unit_test(secret_is_in_no_problem),
	    cmocka_unit_test(secret_is_not_where_a_problem_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
