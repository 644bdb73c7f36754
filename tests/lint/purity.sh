#!/bin/sh
# SPDX-License-Identifier: MIT
# proto and policy decide by their parameters alone. What their archives leave
# undefined shows it: no clock, no chance, no socket, no file, no log. TAP, so
# that "make check" proves it too.
set -u
nm=${NM:-nm}

# A name ends where the line does, or goes on after '_' or '@' where a whole
# family is meant.
forbidden='^(event_|evbuffer_|bufferevent_|evtimer_|evutil_|ares_|ini_|log_)'
forbidden=$forbidden'|^(socket|socketpair|bind|listen|accept4?|connect'
forbidden=$forbidden'|getaddrinfo|getnameinfo|gethostbyname'
forbidden=$forbidden'|shutdown|send|sendto|sendmsg|recv|recvfrom|recvmsg'
forbidden=$forbidden'|p?read(v|64)?|p?write(v|64)?|open(64|at)?|close|fcntl'
forbidden=$forbidden'|ioctl|poll|ppoll|select|epoll_[a-z]+|eventfd'
forbidden=$forbidden'|fopen(64)?|fread|fwrite|fputs|puts|printf|fprintf'
forbidden=$forbidden'|vfprintf|__v?f?printf_chk|perror|syslog|stdout|stderr'
forbidden=$forbidden'|time|gettimeofday|clock|clock_[a-z_]+|timespec_get'
forbidden=$forbidden'|localtime(_r)?|mktime|nanosleep|usleep|sleep'
forbidden=$forbidden'|s?rand(_r|om|48)?|[dlm]rand48|getrandom|getentropy'
forbidden=$forbidden'|arc4random[a-z_]*|rng_[a-z_]+|getenv|secure_getenv'
forbidden=$forbidden'|pthread_[a-z_]+|malloc|calloc|realloc|free|strn?dup'
forbidden=$forbidden'|v?asprintf|__v?asprintf_chk)$'

# $1 number, $2 archive
check() {
	if ! symbols=$("$nm" -u "$2"); then
		echo "not ok $1 - $2 can't be read"
		return 1
	fi
	case $symbols in
	*.o:*) ;;
	*)
		echo "not ok $1 - $2 is empty"
		return 1
		;;
	esac
	bad=$(printf '%s\n' "$symbols" | awk -v bad="$forbidden" '
		/:$/ { member = $0 }
		NF == 2 && $1 ~ /^[Uw]$/ {
			name = $2
			sub(/@.*/, "", name)
			if (name ~ bad)
				print "# " member " " name
		}')
	if [ -n "$bad" ]; then
		echo "not ok $1 - $2 is pure"
		printf '%s\n' "$bad"
		return 1
	fi
	echo "ok $1 - $2 is pure"
}

echo 1..2
status=0
check 1 libproto.a || status=1
check 2 libpolicy.a || status=1
exit $status
