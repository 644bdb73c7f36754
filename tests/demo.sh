# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# demo: what "./dev run" shows, sourced by dev. A throttling origin and abided
# in front of it, both on the loopback, until Ctrl-C.

DEMO_DIR=build/demo
ORIGIN_PID=
ABIDED_PID=

# True where something answers on the port.
demo_taken() { # PORT
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The port itself or, where it is taken, a free one; says so.
demo_port() { # WHOSE PORT
	local port=$2
	while demo_taken "$port"; do
		port=$((port + 100))
		[ "$port" -lt $(($2 + 2000)) ] ||
			die "no free port for $1 from $2 on"
	done
	[ "$port" = "$2" ] ||
		say "Port $2 is taken; $1 listens on $port instead."
	echo "$port"
}

demo_wait() { # WHOSE PORT PID
	local i
	for ((i = 0; i < 200; i++)); do
		kill -0 "$3" 2>/dev/null ||
			die "$1 did not start; see above and $DEMO_DIR"
		! demo_taken "$2" || return 0
		sleep 0.05
	done
	die "$1 does not listen on port $2"
}

# abided first: the requests that it drains may still need the origin. Another
# Ctrl-C while it drains is passed on, and stops it at once.
demo_stop() {
	trap - EXIT
	trap 'kill -TERM "$ABIDED_PID" 2>/dev/null || true' INT TERM
	if [ -n "$ABIDED_PID" ]; then
		kill -TERM "$ABIDED_PID" 2>/dev/null || true
		while kill -0 "$ABIDED_PID" 2>/dev/null; do
			wait "$ABIDED_PID" || true
		done
	fi
	[ -z "$ORIGIN_PID" ] || kill -TERM "$ORIGIN_PID" 2>/dev/null || true
	wait
}

demo_text() { # PROXY ORIGIN
	local curl=curl script="$2/script?s=429:1*2,200&loop=yes"
	# With these set curl would go round the proxy.
	[ -z "${no_proxy:-}${NO_PROXY:-}" ] || curl="curl --noproxy ''"
	cat <<TXT

abided is the proxy, $1. The demo origin, $2, refuses two
requests with "429, Retry-After: 1" and serves the third. In another terminal:

1. Without the proxy the client gets the refusal.

   $curl -i '$script&key=direct'

   -> HTTP/1.1 429 Too Many Requests

2. Through the proxy it gets a slower success.

   $curl -i -x $1 '$script&key=demo'

   -> HTTP/1.1 200 OK after 2 to 15 seconds; Proxy-Status tells the attempts

3. Twenty at once against a limit of 5 a second: every one succeeds.

   seq 20 | xargs -P 20 -I@ $curl -s -o /dev/null \\
       -w '%{http_code} after %{time_total} s\n' -x $1 \\
       '$2/limit?rate=5/s&burst=5'

   -> 200 twenty times

Any client that knows HTTP_PROXY can be tried:

   export http_proxy=$1

Ctrl-C stops both. What follows is the log of abided.

TXT
}

demo() {
	local proxy origin
	proxy=127.0.0.1:$(demo_port abided 3180)
	origin=127.0.0.1:$(demo_port abide-origin 3190)
	mkdir -p "$DEMO_DIR"
	cat >"$DEMO_DIR/abided.conf" <<-CONF
		; Written anew by each "./dev run".
		[proxy]
		listen = $proxy
		; The loopback is denied unless it is asked for.
		allow_destinations = 127.0.0.0/8

		[service demo]
		hosts = $origin
	CONF

	# Jobs in groups of their own: a Ctrl-C at the terminal comes here
	# alone, and here it is said who stops first.
	set -m
	trap demo_stop EXIT
	trap 'demo_stop; exit 0' INT TERM
	build/plain/abide-origin --listen "$origin" \
		>"$DEMO_DIR/origin.out" 2>&1 &
	ORIGIN_PID=$!
	demo_wait abide-origin "${origin#*:}" "$ORIGIN_PID"
	build/plain/abided -c "$DEMO_DIR/abided.conf" "$@" &
	ABIDED_PID=$!
	demo_wait abided "${proxy#*:}" "$ABIDED_PID"
	demo_text "http://$proxy" "http://$origin"
	wait -n || true
	die "one of the two ended by itself; see above and $DEMO_DIR"
}
