/* SPDX-License-Identifier: MIT */
/*
 * ca_show.c: what a CA is, and whether all is well with it.
 *
 * Decides what is wrong (exit code 1) and what is only worth saying. It changes
 * nothing.
 */
#include "ctl/ca_cmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ca_find.h"
#include "ctl/ctl.h"
#include "ctl/say.h"
#include "edge/ca.h"
#include "edge/cert.h"
#include "edge/mint.h"

#define DAY_S 86400
#define DAYS_SOON 30 /* left, when it is time to renew */

/* --- what it says of itself ----------------------------------------------- */

static void
put_name(X509 *cert, FILE *to)
{
	/* In UTF-8; controls are escaped: the name may be anybody's. */
	unsigned long flags =
	    XN_FLAG_ONELINE & ~(unsigned long)ASN1_STRFLGS_ESC_MSB;

	fputs("  name         ", to);
	(void)X509_NAME_print_ex_fp(to, X509_get_subject_name(cert), 0, flags);
	fputc('\n', to);
}

static void
put_fingerprint(X509 *cert, FILE *to)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!X509_digest(cert, EVP_sha256(), sum, &n))
		return;
	fputs("  SHA-256      ", to);
	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%s%02X", i > 0 ? ":" : "", sum[i]);
	fputc('\n', to);
}

static int64_t
epoch_of(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) ? timegm(&tm) : 0;
}

static void
put_day(const ASN1_TIME *t, FILE *to)
{
	char text[32] = "?";
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	fputs(text, to);
}

static void
put_dates(X509 *cert, FILE *to)
{
	fputs("  valid        ", to);
	put_day(X509_get0_notBefore(cert), to);
	fputs(" to ", to);
	put_day(X509_get0_notAfter(cert), to);
	fputc('\n', to);
}

/* The ones at the front of a mask. */
static int
prefix_bits(const unsigned char *mask, int n)
{
	int bits = 0;

	while (bits < 8 * n && (mask[bits / 8] & (0x80 >> bits % 8)))
		bits++;
	return bits;
}

static void
put_block(const ASN1_OCTET_STRING *block, FILE *to)
{
	const unsigned char *p = ASN1_STRING_get0_data(block);
	int n = ASN1_STRING_length(block) / 2, bits;
	char text[INET6_ADDRSTRLEN] = "?";

	if (n != 4 && n != 16)
		return;
	(void)inet_ntop(n == 4 ? AF_INET : AF_INET6, p, text, sizeof(text));
	bits = prefix_bits(p + n, n);
	if (bits == 0)
		fprintf(to, "all IPv%d addresses", n == 4 ? 4 : 6);
	else if (bits == 8 * n)
		fputs(text, to);
	else
		fprintf(to, "%s/%d", text, bits);
}

static void
put_base(const GENERAL_NAME *base, FILE *to)
{
	const ASN1_STRING *s;

	if (base->type == GEN_IPADD) {
		put_block(base->d.iPAddress, to);
		return;
	}
	if (base->type != GEN_DNS) {
		fputs("names of another kind", to);
		return;
	}
	s = base->d.dNSName;
	ASN1_STRING_print_ex_fp(to, s, ASN1_STRFLGS_ESC_CTRL);
	fputs(" and names below it", to);
}

static void
put_trees(const char *title, const STACK_OF(GENERAL_SUBTREE) * trees, FILE *to)
{
	for (int i = 0; i < sk_GENERAL_SUBTREE_num(trees); i++) {
		fprintf(to, "  %-12s ", i == 0 ? title : "");
		put_base(sk_GENERAL_SUBTREE_value(trees, i)->base, to);
		fputc('\n', to);
	}
}

static void
put_constraints(X509 *cert, FILE *to)
{
	NAME_CONSTRAINTS *nc =
	    X509_get_ext_d2i(cert, NID_name_constraints, NULL, NULL);

	if (!nc) {
		fputs("  permits      every host\n", to);
		return;
	}
	put_trees("permits", nc->permittedSubtrees, to);
	put_trees("excludes", nc->excludedSubtrees, to);
	NAME_CONSTRAINTS_free(nc);
}

void
ca_cmd_print(X509 *cert, FILE *to)
{
	put_name(cert, to);
	put_fingerprint(cert, to);
	put_dates(cert, to);
	put_constraints(cert, to);
}

/* --- whether all is well -------------------------------------------------- */

static int
show_dates(X509 *cert)
{
	int64_t now_s = time(NULL);
	int64_t left_s = epoch_of(X509_get0_notAfter(cert)) - now_s;

	if (epoch_of(X509_get0_notBefore(cert)) > now_s) {
		puts("WRONG: it is not valid yet");
		return CTL_WRONG;
	}
	if (left_s <= 0) {
		puts("WRONG: it has expired; 'abidectl ca renew' makes a new "
		     "one");
		return CTL_WRONG;
	}
	printf("  days left    %lld\n",
	    (long long)((left_s + DAY_S - 1) / DAY_S));
	if (left_s < DAYS_SOON * (int64_t)DAY_S)
		puts("warning: it expires soon; 'abidectl ca renew' makes a "
		     "new one");
	return CTL_OK;
}

/* The daemon's own view of both. */
static int
show_pair(const struct ca_find *f, unsigned mode)
{
	struct ca_problem problem;
	const char *why = NULL;
	struct mint *m;
	EVP_PKEY *key;
	X509 *cert;

	if (ca_load(f->cert, f->key, &cert, &key, &problem) < 0) {
		printf("WRONG: %s\n", problem.text);
		return CTL_WRONG;
	}
	m = mint_new(cert, key, &why);
	if (m)
		printf("  private key  %s (mode %04o, belongs to it)\n", f->key,
		    mode);
	else
		printf("WRONG: %s\n", why);
	mint_free(m);
	X509_free(cert);
	EVP_PKEY_free(key);
	return m ? CTL_OK : CTL_WRONG;
}

static int
show_key(const struct ca_find *f)
{
	struct stat st;

	if (!f->key)
		return CTL_OK;
	if (stat(f->key, &st) < 0 && errno != EACCES) {
		printf("WRONG: %s: %s\n", f->key, strerror(errno));
		return errno == ENOENT ? CTL_MISSING : CTL_WRONG;
	}
	if (access(f->key, R_OK) < 0 && errno == EACCES) {
		printf(
		    "  private key  %s (not looked at: you may not read it)\n",
		    f->key);
		return CTL_OK;
	}
	return show_pair(f, st.st_mode & 07777);
}

static int
show_hosts(const struct ca_find *f, X509 *cert)
{
	NAME_CONSTRAINTS *nc =
	    X509_get_ext_d2i(cert, NID_name_constraints, NULL, NULL);
	EVP_PKEY *key = ca_make_key();
	int code = CTL_OK;

	for (size_t i = 0; i < f->nhosts; i++) {
		bool yes = key && cert_permits_pattern(nc, f->hosts[i], key);

		printf("  %-12s %s: %s\n", i == 0 ? "for hosts" : "",
		    f->hosts[i], yes ? "permitted" : "NOT permitted");
		if (!yes)
			code = CTL_WRONG;
	}
	if (code != CTL_OK)
		puts("WRONG: clients refuse the hosts that are not permitted; "
		     "'abidectl ca renew'\nmakes a certificate for all of "
		     "them");
	EVP_PKEY_free(key);
	NAME_CONSTRAINTS_free(nc);
	return code;
}

/* The more serious of two. */
static int
worse(int a, int b)
{
	return a > b ? a : b;
}

static int
show(const struct ca_find *f)
{
	struct ca_problem problem;
	X509 *cert;
	int code;

	if (ca_load_cert(f->cert, &cert, &problem) < 0)
		return say_no_ca(f->cert, problem.text);
	ca_cmd_print(cert, stdout);
	code = show_dates(cert);
	printf("  certificate  %s\n", f->cert);
	code = worse(code, show_key(f));
	code = worse(code, show_hosts(f, cert));
	X509_free(cert);
	ERR_clear_error();
	return code;
}

int
ca_cmd_show(const struct args *args)
{
	struct ca_find f;
	int code = ca_find(args, CA_FIND_HOSTS, &f);

	if (code == CTL_OK)
		code = show(&f);
	ca_find_free(&f);
	return code;
}
