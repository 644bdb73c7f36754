/* SPDX-License-Identifier: MIT */
/*
 * rewrite: what an answer says about where it came from, said so that it holds
 * for the client's side: a server that is spoken to over TLS tells of https://
 * and of Secure cookies, to a client that speaks plain HTTP, or knows a route
 * of ours and not the server.
 *
 * Location and Content-Location (RFC 9110 10.2.2, 8.7) and Set-Cookie (RFC 6265)
 * are covered. What can't be read with certainty stays as it is, byte for byte.
 */
#ifndef AB_REWRITE_H
#define AB_REWRITE_H

#include "base/strbuf.h"

enum rewrite_kind {
	REWRITE_SCHEME, /* the client asks for http://HOST/ (absolute-form, or
	                 * by Host), and the upstream is spoken to over TLS */
	REWRITE_ROUTE,  /* the client asks for /route/..., which stands for the
	                 * upstream's "/" */
};

struct rewrite { /* borrows all */
	enum rewrite_kind kind;
	struct span route;  /* ROUTE: begins and ends with "/" */
	struct span host;   /* of the upstream, without brackets */
	uint16_t port;      /* the same */
	bool tls;           /* it is spoken to over TLS */
	bool client_https;  /* ROUTE: the client reaches us over TLS */
	struct span path;   /* ROUTE: of the request as sent upstream, without
	                     * its query; references relative to it that climb
	                     * ("../x") are resolved by it. Empty: they stay */
	/* SCHEME: does http://host/ (https port as given) lead through us to
	 * https? host without brackets, as spelled. NULL: the upstream's own
	 * host and port only. */
	bool (*originated)(void *arg, struct span host, uint16_t port);
	void *arg;
};

/*
 * Appends the value of Location or Content-Location to send; check out->failed.
 *
 * SCHEME: https://HOST[:443]/x becomes http://HOST/x, other ports are kept, where
 * HOST is the upstream or `originated` says so. //HOST/x of any other host
 * becomes https://HOST/x: the server meant its own scheme.
 * ROUTE: URLs of the upstream, and paths, become paths below the route; those
 * with dot segments (also percent-encoded) are resolved first (RFC 3986 5.2.4),
 * so that none leads out of it. A URL with https of a server that is not spoken
 * to over TLS stays: "use https" would come back for ever.
 * References with user information, of other schemes, with backslashes or
 * controls stay.
 */
void rewrite_location(const struct rewrite *rw, struct span value,
    struct strbuf *out);

/*
 * Appends the value of Set-Cookie to send; check out->failed.
 *
 * Where the server's side is TLS and the client's is not, Secure goes, and with
 * it what needs it: SameSite=None and Partitioned (RFC 6265bis 5.7). ROUTE: Domain
 * goes, and the route is put before an absolute Path. Everything else, also
 * unknown attributes, keeps its bytes and its order.
 * Names are not changed: a client that heeds the prefixes __Secure- and __Host-
 * refuses such cookies over plain HTTP, with and without their Secure. Over
 * https a __Host- cookie stays whole, for it must have Path=/.
 */
void rewrite_set_cookie(const struct rewrite *rw, struct span value,
    struct strbuf *out);

#endif
