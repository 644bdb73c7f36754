# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# peers: the proxies that are compared, sourced by run.sh. conf_NAME writes the
# smallest configuration that makes NAME a fair peer (one worker, no cache, no
# access log, generous limits) and says in CMD how it is run: in the
# foreground, as one process. start and stop do the rest. What is set here and
# read there:
# shellcheck disable=SC2034
#
# haproxy and nginx are no forward proxies: they get the origin as their fixed
# upstream, which spares them the choice that the others make per request.

ALL_PEERS="haproxy nginx squid tinyproxy"
declare -A PID=() PORT=() EXTRA=()
CMD=()

conf_abided() { # FILE PORT
	cat >"$1" <<TXT
[proxy]
listen = 127.0.0.1:$2
workers = 1
allow_destinations = 127.0.0.1
connect_ports = *
access_log = ${ACCESS_LOG:-off}
log_level = warn
[defaults]
deadline = 10min
queue = 30000
${EXTRA[abided]:-}
TXT
	CMD=("$BUILD/abided" -c "$1")
}

# What a line for each request costs: to a file, on whatever disk that is.
conf_abided-log() {
	ACCESS_LOG=$DIR/access.log conf_abided "$@"
}

conf_haproxy() {
	cat >"$1" <<TXT
global
	nbthread 1
	maxconn $(((DESCRIPTORS - 200) / 2))
defaults
	mode http
	timeout connect 5s
	timeout client 2m
	timeout server 2m
	http-reuse always
listen bench
	bind 127.0.0.1:$2
	server origin $ORIGIN
TXT
	CMD=(haproxy -db -q -f "$1")
}

conf_nginx() {
	local kind temp=""
	for kind in client_body proxy fastcgi uwsgi scgi; do
		temp+="${kind}_temp_path $DIR/nginx-$kind; "
	done
	cat >"$1" <<TXT
daemon off;
master_process off;
pid $DIR/nginx.pid;
error_log /dev/null crit;
events { worker_connections $((DESCRIPTORS - 100)); }
http {
	access_log off;
	$temp
	keepalive_requests 1000000000;
	keepalive_timeout 2m;
	upstream origin {
		server $ORIGIN;
		keepalive 1024;
		keepalive_requests 1000000000;
	}
	server {
		listen 127.0.0.1:$2 backlog=4096;
		location / {
			proxy_pass http://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_read_timeout 2m;
			proxy_max_temp_file_size 0;
		}
	}
}
TXT
	CMD=(nginx -c "$1")
}

conf_squid() {
	cat >"$1" <<TXT
http_port 127.0.0.1:$2
http_access allow all
cache deny all
cache_mem 0 MB
memory_cache_shared off
access_log none
cache_log /dev/null
cache_store_log none
pid_filename none
coredump_dir none
pinger_enable off
visible_hostname bench
max_filedescriptors $DESCRIPTORS
shutdown_lifetime 0 seconds
TXT
	CMD=(squid -N -n "bench$$" -f "$1")
}

conf_tinyproxy() {
	cat >"$1" <<TXT
Port $2
Listen 127.0.0.1
Allow 127.0.0.1
Timeout 120
MaxClients $DESCRIPTORS
LogLevel Critical
LogFile "/dev/null"
TXT
	CMD=(tinyproxy -d -c "$1")
}

# Connects and hangs up; no process is made for it.
listens() { # PORT
	: 2>/dev/null <>"/dev/tcp/127.0.0.1/$1"
} 2>/dev/null

# Ports that nobody listens on, outside of the range that the kernel gives to
# connecting sockets.
NEXT_PORT=$((20000 + $$ % 8000))
free_port() { # sets REPLY
	while listens "$NEXT_PORT"; do
		NEXT_PORT=$((NEXT_PORT + 1))
	done
	REPLY=$NEXT_PORT
	NEXT_PORT=$((NEXT_PORT + 1))
}

# Starts NAME; START_MS is the time until it listened.
start() { # NAME
	local name=$1 t0 t1
	free_port
	PORT[$name]=$REPLY
	"conf_$name" "$DIR/$name.conf" "$REPLY"
	t0=${EPOCHREALTIME/[.,]/}
	"${PIN_PROXY[@]}" "${CMD[@]}" >"$DIR/$name.out" 2>&1 </dev/null &
	PID[$name]=$!
	until listens "${PORT[$name]}"; do
		t1=${EPOCHREALTIME/[.,]/}
		if ! kill -0 "${PID[$name]}" 2>/dev/null ||
			[ $((t1 - t0)) -gt 10000000 ]; then
			say "$name does not start:" \
				"$(grep -im1 -e fatal -e error \
					"$DIR/$name.out" || true)"
			stop "$name"
			return 1
		fi
	done
	t1=${EPOCHREALTIME/[.,]/}
	START_MS=$(((t1 - t0 + 500) / 1000))
}

# Ends what start began: by SIGTERM and, where that takes longer than two
# seconds, SIGKILL.
stop() { # NAME
	local pid=${PID[$1]:-} i
	[ -n "$pid" ] || return 0
	unset "PID[$1]"
	kill -TERM "$pid" 2>/dev/null || true
	for ((i = 0; i < 40; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}
