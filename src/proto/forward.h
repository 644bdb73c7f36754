/* SPDX-License-Identifier: MIT */
/*
 * forward: builds the heads that go on from those that came (RFC 9110 7.6).
 *
 * Order, spelling and values of end-to-end fields are kept. Hop-by-hop fields
 * (RFC 9110 7.6.1: Connection and all that it names, Keep-Alive, TE, Trailer,
 * Transfer-Encoding, Upgrade, Proxy-Connection, Proxy-Authorization,
 * Proxy-Authenticate, Proxy-Authentication-Info, HTTP2-Settings) never pass;
 * Abide-* request fields never pass, nor does a request field "Proxy", which
 * CGI programs would take for their proxy setting (CVE-2016-5385). Framing and
 * Connection are written anew from what the caller decided.
 */
#ifndef AB_FORWARD_H
#define AB_FORWARD_H

#include "base/strbuf.h"
#include "framing.h"
#include "rewrite.h"
#include "target.h"

/*
 * Whether a field must not pass, in this head. Content-Length, Host,
 * Authorization, Cookie, Date and the like stay even where Connection names
 * them (a nomination may not strip what makes a message safe): see forward.c.
 */
bool forward_is_hop(const struct head *h, const struct field *f);

/*
 * The client asks for another protocol, and may: HTTP/1.1, Connection names
 * Upgrade, and Upgrade lists a protocol other than h2c (RFC 9110 7.8), which
 * is never passed on: the next hop would talk it past us.
 */
bool forward_wants_upgrade(const struct head *h);

/*
 * Connection names a field of this very message (not just close, keep-alive,
 * upgrade and the like): trailers, which may carry it, had better not pass.
 */
bool forward_names_fields(const struct head *h);

struct forward_request {
	struct span host;      /* the Host value to send: authority.text of the
	                        * target, as a rule */
	struct span path;      /* request target to send: origin-form, "*", or
	                        * of CONNECT host:port */
	bool absolute;         /* to a proxy: "http://" and host before path
	                        * (RFC 9112 3.2.2) */
	struct span proxy_auth; /* value of Proxy-Authorization for that proxy,
	                        * or empty; the client's own never passes */
	bool add_slash;        /* put "/" before path (target.query_only) */
	struct framing framing;
	struct span via;       /* pseudonym for Via, e.g. "abided" */
	bool upgrade;          /* pass Upgrade (without h2c), and Connection:
	                        * upgrade; only with forward_wants_upgrade */
	bool expect;           /* pass Expect: 100-continue */
	int64_t max_forwards;  /* -1: as it came; else the value to send instead
	                        * of the one that came */
};

/*
 * Appends the request head to forward, empty line included, as HTTP/1.1.
 * Via: the incoming lines and ours ("1.1 abided" or "1.0 abided" by the
 * version received). TE: trailers is not passed on. Check out->failed.
 */
void forward_request_head(struct strbuf *out, const struct head *h,
    const struct forward_request *how);

struct forward_response {
	struct framing framing;   /* how we send the body to the client */
	bool has_length;          /* HEAD, 304: pass Content-Length as it came
	                           * where readable; only with FRAMING_NONE */
	struct span via;
	struct span proxy_status; /* value of the Proxy-Status line to add */
	bool close;               /* Connection: close */
	bool keep_alive_10;       /* Connection: keep-alive, HTTP/1.0 client */
	struct span upgrade;      /* 101: Connection: upgrade, and this */
	const struct rewrite *rewrite; /* of Location, Content-Location and
	                           * Set-Cookie; NULL: they pass as they are */
};

/*
 * Appends the response head to relay (status line HTTP/1.1, the upstream's
 * status and reason). Upstream Proxy-Status lines stay, ours comes last
 * (RFC 9209 2). Date is added where the upstream sent none (RFC 9110 6.6.1),
 * the status is final and now_s >= 0. Empty via and proxy_status add nothing.
 */
void forward_response_head(struct strbuf *out, const struct head *h,
    const struct forward_response *how, int64_t now_s);

/*
 * True where a Via value names this pseudonym as a received-by: the request
 * has been here before (RFC 9110 7.6.3).
 */
bool forward_via_has(const struct head *h, struct span pseudonym);

#endif
