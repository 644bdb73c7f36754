/* SPDX-License-Identifier: MIT */
/*
 * tls_wire: what a TLS session is made of, and the BIO below it. Internal to
 * tls.c, tls_wire.c and tls_fault.c.
 */
#ifndef AB_TLS_WIRE_H
#define AB_TLS_WIRE_H

#include "tls.h"

struct tls {
	SSL *ssl;          /* owns */
	struct chan *chan; /* borrows: it owns us */
	struct tls *below; /* owns; NULL: the socket */
	void *owner;
	char *early;   /* owns; bytes that came before the session */
	size_t early_at, early_n;
	size_t taken;  /* bytes from below, within one call from above */
	bool end;      /* the stream below has ended */
	bool lost;     /* it broke */
	bool mute;     /* it takes no more; what came before may be read */
	bool broken;   /* the session did: nothing more may be sent */
	bool blocked;  /* a write has to be repeated */
	bool told;     /* a message after the handshake came */
	bool ending;   /* a close_notify is on its way */
	enum tls_fault fault;
	const char *fault_text;
	int alert;
};

/* For t->ssl; t outlives it. NULL: no memory. */
BIO *tls_wire_new(struct tls *t);

/* The handshake has failed: notes why. */
void tls_find_fault(struct tls *t);
/* Notes the alert that came, if that is what err says. */
bool tls_find_alert(struct tls *t, unsigned long err);

#endif
