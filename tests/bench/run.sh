#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The benchmarks: abided beside a direct connection and beside the peers that
# are installed, in one run. Prints figures and judges none; README.md says how
# to read them. All on the loopback, bounded, and ended with this script.
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
HERE=$TOP/tests/bench

say() {
	printf '%s\n' "$*" >&2
}

die() {
	say "bench: $*"
	exit 1
}

# shellcheck source=tests/bench/peers.sh
. "$HERE/peers.sh"
# shellcheck source=tests/bench/tls.sh
. "$HERE/tls.sh"

RATE_ROWS="small1 small64 small512 bulk fresh tunnel tunnel-bulk"
ALL_ROWS="$RATE_ROWS memory release bucket $TLS_ROWS"

usage() {
	cat <<TXT
usage: run.sh [OPTION]...
       run.sh pace [--sockets]
  pace             what coming back after a 429 costs, in virtual time; with
                   --sockets: one setting of it for real, a minute or so
  --quick          one short round of each row: a minute instead of five
  --rows LIST      of: $ALL_ROWS;
                   or tls for all of those
  --peers LIST     of: $ALL_PEERS, abided-log; or none
                   (default: all of the first that are installed)
  --rounds N       rounds of each rate row (3)
  --seconds S      length of a measurement (0.7)
  --clients N      connections of the memory row (9000, if the limit on open
                   files allows it)
  --raw FILE       keep what the load printed
  --builddir DIR   where abided was built (build/plain)
TXT
}

ROWS=$ALL_ROWS
PEERS=$ALL_PEERS
ASKED_PEERS=
ROUNDS=3
SECONDS_EACH=0.7
WARMUP=0.2
CLIENTS=9000
HELD=2000
HOLD_S=2
BUCKET_S=4
STARTS=5
RAW=
BUILD=$TOP/build/plain

quick() {
	ROUNDS=1
	SECONDS_EACH=0.4
	WARMUP=0.1
	CLIENTS=1000
	HELD=500
	HOLD_S=1
	BUCKET_S=2
	STARTS=1
}

whole_number() { # OPTION VALUE MAX
	if ! [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || [ "$2" -gt "$3" ]; then
		die "$1 takes a number from 1 to $3"
	fi
}

one_of() { # OPTION WORD LIST
	case " $3 " in
	*" $2 "*) ;;
	*) die "$1: no $2; there is: $3" ;;
	esac
}

check_options() {
	local word
	whole_number --rounds "$ROUNDS" 50
	whole_number --clients "$CLIENTS" 15000
	[[ $SECONDS_EACH =~ ^[0-9](\.[0-9]+)?$ ]] ||
		die "--seconds takes a number below 10"
	ROWS=" ${ROWS//,/ } "
	ROWS=${ROWS/ tls / $TLS_ROWS }
	for word in $ROWS; do
		one_of --rows "$word" "$ALL_ROWS"
	done
	for word in $PEERS; do
		one_of --peers "$word" "$ALL_PEERS abided-log"
	done
}

read_options() {
	while [ $# -gt 0 ]; do
		case $1 in
		--quick)
			quick
			shift
			continue
			;;
		-h | --help)
			usage
			exit 0
			;;
		esac
		[ $# -ge 2 ] || {
			usage >&2
			exit 1
		}
		case $1 in
		--rows) ROWS=$2 ;;
		--peers)
			PEERS=${2//,/ }
			ASKED_PEERS=yes
			[ "$PEERS" != none ] || PEERS=
			;;
		--rounds) ROUNDS=$2 ;;
		--seconds) SECONDS_EACH=$2 ;;
		--clients) CLIENTS=$2 ;;
		--raw) RAW=$(realpath -m "$2") ;;
		--builddir) BUILD=$(realpath -m "$2") ;;
		*)
			usage >&2
			exit 1
			;;
		esac
		shift 2
	done
	check_options
}

# --- what stands around a measurement --------------------------------------

PIN_PROXY=()
PIN_LOAD=()
ORIGIN_PID=
PEM=

cleanup() {
	local name
	trap '' INT TERM
	for name in "${!PID[@]}"; do
		stop "$name"
	done
	[ -z "$ORIGIN_PID" ] || kill "$ORIGIN_PID" 2>/dev/null || true
	[ -z "$RAW" ] || cat "$DIR/raw" >"$RAW" || true
	rm -rf "$DIR"
}

build_programs() {
	[ -x "$BUILD/abided" ] || die "no abided in $BUILD: ./dev build"
	make --no-print-directory -s -C "$BUILD" bench-programs \
		>"$DIR/make.out" 2>&1 || {
		cat "$DIR/make.out" >&2
		die "the load and the origin don't build"
	}
}

# The measured process alone on the first processor, load and origin on the
# others: they must not take its time.
choose_processors() {
	local list part i cpus=()
	command -v taskset >/dev/null || return 0
	list=$(taskset -cp $$)
	for part in $(tr , ' ' <<<"${list##*: }"); do
		for ((i = ${part%-*}; i <= ${part#*-}; i++)); do
			cpus+=("$i")
		done
	done
	[ ${#cpus[@]} -ge 2 ] || {
		say "One processor for all: compare nothing but CPU times."
		return 0
	}
	PIN_PROXY=(taskset -c "${cpus[0]}")
	list=${cpus[*]:1}
	PIN_LOAD=(taskset -c "${list// /,}")
}

start_origin() {
	local i
	"${PIN_LOAD[@]}" "$BUILD/tests/bench/origin" ${PEM:+"$PEM"} \
		>"$DIR/origin.out" &
	ORIGIN_PID=$!
	for ((i = 0; i < 100; i++)); do
		ORIGIN=$(sed -n 's/^listening on //p' "$DIR/origin.out")
		[ -z "$ORIGIN" ] || break
		sleep 0.05
	done
	RESUMABLE=$(sed -n 's/^resumable on //p' "$DIR/origin.out")
	NOT_RESUMABLE=$(sed -n 's/^not-resumable on //p' "$DIR/origin.out")
	[ -z "$ORIGIN" ] || return 0
	die "the origin does not start"
}

# The descriptors of a request through a proxy are two.
take_descriptors() {
	ulimit -n "$(ulimit -Hn)" || true
	DESCRIPTORS=$(ulimit -n)
	if [ "$DESCRIPTORS" = unlimited ] || [ "$DESCRIPTORS" -gt 100000 ]; then
		DESCRIPTORS=100000
		ulimit -n "$DESCRIPTORS"
	fi
	local most=$(((DESCRIPTORS - 500) / 2))
	[ "$most" -gt 0 ] || die "the limit on open files is $DESCRIPTORS"
	[ "$CLIENTS" -le "$most" ] || {
		CLIENTS=$most
		say "Open files are limited to $DESCRIPTORS: $CLIENTS clients."
	}
	[ "$HELD" -le "$most" ] || HELD=$most
}

find_peers() {
	local name found=""
	for name in $PEERS; do
		if [ "$name" = abided-log ] || command -v "$name" >/dev/null; then
			found+=" $name"
		elif [ -n "$ASKED_PEERS" ]; then
			die "$name is not installed"
		else
			say "Not installed, left out: $name"
		fi
	done
	PEERS=$found
}

load() { # NAME ARG...
	local through=()
	[ "$1" = direct ] ||
		through=(-x "127.0.0.1:${PORT[$1]}" -p "${PID[$1]}")
	shift
	"${PIN_LOAD[@]}" "$BUILD/tests/bench/load" \
		${through[@]+"${through[@]}"} "$@"
}

from_origin() { # PATH
	local fd
	exec {fd}<>"/dev/tcp/${ORIGIN/://}"
	printf 'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' \
		"$1" >&"$fd"
	sed '1,/^\r$/d' <&"$fd"
	exec {fd}>&-
}

field() { # KEY LINE
	sed -n "s/.*\b$1=\([-0-9.]*\).*/\1/p" <<<"$2"
}

# --- rows that measure a rate ------------------------------------------------

# Sets TITLE and ARGS.
rate_row() { # ROW
	case $1 in
	small*)
		TITLE="1 KB, keep-alive, ${1#small} at a time"
		ARGS=(-c "${1#small}" "$ORIGIN" /bytes/1024)
		;;
	bulk)
		TITLE="10 MB bodies, 4 at a time"
		ARGS=(-c 4 "$ORIGIN" /bytes/10000000)
		;;
	fresh)
		TITLE="1 KB, a client connection for each request, 16 at a time"
		ARGS=(-m fresh -c 16 "$ORIGIN" /bytes/1024)
		;;
	tunnel)
		TITLE="1 KB, keep-alive in a CONNECT tunnel, 64 at a time"
		ARGS=(-t -c 64 "$ORIGIN" /bytes/1024)
		;;
	tunnel-bulk)
		TITLE="10 MB bodies in a CONNECT tunnel, 4 at a time"
		ARGS=(-t -c 4 "$ORIGIN" /bytes/10000000)
		;;
	esac
}

measure_rate() { # ROW
	local round name out
	rate_row "$1"
	: >"$DIR/row"
	for ((round = 1; round <= ROUNDS; round++)); do
		for name in $NAMES; do
			# nginx has no CONNECT.
			case $1:$name in tunnel*:nginx) continue ;; esac
			out=$(load "$name" -w "$WARMUP" -d "$SECONDS_EACH" \
				"${ARGS[@]}") || continue
			echo "$name $round $out" >>"$DIR/row"
			echo "$1 $name $round $out" >>"$DIR/raw"
		done
	done
	printf '\n%s: %s\n' "$1" "$TITLE"
	awk -v names="$NAMES" -v rate_of=direct -v cpu_of=abided \
		-f "$HERE/table.awk" "$DIR/row"
}

rate_rows() {
	local row name rows="" started=""
	for row in $RATE_ROWS; do
		case " $ROWS " in *" $row "*) rows+=" $row" ;; esac
	done
	[ -n "$rows" ] || return 0
	for name in abided $PEERS; do
		! start "$name" || started+=" $name"
	done
	NAMES="direct$started"
	for row in $rows; do
		measure_rate "$row"
	done
	for name in $started; do
		stop "$name"
	done
}

# --- memory ------------------------------------------------------------------

restart() { # NAME
	stop "$1"
	start "$1"
}

# Bytes for each of CLIENTS connections that ask for PATH once and stay. "-"
# unless the proxy keeps them all, and answers as many as it should.
each_bytes() { # NAME WHAT ANSWERS [OPTION]... ORIGIN PATH
	local out
	restart "$1" || return 0
	sleep 0.2
	# What the first requests allocate once is not theirs.
	load "$1" -d 5 -c 8 -n 64 "${@:4:$#-4}" /bytes/64 >/dev/null || true
	out=$(load "$1" -m park -c "$CLIENTS" -n "$3" -d 0.5 "${@:4}") ||
		out=
	echo "memory-$2 $1 1 $out" >>"$DIR/raw"
	REPLY=-
	if [ "$(field asked "$out")" = "$CLIENTS" ] &&
		[ "$(field answers "$out")" = "$3" ] &&
		[ "$(field refused "$out")$(field broken "$out")" = 00 ]; then
		REPLY=$(field each_bytes "$out")
	fi
}

median_start_ms() { # NAME
	local i all=""
	for ((i = 0; i < STARTS; i++)); do
		restart "$1" || return 1
		all+="$START_MS "
	done
	REPLY=$(tr ' ' '\n' <<<"$all" | sed '/^$/d' | sort -n |
		sed -n "$((STARTS / 2 + 1))p")
}

memory_of() { # NAME
	local ms rss pss idle flight parked=-
	median_start_ms "$1" || return 0
	ms=$REPLY
	sleep 0.2
	rss=$(awk '$1 == "Rss:" { print $2 }' "/proc/${PID[$1]}/smaps_rollup")
	pss=$(awk '$1 == "Pss:" { print $2 }' "/proc/${PID[$1]}/smaps_rollup")
	each_bytes "$1" idle "$CLIENTS" "$ORIGIN" /bytes/0
	idle=$REPLY
	each_bytes "$1" flight 0 "$ORIGIN" /never
	flight=$REPLY
	case $1 in
	abided*)
		from_origin /clear
		# The request that meets the refusal is parked as well.
		each_bytes "$1" parked 0 "$ORIGIN" /hold/300
		parked=$REPLY
		;;
	esac
	printf '%-11s%10s%10s%10s%12s%12s%12s\n' "$1" "$ms" "$rss" "$pss" \
		"$idle" "$flight" "$parked"
	stop "$1"
}

memory_row() {
	local name
	printf '\nmemory: %s connections; PSS in bytes for each\n' "$CLIENTS"
	printf '%-11s%10s%10s%10s%12s%12s%12s\n' "" "start ms" "RSS KB" \
		"PSS KB" "idle" "in flight" "parked"
	for name in abided $PEERS; do
		memory_of "$name"
	done
}

# --- release and bucket --------------------------------------------------------

# One request meets the refusal; then the others come and wait behind it.
hold_and_release() { # POLICY RATE
	local first
	EXTRA[abided]=$1
	start abided || return 0
	from_origin /clear
	load abided -d 30 -n 1 "$ORIGIN" "/hold/$HOLD_S" >/dev/null &
	first=$!
	sleep 0.2
	load abided -d 30 -c "$HELD" -n "$HELD" "$ORIGIN" "/hold/$HOLD_S" \
		>"$DIR/release" || true
	wait "$first" || true
	echo "release abided 1 $(cat "$DIR/release")" >>"$DIR/raw"
	from_origin /ledger >"$DIR/ledger"
	awk -v of=release -v rate="$2" -f "$HERE/pace.awk" "$DIR/ledger"
	stop abided
	EXTRA[abided]=
}

release_row() {
	local policy=$'strategy = response_header\njitter = 0'
	printf '\nrelease: %s requests held by one Retry-After: %s\n' \
		"$HELD" "$HOLD_S"
	printf 'rate 1000/s: '
	hold_and_release "$policy"$'\nrate = 1000/s' 1000
	printf 'slow start:  '
	hold_and_release "$policy" 0
}

fill_bucket() { # BURST
	EXTRA[abided]="rate = 1000/s burst $1"
	start abided || return 0
	from_origin /clear
	load abided -d "$BUCKET_S" -c 64 "$ORIGIN" /note >"$DIR/bucket" || true
	echo "bucket abided 1 $(cat "$DIR/bucket")" >>"$DIR/raw"
	from_origin /ledger >"$DIR/ledger"
	awk -v of=bucket -v rate=1000 -v burst="$1" -f "$HERE/pace.awk" \
		"$DIR/ledger"
	stop abided
	EXTRA[abided]=
}

bucket_row() {
	printf '\nbucket: rate 1000/s, 64 clients that always want more\n'
	printf 'burst 1:  '
	fill_bucket 1
	printf 'burst 50: '
	fill_bucket 50
}

# Needs nothing of the rest: it has no processors to share and no peers.
pace() {
	[ -x "$BUILD/abided" ] || die "no abided in $BUILD: ./dev build"
	make --no-print-directory -s -C "$BUILD" tests/bench/pace/pace
	case ${1:-} in
	"") exec "$BUILD/tests/bench/pace/pace" ;;
	--sockets) exec "$HERE/pace/sockets.py" "$BUILD" ;;
	*) die "pace takes --sockets, or nothing" ;;
	esac
}

[ "${1:-}" != pace ] || pace "${@:2}"
read_options "$@"
DIR=$(mktemp -d "${TMPDIR:-/tmp}/abided-bench.XXXXXX")
trap cleanup EXIT
trap 'exit 130' INT TERM
: >"$DIR/raw"
build_programs
take_descriptors
make_certificates
choose_processors
find_peers
start_origin
BEGAN=$SECONDS
printf 'Load average %s on %s processors: other work makes figures worse.\n' \
	"$(cut -d' ' -f1-2 /proc/loadavg)" "$(nproc)"
rate_rows
for row in memory release bucket; do
	case " $ROWS " in *" $row "*) "${row}_row" ;; esac
done
tls_rows
printf '\n%s s\n' $((SECONDS - BEGAN))
