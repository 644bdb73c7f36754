# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# demo: what "./dev run" shows, sourced by dev. A throttling origin and abided
# in front of it, both on the loopback, until Ctrl-C.

DEMO_PIDS=()

# True where something answers on the port.
demo_taken() { # PORT
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The port itself or, where it is taken, the next free one; says so.
demo_port() { # WHOSE PORT
	local port=$2
	while demo_taken "$port"; do
		port=$((port + 10))
		[ "$port" -lt $(($2 + 200)) ] ||
			die "no free port for $1 from $2 on"
	done
	[ "$port" = "$2" ] ||
		say "Port $2 is taken; $1 listens on $port instead."
	echo "$port"
}

demo_wait() { # WHOSE PORT PID
	local i
	for ((i = 0; i < 100; i++)); do
		kill -0 "$3" 2>/dev/null || die "$1 did not start; see above" \
			"and build/demo/origin.out"
		! demo_taken "$2" || return 0
		sleep 0.05
	done
	die "$1 does not listen on port $2"
}

demo_stop() {
	trap - EXIT
	trap '' INT TERM
	[ ${#DEMO_PIDS[@]} -eq 0 ] ||
		kill -TERM "${DEMO_PIDS[@]}" 2>/dev/null || true
	wait
}

demo_text() { # PROXY-PORT ORIGIN-PORT
	local origin=http://127.0.0.1:$2 curl=curl
	# curl would go round the proxy.
	[ -z "${no_proxy:-}${NO_PROXY:-}" ] || curl="curl --noproxy ''"
	cat <<TXT

abided is the proxy on 127.0.0.1:$1; a throttling origin is on 127.0.0.1:$2.

1. Without the proxy: the origin refuses.

   $curl -i '$origin/fail?n=2&status=429&after=1&hint=seconds&id=direct'

   -> HTTP/1.1 429 Too Many Requests, Retry-After: 1

2. The same through abided: it waits as it is told, and tries again.

   $curl -i -x http://127.0.0.1:$1 '$origin/fail?n=2&status=429&after=1&hint=seconds&id=demo'

   -> HTTP/1.1 200 OK after a few seconds; Proxy-Status says what happened.

3. Twenty at once against a limit of 5 a second: all of them are 200.

   seq 20 | xargs -P 20 -I@ $curl -s -o /dev/null -w '%{http_code} after %{time_total} s\n' -x http://127.0.0.1:$1 '$origin/limit?rate=5/s&hint=seconds'

Any client that knows HTTP_PROXY works:

   export http_proxy=http://127.0.0.1:$1

Ctrl-C stops both. What follows is abided's log.

TXT
}

demo() {
	local proxy_port origin_port dir=build/demo
	proxy_port=$(demo_port abided 3180)
	origin_port=$(demo_port abide-origin 3190)
	mkdir -p "$dir"
	cat >"$dir/abided.conf" <<-CONF
		; Written anew by each "./dev run".
		[proxy]
		listen = 127.0.0.1:$proxy_port
		; The loopback is denied unless it is asked for.
		allow_destinations = 127.0.0.0/8

		[service demo]
		hosts = 127.0.0.1:$origin_port
	CONF

	# In groups of their own, so that a Ctrl-C at the terminal comes here
	# and each is asked to stop once.
	set -m
	trap demo_stop EXIT
	trap 'demo_stop; exit 0' INT TERM
	build/plain/abide-origin --listen "127.0.0.1:$origin_port" \
		>"$dir/origin.out" 2>&1 &
	DEMO_PIDS+=($!)
	demo_wait abide-origin "$origin_port" $!
	build/plain/abided -c "$dir/abided.conf" "$@" &
	DEMO_PIDS+=($!)
	demo_wait abided "$proxy_port" $!
	demo_text "$proxy_port" "$origin_port"
	wait -n || true
	die "one of the two ended by itself; see above and $dir/origin.out"
}
