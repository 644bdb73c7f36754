/* SPDX-License-Identifier: MIT */
/*
 * hello: what a TLS client says first (ClientHello, RFC 8446 4.1.2), read from
 * the first bytes of a TCP stream without taking part in the handshake: is it
 * TLS at all, and for which name (server_name, RFC 6066 3).
 *
 * Nothing is kept between calls: the bytes are read from the first one on each
 * time, records are skipped by their length, and the message is looked into
 * once it is whole. So the result does not depend on how the bytes were cut.
 */
#ifndef AB_HELLO_H
#define AB_HELLO_H

#include "base/span.h"

#define HELLO_MAX        (16 * 1024) /* bytes of the message and its header */
#define HELLO_RECORDS    1024        /* TLS records that it may come in */
/* Never HELLO_AGAIN with so many bytes: what a caller need look at. */
#define HELLO_BYTES_MAX  (HELLO_MAX + 5 * HELLO_RECORDS)
#define HELLO_NAME_MAX   253         /* bytes of a DNS name as text */
#define HELLO_ALPN_MAX   255
#define HELLO_METHOD_MAX 31          /* bytes of an HTTP method */

enum hello_result {
	HELLO_OK = 0,
	HELLO_AGAIN,   /* not whole yet, and no fault so far */
	HELLO_NOT_TLS, /* also a hello of SSL 2; see looks_http */
	HELLO_BAD,     /* begins as TLS, but no server should answer it */
};

struct hello {
	/* HELLO_OK */
	char sni[HELLO_NAME_MAX + 1];   /* lower case; "": no server_name */
	uint8_t alpn[HELLO_ALPN_MAX];   /* what the client offers (RFC 7301 3.1),
	                                 * each with its length before it */
	size_t alpn_bytes;              /* of alpn; 0: it offers nothing */
	bool alpn_cut;                  /* there were more than fit */
	bool encrypted;                 /* encrypted_client_hello is there: sni
	                                 * is the outer name
	                                 * (draft-ietf-tls-esni 6.1) */
	/* HELLO_NOT_TLS */
	bool looks_http;                /* it begins as an HTTP/1 request for a
	                                 * server does: a method, SP, and "/",
	                                 * "*" or an http URL */
	/* HELLO_BAD */
	const char *why;                /* static, for people */
};

/*
 * Reads p[0, n), the first bytes that a client sent; n may be 0. *ret is
 * written in all cases. Also HELLO_AGAIN is returned while it may still be an
 * HTTP request, up to HELLO_METHOD_MAX bytes of a method.
 *
 * HELLO_BAD where RFC 8446 4.1.2, 4.2 and 5.1 or RFC 6066 3 forbid it: lengths
 * that do not fit, empty or overlong records, other records before the message
 * is whole, an extension that is there twice. A name is refused unless it is one
 * host_name of 1..253 bytes in labels of letters, digits, '-' and '_' whose last
 * label is not a number. A trailing dot is taken off, and an address is no name,
 * as if there were none: neither is allowed there, but clients send both. Names
 * of other types are skipped.
 */
enum hello_result hello_parse(const char *p, size_t n, struct hello *ret);

/* Does the client offer this protocol ("http/1.1")? Byte for byte. */
bool hello_offers(const struct hello *h, struct span protocol);

#endif
