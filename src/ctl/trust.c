/* SPDX-License-Identifier: MIT */
/*
 * trust.c: the commands, client by client.
 *
 * Most programs read a file of all CAs, and a setting that names another file
 * replaces it: then hosts that are not intercepted fail, unless that file has
 * all of them, too. Hence the bundle.
 */
#include "ctl/trust.h"

#include "base/span.h"
#include "ctl/say.h"

static const struct {
	const char *who;
	const char *how[4]; /* "@" stands for the path of the certificate */
} rows[] = {
    /* clang-format off */
	{"Debian, Ubuntu, Alpine: all programs that use the system's store", {
	    "cp @ /usr/local/share/ca-certificates/abided.crt",
	    "update-ca-certificates"}},
	{"Fedora, RHEL: the same", {
	    "cp @ /etc/pki/ca-trust/source/anchors/abided.pem",
	    "update-ca-trust"}},
	{"A bundle, for programs that read one file only; below it is $BUNDLE", {
	    "BUNDLE=$HOME/abided-bundle.pem",
	    "cat /etc/ssl/certs/ca-certificates.crt @ > $BUNDLE"}},
	{"curl, where it has a store of its own", {
	    "export CURL_CA_BUNDLE=$BUNDLE",
	    "curl --cacert @ https://...        (for one command)"}},
	{"Python: requests and httpx read certifi's file, urllib the system's", {
	    "cat \"$(python3 -m certifi)\" @ > $BUNDLE",
	    "export REQUESTS_CA_BUNDLE=$BUNDLE SSL_CERT_FILE=$BUNDLE",
	    "export AWS_CA_BUNDLE=$BUNDLE       (boto3, aws)"}},
	{"Node.js: adds to its own", {
	    "export NODE_EXTRA_CA_CERTS=@"}},
	{"Java: its keystore", {
	    "keytool -importcert -noprompt -cacerts -storepass changeit \\",
	    "    -alias abided -file @"}},
	{"git, where it does not use the system's store", {
	    "git config --global http.sslCAInfo $BUNDLE"}},
	{"Chromium, and Firefox with its profile's folder for .pki/nssdb", {
	    "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n abided -i @"}},
	{"Container images (Dockerfile, on Debian or Alpine)", {
	    "COPY abided-ca.pem /usr/local/share/ca-certificates/abided.crt",
	    "RUN update-ca-certificates",
	    "ENV NODE_EXTRA_CA_CERTS=/usr/local/share/ca-certificates/abided.crt",
	    "ENV REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt"}},
    /* clang-format on */
};

static void
put_line(const char *text, const char *cert, FILE *to)
{
	struct span rest = span_of(text), part;
	bool first = true;

	fputs("    ", to);
	while (span_cut(&rest, '@', &part)) {
		if (!first)
			say_word(cert, to);
		fprintf(to, "%.*s", SPAN_ARG(part));
		first = false;
	}
	fputc('\n', to);
}

void
trust_print(const char *cert, FILE *to)
{
	fputs("Clients must trust this certificate, and only the certificate "
	      "is for them:\n",
	    to);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fprintf(to, "\n  %s\n", rows[i].who);
		for (size_t k = 0; k < 4 && rows[i].how[k]; k++)
			put_line(rows[i].how[k], cert, to);
	}
}
