/* SPDX-License-Identifier: MIT */
/*
 * conf_line.c: the lines of an INI file, looked at before inih sees them.
 *
 * Decides which lines are fit for inih. Its build has limits that it keeps by
 * cutting: lines of 200 bytes (the rest becomes a line of its own), sections
 * and names of 50. It takes ':' for '=', strips a comment from a line but not
 * from one that continues it, and drops whatever follows a ']'. What it would
 * misread is refused here, in words; what is left has one meaning.
 */
#include "edge/conf_line.h"

#include "edge/conf_file.h"

static struct conf_line
bad(const char *flaw)
{
	return (struct conf_line){.kind = CONF_LINE_BAD, .flaw = flaw};
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Where " x" stands, the blank included; s.n: nowhere. */
static size_t
find_after_blank(struct span s, char x)
{
	for (size_t i = 1; i < s.n; i++) {
		if (s.p[i] == x && is_blank(s.p[i - 1]))
			return i - 1;
	}
	return s.n;
}

static struct conf_line
section_line(struct conf_line line)
{
	struct span rest = {line.text.p + 1, line.text.n - 1};

	if (!span_cut(&rest, ']', &line.name) || rest.p == NULL)
		return bad("the ']' is missing");
	if (span_trim(rest).n > 0)
		return bad(
		    "text follows the ']'; a comment begins with \" ;\"");
	if (line.name.n > CONF_NAME_MAX)
		return bad("the name of the section is longer than 49 bytes; "
			   "shorten it");
	line.kind = CONF_LINE_SECTION;
	return line;
}

static struct conf_line
setting_line(struct conf_line line)
{
	struct span rest = line.text;

	if (!span_cut(&rest, '=', &line.name) || rest.p == NULL)
		return bad("there is no '='; a setting is KEY = VALUE");
	line.name = span_trim(line.name);
	if (line.name.n == 0)
		return bad("there is no key before the '='");
	if (line.name.n > CONF_NAME_MAX)
		return bad("the key is longer than 49 bytes; there is none "
			   "like that");
	if (memchr(line.name.p, ':', line.name.n))
		return bad("a ':' stands before the '='; a setting is "
			   "KEY = VALUE");
	line.kind = CONF_LINE_SETTING;
	return line;
}

/* Indented, yet it looks like a line of its own: "workers = 2", "[proxy]". */
static bool
looks_unindented(struct span text)
{
	struct span rest = text, name;
	size_t n = 0;

	if (text.p[0] == '[')
		return text.p[text.n - 1] == ']' &&
		    !memchr(text.p, ':', text.n);
	if (!span_cut(&rest, '=', &name) || rest.p == NULL)
		return false;
	name = span_trim(name);
	while (n < name.n &&
	    ((name.p[n] >= 'a' && name.p[n] <= 'z') || name.p[n] == '_'))
		n++;
	return n > 0 && n == name.n;
}

struct conf_line
conf_line_of(struct span whole, bool below_key)
{
	struct conf_line line = {.kind = CONF_LINE_BLANK};
	const char *flaw = conf_text_flaw(whole);
	struct span text = span_trim(whole);

	if (flaw != NULL)
		return bad(flaw);
	if (text.n == 0 || text.p[0] == ';' || text.p[0] == '#')
		return line;
	if (whole.n > CONF_LINE_MAX)
		return bad("the line is longer than 199 bytes; break it: an "
			   "indented line continues the one above");
	if (find_after_blank(text, '#') < find_after_blank(text, ';'))
		return bad("a comment behind a value begins with \" ;\", '#' "
			   "only begins a line");
	line.text =
	    span_trim((struct span){text.p, find_after_blank(text, ';')});
	if (!is_blank(whole.p[0]))
		return text.p[0] == '[' ? section_line(line)
					: setting_line(line);
	if (!below_key)
		return bad("the line is indented, but there is no key above "
			   "that it could continue");
	if (looks_unindented(line.text))
		return bad("the line is indented and would continue the value "
			   "above; begin keys and sections at the start of the "
			   "line");
	line.kind = CONF_LINE_MORE;
	return line;
}
