# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# tls: what TLS costs abided, in rows of their own, sourced by run.sh. One
# abided serves all ways of a row, so that they differ in TLS alone:
#
#   plain      http:// on both sides
#   tunnel     CONNECT, and what is inside passes as it is
#   upstream   the client leaves TLS to abided
#   intercept  TLS with the client and TLS with the origin
#
# The certificates are made for one run. What is set here and read there, and
# the other way:
# shellcheck disable=SC2034,SC2154

TLS_ROWS="tls-small tls-bulk tls-client tls-upstream tls-memory"
# Idle connections that abided keeps with one server are bounded.
TLS_PAIRS=1000

wants_tls() {
	case $ROWS in *tls-*) ;; *) return 1 ;; esac
}

# Sets PEM, for the origin. Without openssl the rows are left out.
make_certificates() {
	local curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
	wants_tls || return 0
	command -v openssl >/dev/null || {
		say "Not installed, left out: openssl, and so the rows of TLS"
		ROWS=$(tr ' ' '\n' <<<"$ROWS" | grep -v '^tls-' | tr '\n' ' ')
		return 0
	}
	(
		umask 077
		cd "$DIR"
		openssl req -x509 "${curve[@]}" -keyout ca.key -out ca.pem \
			-days 2 -subj "/CN=bench" \
			-addext keyUsage=critical,keyCertSign
		openssl req "${curve[@]}" -keyout origin.key -out origin.csr \
			-subj "/CN=origin"
		openssl x509 -req -in origin.csr -CA ca.pem -CAkey ca.key \
			-days 2 -out origin.pem \
			-extfile <(echo subjectAltName=IP:127.0.0.1)
		cat origin.key >>origin.pem
	) >"$DIR/openssl.out" 2>&1 || {
		cat "$DIR/openssl.out" >&2
		die "openssl makes no certificates"
	}
	PEM=$DIR/origin.pem
}

# A thousand handshakes at the same time may take long on a busy machine.
start_tls() {
	EXTRA[abided]="connect_timeout = 1min
head_timeout = 1min
[tls]
ca_cert = $DIR/ca.pem
ca_key = $DIR/ca.key
upstream_ca = $DIR/ca.pem
[service tls]
hosts = $RESUMABLE, $NOT_RESUMABLE
tls = intercept"
	start abided
}

# Sets TITLE, WAYS and SHAKES, which is 1 where each request has a handshake.
tls_row() { # ROW
	SHAKES=0
	WAYS="plain tunnel upstream intercept"
	case $1 in
	tls-small)
		TITLE="1 KB, keep-alive, 64 at a time"
		;;
	tls-bulk)
		TITLE="1 MB bodies, 4 at a time"
		;;
	tls-client)
		TITLE="1 KB, CONNECT and a client's handshake for each, 16 at a time"
		;;
	tls-upstream)
		TITLE="1 KB, a handshake with the origin for each, 16 at a time"
		;;
	esac
	case $1 in
	tls-bulk)
		WAYS="plain upstream intercept"
		;;
	tls-client | tls-upstream)
		SHAKES=1
		WAYS="plain full resumed"
		;;
	esac
}

# Sets ARGS.
tls_args() { # ROW WAY
	local args=()
	case $1:$2 in
	tls-upstream:plain) ARGS=("$ORIGIN") ;;
	tls-upstream:full) ARGS=(-s "$NOT_RESUMABLE") ;;
	tls-upstream:resumed) ARGS=(-s "$RESUMABLE") ;;
	*:plain) ARGS=("$ORIGIN") ;;
	*:tunnel) ARGS=(-t "$ORIGIN") ;;
	*:upstream) ARGS=(-s "$RESUMABLE") ;;
	*:intercept | *:full) ARGS=(-t -s "$RESUMABLE") ;;
	*:resumed) ARGS=(-t -r "$RESUMABLE") ;;
	esac
	case $1 in
	tls-small) args=(-c 64 "${ARGS[@]}" /bytes/1024) ;;
	tls-bulk) args=(-c 4 "${ARGS[@]}" /bytes/1000000) ;;
	tls-client) args=(-m fresh -c 16 "${ARGS[@]}" /bytes/1024) ;;
	tls-upstream) args=(-c 16 "${ARGS[@]}" /close/1024) ;;
	tls-memory) args=("${ARGS[@]}") ;;
	esac
	ARGS=("${args[@]}")
}

measure_tls() { # ROW
	local round way out
	tls_row "$1"
	: >"$DIR/row"
	for ((round = 1; round <= ROUNDS; round++)); do
		for way in $WAYS; do
			tls_args "$1" "$way"
			from_origin /shakes >/dev/null
			out=$(load abided -w "$WARMUP" -d "$SECONDS_EACH" \
				"${ARGS[@]}") || continue
			# The load sees no handshake but its own.
			[ "$1" != tls-upstream ] ||
				out+=" $(from_origin /shakes)"
			echo "$way $round $out" >>"$DIR/row"
			echo "$1 $way $round $out" >>"$DIR/raw"
		done
	done
	printf '\n%s: %s\n' "$1" "$TITLE"
	awk -v names="$WAYS" -v rate_of=plain -v cpu_of=plain \
		-v shakes="$SHAKES" -f "$HERE/table.awk" "$DIR/row"
}

# All requests are answered together, so each client has a connection to the
# origin of its own, and both are idle after that.
measure_tls_memory() {
	local way plain="" ratio CLIENTS=$TLS_PAIRS
	printf '\ntls-memory: %s idle clients, each with an idle upstream' \
		"$CLIENTS"
	printf ' connection; PSS in bytes for each pair\n'
	for way in plain upstream intercept; do
		tls_args tls-memory "$way"
		each_bytes abided "tls-$way" "$CLIENTS" "${ARGS[@]}" \
			"/together/$CLIENTS"
		[ "$way" != plain ] || plain=$REPLY
		ratio=-
		[ "$plain" = - ] || [ "$REPLY" = - ] ||
			ratio=$(awk "BEGIN { printf \"%.1f\", $REPLY / $plain }")
		printf '%-11s%10s%10s\n' "$way" "$REPLY" "$ratio"
	done
}

tls_rows() {
	local row
	wants_tls || return 0
	start_tls || return 0
	for row in $TLS_ROWS; do
		case " $ROWS " in *" $row "*) ;; *) continue ;; esac
		if [ "$row" = tls-memory ]; then
			measure_tls_memory
		else
			measure_tls "$row"
		fi
	done
	stop abided
	EXTRA[abided]=
}
