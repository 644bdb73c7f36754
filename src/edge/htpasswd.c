/* SPDX-License-Identifier: MIT */
/*
 * htpasswd decides which files of users are accepted, and whether a password
 * belongs to a hash. It refuses to know who asks, and when.
 */
#include "edge/htpasswd.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/file_text.h"
#include "proto/basic.h"

#define ADVICE "; make it with `htpasswd -B` or `mkpasswd -m sha-512`"
#define COSTLY \
	"a hash that takes more than about a second to check; make " \
	"it with a lower cost (`htpasswd -B -C 10`)"

/* Of a second or so on a machine of 2020. */
#define BCRYPT_COST_MAX 14
#define SHA_ROUNDS_MAX 2000000

/* --- hashes --------------------------------------------------------------- */

static const char broken[] = "a hash that is cut or damaged" ADVICE;

/* The letters of crypt's own base64. */
static bool
is_text64(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= '.' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= 'a' && c <= 'z'))
			return false;
	}
	return true;
}

/* "NN$", then 22 letters of salt and 31 of hash. */
static const char *
bcrypt_flaw(struct span rest)
{
	struct span cost;
	uint64_t n;

	if (!span_cut(&rest, '$', &cost) || cost.n != 2 ||
	    span_u64(cost, &n) < 0 || n < 4 || n > 31 || rest.n != 53 ||
	    !is_text64(rest))
		return broken;
	return n > BCRYPT_COST_MAX ? COSTLY : NULL;
}

/* "SALT$HASH", perhaps behind "rounds=N$". */
static const char *
sha_flaw(struct span rest, size_t hash_bytes)
{
	struct span part;
	uint64_t rounds = 5000;

	if (span_starts(rest, SPAN("rounds="))) {
		(void)span_cut(&rest, '$', &part);
		part = (struct span){part.p + 7, part.n - 7};
		if (span_u64(part, &rounds) < 0 || rounds < 1000)
			return broken;
	}
	if (!span_cut(&rest, '$', &part) || part.n == 0 || part.n > 16 ||
	    rest.n != hash_bytes || !is_text64(rest))
		return broken;
	return rounds > SHA_ROUNDS_MAX ? COSTLY : NULL;
}

/*
 * "PARAMETERS$SALT$HASH". crypt(5) makes eleven sets of parameters, by cost:
 * j75, j85, j7T, j8T ... jFT; the eighth, jCT, takes 128 MiB.
 */
static const char *
yescrypt_flaw(struct span rest)
{
	static const char costs[] = "789ABC";
	struct span params, salt;

	if (!span_cut(&rest, '$', &params) || !span_cut(&rest, '$', &salt) ||
	    params.n == 0 || salt.n == 0 || rest.n != 43 || !is_text64(salt) ||
	    !is_text64(rest))
		return broken;
	if (params.n != 3 || params.p[0] != 'j' ||
	    (params.p[2] != '5' && params.p[2] != 'T') ||
	    !memchr(costs, params.p[1], sizeof(costs) - 1))
		return COSTLY;
	return NULL;
}

static const char *
weak_flaw(struct span hash)
{
	if (span_starts(hash, SPAN("$apr1$")) ||
	    span_starts(hash, SPAN("$1$")) || span_starts(hash, SPAN("$md5")))
		return "an MD5 hash, which is guessed quickly" ADVICE;
	if (span_starts(hash, SPAN("{SHA}")) ||
	    span_starts(hash, SPAN("{SSHA}")) ||
	    span_starts(hash, SPAN("$sha1$")))
		return "a SHA-1 hash, which is guessed quickly" ADVICE;
	if (span_starts(hash, SPAN("$2x$")))
		return "a hash of a faulty bcrypt ($2x$)" ADVICE;
	if (hash.n == 13 && is_text64(hash))
		return "a DES hash, which is guessed quickly" ADVICE;
	if (hash.n == 0)
		return "no hash behind the name" ADVICE;
	if (hash.p[0] == '!' || hash.p[0] == '*')
		return "a locked user; take the line out";
	return "no hash of a kind that is accepted" ADVICE;
}

const char *
htpasswd_hash_flaw(const char *hash)
{
	static const struct {
		const char *prefix;
		const char *(*flaw)(struct span rest);
		size_t sha_bytes;
	} kinds[] = {
	    {"$2a$", bcrypt_flaw, 0},
	    {"$2b$", bcrypt_flaw, 0},
	    {"$2y$", bcrypt_flaw, 0},
	    {"$y$", yescrypt_flaw, 0},
	    {"$5$", NULL, 43},
	    {"$6$", NULL, 86},
	};
	struct span s = span_of(hash);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct span prefix = span_of(kinds[i].prefix), rest;

		if (!span_starts(s, prefix))
			continue;
		rest = (struct span){s.p + prefix.n, s.n - prefix.n};
		return kinds[i].flaw ? kinds[i].flaw(rest)
				     : sha_flaw(rest, kinds[i].sha_bytes);
	}
	return weak_flaw(s);
}

int
htpasswd_matches(const char *hash, const char *password,
    struct crypt_data *data)
{
	const char *made;
	size_t n = strlen(hash);
	int good;

	errno = 0;
	made = crypt_rn(password, hash, data, (int)sizeof(*data));
	if (!made)
		good = errno == ENOMEM ? -1 : 0;
	else
		good = strlen(made) == n && CRYPTO_memcmp(made, hash, n) == 0;
	OPENSSL_cleanse(data, sizeof(*data));
	return good;
}

/* --- lines ---------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	const struct htpasswd_user *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

const struct htpasswd_user *
htpasswd_find(const struct htpasswd *h, struct span name)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		struct span there = span_of(h->v[mid].name);
		size_t n = there.n < name.n ? there.n : name.n;
		int order = n ? memcmp(there.p, name.p, n) : 0;

		if (order == 0 && there.n == name.n)
			return &h->v[mid];
		if (order < 0 || (order == 0 && there.n < name.n))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* One line without its end, cut into strings in place. */
static const char *
parse_line(char *line, size_t n, struct htpasswd_user *ret)
{
	const char *flaw = conf_text_flaw((struct span){line, n});
	char *colon = memchr(line, ':', n);

	if (flaw)
		return flaw;
	line[n] = '\0';
	if (!colon)
		return "a line must be NAME:HASH" ADVICE;
	*colon = '\0';
	if (colon == line)
		return "there is no name before ':'";
	if (colon - line > BASIC_USER_MAX)
		return "a name can have 255 bytes";
	ret->name = line;
	ret->hash = colon + 1;
	return htpasswd_hash_flaw(ret->hash);
}

static bool
is_comment(struct span line)
{
	line = span_trim(line);
	return line.n == 0 || line.p[0] == '#';
}

static void
parse_lines(struct htpasswd *h, const char *path, size_t n,
    struct conf_problems *problems)
{
	struct span rest = {h->text, n}, line;
	struct conf_where at = {.file = path};
	const char *flaw;

	while (span_cut(&rest, '\n', &line)) {
		at.line++;
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (is_comment(line))
			continue;
		flaw = parse_line(h->text + (line.p - h->text), line.n,
		    &h->v[h->n]);
		if (flaw) {
			conf_problem(problems, at, "%s", flaw);
			continue;
		}
		h->v[h->n++].line = at.line;
	}
}

static void
check_twins(struct htpasswd *h, const char *path,
    struct conf_problems *problems)
{
	for (size_t i = 1; i < h->n; i++) {
		if (strcmp(h->v[i - 1].name, h->v[i].name) != 0)
			continue;
		conf_problem(problems, (struct conf_where){path, h->v[i].line},
		    "user '%s' is in line %u already; take one of them out",
		    h->v[i].name, h->v[i - 1].line);
	}
}

int
htpasswd_parse(struct htpasswd *h, const char *path, char *text, size_t n,
    struct conf_problems *problems)
{
	size_t had = problems->n, lines = 1;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	*h = (struct htpasswd){.text = text};
	h->v = mem_alloc(lines * sizeof(*h->v));
	if (!h->v) {
		conf_problem_no_memory(problems);
	} else {
		parse_lines(h, path, n, problems);
		qsort(h->v, h->n, sizeof(*h->v), by_name);
		check_twins(h, path, problems);
		conf_problems_sort(problems, had);
	}
	if (h->v && problems->n == had)
		return 0;
	htpasswd_free(h);
	return -1;
}

void
htpasswd_free(struct htpasswd *h)
{
	mem_free(h->v);
	mem_free(h->text);
	*h = (struct htpasswd){0};
}

/* --- the file ------------------------------------------------------------- */

int
htpasswd_read(struct htpasswd *h, const char *path, struct conf_where where,
    struct conf_problems *problems)
{
	struct file_text t;
	const char *why;

	if (file_text_read(path, HTPASSWD_FILE_MAX, &t, &why) < 0) {
		conf_problem(problems, where, "auth file %s: %s%s", path, why,
		    access(path, F_OK) < 0 && errno == ENOENT ? ADVICE : "");
		return -1;
	}
	if (t.mode & 07) {
		conf_problem(problems, where,
		    "auth file %s can be read or written by everybody; chmod "
		    "o= it (a mounted secret: defaultMode 0440)",
		    path);
		file_text_free(&t);
		return -1;
	}
	return htpasswd_parse(h, path, t.p, t.n, problems);
}
