/* SPDX-License-Identifier: MIT */
/*
 * ca_make.c: a CA's certificate, from the hosts that it is for.
 *
 * Decides how host patterns become name constraints. Each kind of name is
 * constrained, or a certificate for a name of the kind that was left out would
 * pass: DNS names and both families of addresses.
 */
#include "edge/ca.h"

#include <openssl/err.h>
#include <stdio.h>

#include "base/mem.h"
#include "edge/cert.h"
#include "policy/pattern.h"

#define DAY_S 86400

/*
 * The only DNS name to permit where no DNS name is wanted: there is no such
 * domain (RFC 6761 6.4). An excluded name of no length would say it better,
 * but what that means is each client's own idea.
 */
static const struct cert_host nowhere = {.dns = {"invalid", 7}};

struct scope {
	bool any;            /* "*": no constraints */
	struct cert_host *v; /* owns; the DNS names in it borrow the patterns */
	size_t n;
};

/* --- the hosts ------------------------------------------------------------ */

static int
read_scope(const struct ca_spec *spec, struct scope *ret,
    struct ca_problem *problem)
{
	for (size_t i = 0; i < spec->nhosts; i++) {
		struct pattern p;
		const char *why = pattern_parse(span_of(spec->hosts[i]), &p);

		if (why) {
			(void)snprintf(problem->text, sizeof(problem->text),
			    "host '%s': %s", spec->hosts[i], why);
			return -1;
		}
		if (p.is_any)
			ret->any = true;
		else
			cert_host_of(&p, &ret->v[ret->n++]);
	}
	return 0;
}

/* Is b, or all below it, permitted by a? */
static bool
covers(const struct cert_host *a, const struct cert_host *b)
{
	struct span tail = b->dns;

	if (a->ip_n != b->ip_n)
		return false;
	if (a->ip_n > 0)
		return memcmp(a->ip, b->ip, (size_t)a->ip_n) == 0;
	if (tail.n > a->dns.n) {
		tail.p += tail.n - a->dns.n;
		tail.n = a->dns.n;
		if (tail.p[-1] != '.')
			return false;
	}
	return span_ieq(a->dns, tail);
}

static bool
is_covered(const struct scope *s, size_t i)
{
	for (size_t k = 0; k < s->n; k++) {
		/* Of two that are the same the first one stays. */
		if (k != i && covers(&s->v[k], &s->v[i]) &&
		    (k < i || !covers(&s->v[i], &s->v[k])))
			return true;
	}
	return false;
}

/* --- name constraints ----------------------------------------------------- */

static bool
push(STACK_OF(GENERAL_SUBTREE) * *list, GENERAL_SUBTREE *tree)
{
	if (!*list)
		*list = sk_GENERAL_SUBTREE_new_null();
	if (*list && sk_GENERAL_SUBTREE_push(*list, tree) > 0)
		return true;
	GENERAL_SUBTREE_free(tree);
	return false;
}

static bool
permit_dns(NAME_CONSTRAINTS *nc, const struct cert_host *h)
{
	GENERAL_SUBTREE *tree = GENERAL_SUBTREE_new();

	if (tree && cert_name(h, tree->base))
		return push(&nc->permittedSubtrees, tree);
	GENERAL_SUBTREE_free(tree);
	return false;
}

/* n bytes of address, and as many of mask. */
static bool
add_block(STACK_OF(GENERAL_SUBTREE) * *list, const void *ip, int n,
    unsigned char mask)
{
	GENERAL_SUBTREE *tree = GENERAL_SUBTREE_new();
	ASN1_OCTET_STRING *block = ASN1_OCTET_STRING_new();
	unsigned char both[32];

	memcpy(both, ip, (size_t)n);
	memset(both + n, mask, (size_t)n);
	if (!tree || !block || !ASN1_OCTET_STRING_set(block, both, 2 * n)) {
		GENERAL_SUBTREE_free(tree);
		ASN1_OCTET_STRING_free(block);
		return false;
	}
	GENERAL_NAME_set0_value(tree->base, GEN_IPADD, block);
	return push(list, tree);
}

static bool
permit(NAME_CONSTRAINTS *nc, const struct cert_host *h)
{
	if (h->ip_n == 0)
		return permit_dns(nc, h);
	return add_block(&nc->permittedSubtrees, h->ip, h->ip_n, 0xff);
}

static bool
has_kind(const struct scope *s, int ip_n)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].ip_n == ip_n)
			return true;
	}
	return false;
}

static bool
fill_constraints(NAME_CONSTRAINTS *nc, const struct scope *s)
{
	static const unsigned char zeros[16];

	for (size_t i = 0; i < s->n; i++) {
		if (!is_covered(s, i) && !permit(nc, &s->v[i]))
			return false;
	}
	if (!has_kind(s, 0) && !permit_dns(nc, &nowhere))
		return false;
	if (!has_kind(s, 4) && !add_block(&nc->excludedSubtrees, zeros, 4, 0))
		return false;
	return has_kind(s, 16) ||
	    add_block(&nc->excludedSubtrees, zeros, 16, 0);
}

static X509_EXTENSION *
name_constraints(const struct scope *s)
{
	NAME_CONSTRAINTS *nc = NAME_CONSTRAINTS_new();
	X509_EXTENSION *e = NULL;

	if (nc && fill_constraints(nc, s))
		e = X509V3_EXT_i2d(NID_name_constraints, 1, nc);
	NAME_CONSTRAINTS_free(nc);
	return e;
}

/* --- the certificate ------------------------------------------------------ */

EVP_PKEY *
ca_make_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	ERR_clear_error();
	return key;
}

/* Takes e, which may be NULL. */
static bool
add(X509 *cert, X509_EXTENSION *e)
{
	bool ok = e && X509_add_ext(cert, e, -1);

	X509_EXTENSION_free(e);
	return ok;
}

static bool
set_names(X509 *cert, const struct ca_spec *spec)
{
	X509_NAME *name = X509_get_subject_name(cert);

	if (spec->subject)
		return X509_set_subject_name(cert, spec->subject) &&
		    X509_set_issuer_name(cert, spec->subject);
	return X509_NAME_add_entry_by_NID(name, NID_organizationName,
		   MBSTRING_UTF8, (const unsigned char *)"abided", -1, -1,
		   0) == 1 &&
	    X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
		(const unsigned char *)spec->name, -1, -1, 0) == 1 &&
	    X509_set_issuer_name(cert, name);
}

static bool
fill(X509 *cert, const struct ca_spec *spec, const struct scope *scope,
    EVP_PKEY *key, int64_t now_s)
{
	static const int usage[] = {5, 6, -1}; /* keyCertSign, cRLSign */

	/* A day before: clocks differ. */
	return X509_set_version(cert, X509_VERSION_3) &&
	    cert_set_serial(cert) && set_names(cert, spec) &&
	    cert_set_validity(cert, now_s - DAY_S,
		now_s + (int64_t)spec->days * DAY_S) &&
	    X509_set_pubkey(cert, key) &&
	    add(cert, cert_basic_constraints(0)) &&
	    add(cert, cert_key_usage(usage)) &&
	    add(cert, cert_subject_key(key)) &&
	    add(cert, cert_authority_key(cert)) &&
	    (scope->any || add(cert, name_constraints(scope))) &&
	    X509_sign(cert, key, cert_digest(key));
}

static const char *
check_spec(const struct ca_spec *spec)
{
	if (spec->nhosts == 0)
		return "a CA needs hosts that it may sign for";
	if (spec->days < 1 || spec->days > CA_DAYS_MAX)
		return "a CA is valid for 1 to 36500 days";
	if (!spec->subject &&
	    (spec->name[0] == '\0' || strlen(spec->name) > CA_NAME_MAX))
		return "the name of a CA has 1 to 64 bytes";
	return NULL;
}

X509 *
ca_make(const struct ca_spec *spec, EVP_PKEY *key, int64_t now_s,
    struct ca_problem *problem)
{
	const char *why = check_spec(spec);
	struct scope scope = {0};
	X509 *cert = NULL;
	bool good = false;

	if (why)
		goto out;
	why = "the certificate could not be made: out of memory, or its name "
	      "is no UTF-8";
	scope.v = mem_zalloc(spec->nhosts * sizeof(*scope.v));
	if (!scope.v)
		goto out;
	if (read_scope(spec, &scope, problem) < 0) {
		why = NULL;
		goto out;
	}
	cert = X509_new();
	good = cert && fill(cert, spec, &scope, key, now_s);
out:
	if (!good && why)
		(void)snprintf(problem->text, sizeof(problem->text), "%s", why);
	ERR_clear_error();
	mem_free(scope.v);
	if (good)
		return cert;
	X509_free(cert);
	return NULL;
}
