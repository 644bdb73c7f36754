/* SPDX-License-Identifier: MIT */
/*
 * conf_set_tls.c: values that name files of TLS and the way upstream, from text
 * to field.
 *
 * Decides what a path and a parent proxy look like. No file is opened here: a
 * key is looked at once, by who reads it (tls_set.c). A password goes into the
 * field that is sent, and nowhere else: what is wrong with a parent proxy is
 * told in words that hold nothing of it.
 */
#include <openssl/evp.h>

#include "edge/conf_set.h"
#include "edge/conf_value.h"

/* --- files --------------------------------------------------------------- */

int
conf_set_file(struct conf_setter *to, struct span item)
{
	struct conf_file file = {.path = NULL};
	char where[CONF_WHERE_MAX];

	/* The word in the default is the one for "no file": none, system. */
	if (!span_eq(item, span_of(to->opt->def))) {
		if (item.p[0] != '/')
			return conf_set_bad(to, "a file's path begins with /");
		int rc = conf_set_text(to, item, &file.path);
		if (rc != CONF_SET_OK)
			return rc;
		rc = conf_set_text(to,
		    span_of(conf_where_text(to->where, where)), &file.where);
		if (rc != CONF_SET_OK)
			return rc;
	}
	memcpy(conf_field(to), &file, sizeof(file));
	return CONF_SET_OK;
}

/* --- parent_proxy -------------------------------------------------------- */

#define USERINFO_MAX 512 /* bytes after decoding; a line has 199 */
#define TOO_LONG "user and password are longer than 512 bytes"

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0'
	    : c >= 'a' && c <= 'f'  ? c - 'a' + 10
	    : c >= 'A' && c <= 'F'  ? c - 'A' + 10
				    : -1;
}

/*
 * "%40" to "@" (RFC 3986 2.1), at buf[*n]; no controls (RFC 7617 2). NULL, or
 * what is wrong.
 */
static const char *
decode(struct span s, char buf[USERINFO_MAX], size_t *n)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '%') {
			int high = i + 2 < s.n ? hex(s.p[i + 1]) : -1;
			int low = high < 0 ? -1 : hex(s.p[i + 2]);

			if (low < 0)
				return "two hex digits follow a '%'; for "
				       "itself it is %25";
			c = (unsigned char)(high << 4 | low);
			i += 2;
		}
		if (c < 0x20 || c == 0x7f)
			return "a control character in user or password";
		if (*n == USERINFO_MAX)
			return TOO_LONG;
		buf[(*n)++] = (char)c;
	}
	return NULL;
}

/* "user:password", percent-decoded; a ':' in the user can't be sent. */
static const char *
decode_userinfo(struct span info, char buf[USERINFO_MAX], size_t *ret_n)
{
	struct span password = info, user;
	size_t n = 0;

	if (!span_cut(&password, ':', &user) || user.n == 0)
		return "the user before the '@' is missing";
	const char *flaw = decode(user, buf, &n);
	if (flaw != NULL)
		return flaw;
	if (memchr(buf, ':', n))
		return "a user may hold no ':'";
	if (n == USERINFO_MAX)
		return TOO_LONG;
	buf[n++] = ':';
	if (password.p != NULL)
		flaw = decode(password, buf, &n);
	*ret_n = n;
	return flaw;
}

/* The value of Proxy-Authorization (RFC 7617 2), in the pool. */
static int
set_auth(struct conf_setter *to, struct span info, const char **ret)
{
	static const char scheme[] = "Basic ";
	char plain[USERINFO_MAX];
	char text[sizeof(scheme) + 4 * ((USERINFO_MAX + 2) / 3)];
	size_t n = 0, at = sizeof(scheme) - 1;

	const char *flaw = decode_userinfo(info, plain, &n);
	int rc = flaw ? conf_set_bad(to, flaw) : CONF_SET_OK;
	if (flaw == NULL) {
		memcpy(text, scheme, at);
		(void)EVP_EncodeBlock((unsigned char *)text + at,
		    (const unsigned char *)plain, (int)n);
		rc = conf_set_text(to, span_of(text), ret);
	}
	explicit_bzero(plain, sizeof(plain));
	explicit_bzero(text, sizeof(text));
	return rc;
}

/* Takes "http://" off the front, and a '/' off the end. NULL, or the flaw. */
static const char *
take_scheme(struct span *s)
{
	if (span_istarts(*s, SPAN("https://")))
		return "abided speaks no TLS with a parent proxy; http://";
	if (!span_istarts(*s, SPAN("http://")))
		return "it does not begin with http://";
	*s = (struct span){s->p + 7, s->n - 7};
	if (span_ends(*s, SPAN("/")))
		s->n--;
	return NULL;
}

int
conf_set_parent(struct conf_setter *to, struct span item)
{
	struct conf_parent parent = {.host = NULL};
	struct span info = {.p = NULL}, host;
	int rc = CONF_SET_OK;

	if (span_eq(item, SPAN("none"))) {
		memcpy(conf_field(to), &parent, sizeof(parent));
		return CONF_SET_OK;
	}
	const char *flaw = take_scheme(&item);
	if (flaw != NULL)
		return conf_set_bad(to, flaw);
	/* The last one: who forgot %40 in a password is understood. */
	const char *at = memrchr(item.p, '@', item.n);
	if (at != NULL) {
		info = (struct span){item.p, (size_t)(at - item.p)};
		item = (struct span){at + 1, item.n - info.n - 1};
	}
	if (value_plain_host(item, &host, &parent.port, &to->why) != 0)
		return CONF_SET_BAD;
	if (parent.port == 0)
		return conf_set_bad(to, "the port is missing");
	if (info.p != NULL)
		rc = set_auth(to, info, &parent.auth);
	if (rc == CONF_SET_OK)
		rc = conf_set_text(to, host, &parent.host);
	if (rc == CONF_SET_OK)
		rc = conf_set_text(to, item, &parent.text);
	if (rc == CONF_SET_OK)
		memcpy(conf_field(to), &parent, sizeof(parent));
	return rc;
}

/* --- no_proxy ------------------------------------------------------------ */

/* One list of a section that has none yet; the conf owns its maps. */
static struct conf_places *
new_places(struct conf *c)
{
	struct conf_places *places =
	    conf_pool_zalloc(&c->pool, sizeof(*places));

	if (places == NULL || rules_init(&places->hosts) != 0)
		return NULL;
	places->next = c->no_proxies;
	c->no_proxies = places;
	return places;
}

int
conf_set_no_proxy(struct conf_setter *to, struct span item)
{
	struct conf_service *s = to->service;

	if (item.p == NULL) { /* what [defaults] has stays as it is */
		s->no_proxy = NULL;
		return CONF_SET_OK;
	}
	if (s->no_proxy == NULL) {
		s->no_proxy = new_places(to->conf);
		if (s->no_proxy == NULL)
			return CONF_SET_NO_MEMORY;
	}
	/* The newest one is this service's. */
	return conf_add_place(to, to->conf->no_proxies, item);
}
