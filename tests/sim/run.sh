#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs each scenario of tests/sim in virtual time; one TAP line for each. One
# that hangs fails.
set -u
src=${top_srcdir:-.}
sim=tests/sim/sim

set -- "$src"/tests/sim/*.sim
if [ ! -f "$1" ]; then
	echo "Bail out! no scenario in tests/sim"
	exit 1
fi

echo "1..$#"
n=0
failed=0
for scenario; do
	n=$((n + 1))
	name=${scenario##*/}
	if out=$(timeout 120 "$sim" "$scenario" 2>&1); then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		printf '%s\n' "$out" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
