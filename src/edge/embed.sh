#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed.sh DIR: the presets in DIR as C source, to standard output, in the order
# of their names. The programs need no file of theirs then.
set -eu
LC_ALL=C
export LC_ALL

n=0
table=
echo '/* SPDX-License-Identifier: MIT */'
echo '/* Made of etc/presets by src/edge/embed.sh. */'
echo '#include "edge/preset.h"'
# By name, without the dot: "aws" comes before "aws-s3".
names=$(for file in "$1"/*.conf; do
	name=${file##*/}
	echo "${name%.conf}"
done | sort)
for name in $names; do
	file=$1/$name.conf
	[ -f "$file" ] || continue
	echo
	echo "static const unsigned char text_$n[] = {"
	od -A n -v -t u1 "$file" |
		sed -e 's/[^0-9]*\([0-9][0-9]*\)/\1,/g' -e 's/^/	/'
	echo '};'
	table="$table	{\"$name\", text_$n, sizeof(text_$n)},
"
	n=$((n + 1))
done
if [ "$n" -eq 0 ]; then
	echo "embed.sh: there is no preset in $1" >&2
	exit 1
fi
echo
echo 'const struct preset_built_in preset_built_in[] = {'
printf '%s' "$table"
echo '};'
echo "const size_t preset_nbuilt_in = $n;"
