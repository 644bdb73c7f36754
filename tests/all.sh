# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# all: the whole test run of "./dev test", sourced by dev.
#
# It builds three times, runs every suite in each build that it belongs to,
# and counts single cases: TAP lines of unit tests, scenarios and corpus
# inputs, Python tests, lint checks. What did not run is not passed: a program
# that ends early, a suite without a case and a build that fails all count as
# failures. The last line is the sum.

PASSED=0
FAILED=0

# Adds a suite to the sum and prints its row.
suite() { # NAME PASSED FAILED SKIPPED START
	PASSED=$((PASSED + $2))
	FAILED=$((FAILED + $3))
	printf '%-20s passed %-5d failed %-4d skipped %-4d %d s\n' \
		"$1" "$2" "$3" "$4" $((SECONDS - $5))
}

# Shows a log so that no line of it is taken for one of ours.
show() { # FILE
	printf -- '--- %s\n' "$1"
	sed 's/^/  | /' "$1"
}

# "PASSED FAILED SKIPPED" of the harness's result files. It reports a non-zero
# exit last, as an error: that is one failure more where a program broke off,
# but says the same twice where a case had failed.
count_trs() { # FILE...
	awk '
		function flush() {
			if (fail > 1 && last == "ERROR") fail--
			if (!fail && !pass && !skip) fail = 1
			p += pass; f += fail; s += skip
			pass = fail = skip = 0
			last = ""
		}
		FNR == 1 && NR > 1 { flush() }
		/^:test-result: / { last = $2 }
		/^:test-result: (PASS|XFAIL)/ { pass++ }
		/^:test-result: (FAIL|XPASS|ERROR)/ { fail++ }
		/^:test-result: SKIP/ { skip++ }
		END { flush(); print p + 0, f + 0, s + 0 }' "$@"
}

# One suite of "make check": its result files, and the logs of what failed.
check_suite() { # BUILD SUITE START FILE...
	local build=$1 name=$2 start=$3 trs counts
	shift 3
	if [ ! -e "$1" ]; then
		suite "$build $name" 0 1 0 "$start"
		echo "  | no test of this suite ran"
		return
	fi
	read -ra counts <<<"$(count_trs "$@")"
	suite "$build $name" "${counts[@]}" "$start"
	for trs; do
		read -ra counts <<<"$(count_trs "$trs")"
		[ "${counts[1]}" -eq 0 ] || show "${trs%.trs}.log"
	done
}

# gcc 12's ThreadSanitizer can't place its memory where the kernel randomises
# addresses widely; it then needs to run without that.
unrandomised() { # PROGRAM: prints the prefix to run it with
	if "$1" -V 2>&1 | grep -q 'unexpected memory mapping'; then
		echo "setarch -R"
	fi
}

check() { # BUILD
	local dir=build/$1 start=$SECONDS prefix=() log=build/$1/check.out
	local status=0 before=$FAILED
	rm -f "$dir/test-suite.log"
	find "$dir/tests" \( -name '*.trs' -o -name '*.log' \) -delete
	if [ "$1" = tsan ]; then
		read -ra prefix <<<"$(unrandomised "$dir/abided")"
	fi
	${prefix[@]+"${prefix[@]}"} make --no-print-directory -k -j"$JOBS" \
		-C "$dir" check >"$log" 2>&1 </dev/null || status=$?
	if [ ! -e "$dir/test-suite.log" ]; then
		show "$log"
	fi
	check_suite "$1" unit "$start" "$dir"/tests/unit/*.trs
	check_suite "$1" sim "$start" "$dir"/tests/sim/*.trs
	check_suite "$1" corpus "$start" "$dir"/tests/fuzz/*.trs
	check_suite "$1" purity "$start" "$dir"/tests/lint/*.trs
	if [ "$status" -ne 0 ] && [ "$FAILED" -eq "$before" ]; then
		suite "$1 make check" 0 1 0 "$start"
		show "$log"
	fi
}

# Counts what Python's unittest says, of every suite in the output.
count_unittest() { # FILE
	awk '
		function number(key,  m) {
			if (match($0, key "=[0-9]+"))
				return substr($0, RSTART + length(key) + 1,
				    RLENGTH - length(key) - 1) + 0
			return 0
		}
		/^Ran [0-9]+ tests? in / { ran += $2 }
		/^(OK|FAILED)( \(.*\))?$/ {
			failed += number("failures") + number("errors")
			failed += number("unexpected successes")
			skipped += number("skipped")
		}
		END {
			passed = ran - failed - skipped
			print (passed < 0 ? 0 : passed), failed + 0, skipped + 0
		}' "$1"
}

integration() { # BUILD FLAGS
	local dir=build/$1 start=$SECONDS log=build/$1/integration.out status=0
	local prefix=() counts
	if [ "$1" = tsan ]; then
		read -ra prefix <<<"$(unrandomised "$dir/abided")"
	fi
	# The limit is far off; it is there so that a hang is a failure.
	timeout -k 10 1200 ${prefix[@]+"${prefix[@]}"} make \
		--no-print-directory -C "$dir" check-integration \
		INTEGRATION_FLAGS="$2" >"$log" 2>&1 </dev/null || status=$?
	read -ra counts <<<"$(count_unittest "$log")"
	if [ "$status" -ne 0 ] || [ "${counts[0]}" -eq 0 ]; then
		[ "${counts[1]}" -gt 0 ] || counts[1]=1
	fi
	suite "$1 integration" "${counts[@]}" "$start"
	[ "${counts[1]}" -eq 0 ] || show "$log"
}

lint() {
	local start=$SECONDS log=build/lint.out last
	make --no-print-directory -j"$JOBS" -C build/plain lint >"$log" 2>&1 ||
		true
	last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" |
		tail -n 1) || true
	if [ -n "$last" ]; then
		last=${last//[!0-9 ]/}
		read -ra last <<<"$last"
		suite lint "${last[0]}" "${last[1]}" 0 "$start"
	else
		last=(0 1)
		suite lint 0 1 0 "$start"
	fi
	[ "${last[1]}" -eq 0 ] || show "$log"
}

# A step that is one case: it ends well or it does not.
step() { # NAME LOG COMMAND...
	local name=$1 log=$2 start=$SECONDS
	shift 2
	if ("$@") >"$log" 2>&1; then
		suite "$name" 1 0 0 "$start"
	else
		suite "$name" 0 1 0 "$start"
		show "$log"
		return 1
	fi
}

# The tarball builds, passes its tests, and holds every file of the repository.
distcheck() {
	local tarball left
	make --no-print-directory -j"$JOBS" -C build/plain distcheck ||
		return
	for tarball in build/plain/abided-*.tar.xz; do :; done
	left=$(comm -23 <(git ls-files | grep -v '^\.git' | sort) \
		<(tar -tf "$tarball" | cut -d/ -f2- | sort)) || return
	[ -z "$left" ] || {
		printf 'not in %s:\n%s\n' "$tarball" "$left"
		return 1
	}
}

# Also where the run itself breaks off: then with one failure more.
sum_up() {
	local status=$?
	trap - EXIT
	[ "$status" -eq 0 ] || [ "$FAILED" -gt 0 ] || FAILED=1
	printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
	[ "$FAILED" -eq 0 ] && [ "$PASSED" -gt 0 ] || exit 1
}

all_tests() {
	local full=no name
	[ "${CI:-}" != true ] || full=yes
	case ${1:-} in
	"") ;;
	--full) full=yes ;;
	*) die "test takes no argument but --full" ;;
	esac

	trap sum_up EXIT
	mkdir -p build
	for name in plain asan tsan; do
		step "$name build" "build/$name.out" build "$name" || continue
		check "$name"
		case $name in
		asan) integration asan "" ;;
		tsan) integration tsan --reduced ;;
		esac
	done
	lint
	if [ $full = yes ]; then
		step distcheck build/distcheck.out distcheck || true
		need_fuzz
		install_missing
		step fuzz build/fuzz.out dev_fuzz 10 || true
	fi
}
