# SPDX-License-Identifier: MIT
#
# presets.awk FILE...: the part of docs/PRESETS.md between its marks, out of the
# files of presets: a table, then of each what its first comment says. A comment
# has a title, then paragraphs, one of which begins with "Source:".

function escaped(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/[*_<|]/, "\\\\&", s)
	return s
}

function end_file(    i, n, list, hosts) {
	if (name == "")
		return
	gsub(/[ \t]+/, "", all)
	n = split(all, list, ",")
	for (i = 1; i <= n && (i <= 4 || n <= 6); i++)
		hosts = hosts (i > 1 ? ", " : "") "`" list[i] "`"
	if (i <= n)
		hosts = hosts " and " (n - i + 1) " more"
	rows = rows "| [`" name "`](#" name ") | " title " | " hosts " |\n"
	sub(/\n+$/, "", text)
	parts = parts "\n## " name "\n\n" title \
		" ([file](../etc/presets/" name ".conf)).\n" \
		(text == "" ? "" : "\n" text "\n")
	name = title = text = all = ""
}

FNR == 1 {
	end_file()
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.conf$/, "", name)
	head = 1
	more = 0
}

/^\[/ { head = 0 }

head && /^#/ {
	line = $0
	sub(/^#[ \t]*/, "", line)
	if (line ~ /^SPDX-License-Identifier/)
		next
	if (title == "")
		title = escaped(line)
	else if (line != "" || text != "")
		text = text escaped(line) "\n"
	next
}

/^hosts[ \t]*=/ || (more && /^[ \t]/) {
	line = $0
	sub(/^hosts[ \t]*=/, "", line)
	sub(/[ \t];.*/, "", line)
	sub(/[ \t,]+$/, "", line)
	if (line ~ /[^ \t]/)
		all = all (all == "" ? "" : ",") line
	more = 1
	next
}

{ more = 0 }

END {
	end_file()
	printf "| preset | what | hosts |\n|---|---|---|\n%s%s", rows, parts
}
