/* SPDX-License-Identifier: MIT */
/*
 * tls_fault decides what a handshake that failed means, and in which words. It
 * refuses to know what follows from it (reach, client_tls).
 */
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "tls_wire.h"

static void
set_fault(struct tls *t, enum tls_fault fault, const char *text)
{
	t->fault = fault;
	t->fault_text = text ? text : "TLS failed";
}

/* A reason of the TLS library; those of all libraries are larger than any. */
static int
ssl_reason(unsigned long err)
{
	return ERR_GET_LIB(err) == ERR_LIB_SSL ? ERR_GET_REASON(err) : 0;
}

bool
tls_find_alert(struct tls *t, unsigned long err)
{
	int reason = ssl_reason(err);

	if (reason <= SSL_AD_REASON_OFFSET ||
	    reason > SSL_AD_REASON_OFFSET + UINT8_MAX)
		return false;
	t->alert = reason - SSL_AD_REASON_OFFSET;
	set_fault(t, TLS_FAULT_ALERT, SSL_alert_desc_string_long(t->alert));
	return true;
}

/* OpenSSL's words are for those who know what it tried. */
static const struct {
	int reason;
	const char *text;
} words[] = {
    /* Only the look at a client's SNI refuses in this way. */
    {SSL_R_CALLBACK_FAILED, "the client asks for another host (SNI)"},
    {SSL_R_WRONG_VERSION_NUMBER, "the other side does not speak TLS there"},
};

static const char *
words_for(unsigned long err)
{
	int reason = ssl_reason(err);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].reason == reason)
			return words[i].text;
	return ERR_reason_error_string(err);
}

/* What follows from that hides it: a certificate that can't be looked at is
 * called a weak one. Empties the queue. */
static bool
ran_out_of_memory(void)
{
	bool found = false;
	unsigned long err;

	while ((err = ERR_get_error()) != 0)
		if (ERR_GET_REASON(err) == ERR_R_MALLOC_FAILURE)
			found = true;
	return found;
}

/* The queue of errors says how, its last entry best. */
void
tls_find_fault(struct tls *t)
{
	unsigned long err = ERR_peek_last_error();
	int reason = ssl_reason(err);
	long verify = SSL_get_verify_result(t->ssl);

	t->broken = true;
	if (ran_out_of_memory()) {
		set_fault(t, TLS_FAULT_MEMORY, "out of memory");
	} else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED &&
	    verify != X509_V_OK) {
		set_fault(t, TLS_FAULT_CERTIFICATE,
		    X509_verify_cert_error_string(verify));
	} else if (t->lost || t->mute || t->end) {
		set_fault(t, TLS_FAULT_LOST,
		    "the connection was closed during the TLS handshake");
	} else if (reason == SSL_R_HTTP_REQUEST ||
	    reason == SSL_R_HTTPS_PROXY_REQUEST) {
		set_fault(t, TLS_FAULT_HTTP,
		    "plain HTTP came where TLS is spoken");
	} else if (!tls_find_alert(t, err)) {
		set_fault(t, TLS_FAULT_PROTOCOL, words_for(err));
	}
}

enum tls_fault
tls_fault_of(const struct tls *t)
{
	return t->fault;
}

const char *
tls_fault_text(const struct tls *t)
{
	return t->fault_text ? t->fault_text : "";
}

int
tls_alert_of(const struct tls *t)
{
	return t->alert;
}
