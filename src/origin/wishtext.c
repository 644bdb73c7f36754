/* SPDX-License-Identifier: MIT */
/*
 * The two notations of a wish, a URL's query and the words of a rule, taken
 * apart into names and values; and what can be judged only at the end of it.
 * Which names there are is wish.c's business.
 */
#include "base/mem.h"
#include "proto/octet.h"
#include "wish.h"

/* application/x-www-form-urlencoded; a stray '%' stands for itself. */
static void
put_decoded(struct strbuf *out, struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		int hi = -1, lo = -1;

		if (s.p[i] == '%' && s.n - i > 2) {
			hi = octet_hex(s.p[i + 1]);
			lo = octet_hex(s.p[i + 2]);
		}
		if (hi >= 0 && lo >= 0) {
			strbuf_char(out, (char)(hi << 4 | lo));
			i += 2;
		} else {
			strbuf_char(out, s.p[i] == '+' ? ' ' : s.p[i]);
		}
	}
}

int
wish_query(struct wish *w, struct span query, struct strbuf *why)
{
	struct strbuf text; /* of one parameter, decoded: name, then value */
	struct span part, name, value;
	size_t n;
	int rc = 0;

	strbuf_init(&text, WISH_TEXT_MAX);
	while (rc == 0 && span_cut(&query, '&', &part)) {
		if (part.n == 0)
			continue;
		(void)span_cut(&part, '=', &name);
		value = part.p == NULL ? SPAN("") : part;
		strbuf_clear(&text);
		put_decoded(&text, name);
		n = text.n;
		put_decoded(&text, value);
		if (text.failed) {
			strbuf_lit(why, "a parameter is too long");
			rc = -1;
			break;
		}
		rc = wish_set(w, (struct span){text.p, n},
		    (struct span){text.p + n, text.n - n}, why);
	}
	strbuf_free(&text);
	return rc;
}

/* The next word; blanks of any number separate. False at the end. */
static bool
next_word(struct span *rest, struct span *ret)
{
	while (span_cut(rest, ' ', ret)) {
		if (ret->n > 0)
			return true;
	}
	return false;
}

int
wish_words(struct wish *w, struct span words, struct strbuf *why)
{
	struct span word, value;

	while (next_word(&words, &word)) {
		if (word.p[0] >= '0' && word.p[0] <= '9' &&
		    memchr(word.p, '/', word.n) != NULL) {
			if (wish_set(w, SPAN("rate"), word, why) < 0)
				return -1;
			continue;
		}
		if (!next_word(&words, &value)) {
			strbuf_lit(why, "no value after '");
			strbuf_escaped(why, word);
			strbuf_char(why, '\'');
			return -1;
		}
		if (wish_set(w, word, value, why) < 0)
			return -1;
	}
	return 0;
}

static int
check_by(const struct wish *w, struct strbuf *why)
{
	static const char *const words[] = {"", "client", "path", "method",
	    "host"};
	struct span by = strbuf_view(&w->by);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (span_eq(by, span_of(words[i])))
			return 0;
	}
	if (span_starts(by, SPAN("header:")) && by.n > 7)
		return 0;
	strbuf_lit(why, "by is one of client, path, method, host, header:NAME");
	return -1;
}

static int
check_rate(struct wish *w, struct limit_cfg *cfg, struct strbuf *why)
{
	const char *fault;

	cfg->kind = (enum limit_kind)w->window;
	if (cfg->kind == LIMIT_BUCKET) {
		if (cfg->burst == 0)
			cfg->burst = w->burst ? (uint32_t)w->burst : 1;
	} else if (cfg->burst != 0 || w->burst != 0) {
		strbuf_lit(why, "burst goes with window=bucket only");
		return -1;
	}
	fault = limit_cfg_fault(cfg);
	if (fault != NULL) {
		strbuf_span(why, span_of(fault));
		return -1;
	}
	return 0;
}

/* fail=N is a step before all others. */
static int
check_script(struct wish *w, struct strbuf *why)
{
	struct step st = {
	    .kind = STEP_STATUS,
	    .status = w->status ? w->status : 429,
	    .hint_ns = w->after_ns >= 0 ? w->after_ns : INT64_C(1000000000),
	    .times = w->fail,
	};

	w->script.loop = w->loop;
	if (w->fail == 0)
		return 0;
	w->fail = 0;
	if (script_add(&w->script, &st) < 0) {
		strbuf_lit(why, "a script has at most 64 steps");
		return -1;
	}
	memmove(w->script.v + 1, w->script.v,
	    (w->script.n - 1) * sizeof *w->script.v);
	w->script.v[0] = st;
	return 0;
}

int
wish_check(struct wish *w, struct strbuf *why)
{
	for (unsigned i = 0; i < w->nrates; i++) {
		if (check_rate(w, &w->rates[i], why) < 0)
			return -1;
	}
	if (check_by(w, why) < 0)
		return -1;
	return check_script(w, why);
}
