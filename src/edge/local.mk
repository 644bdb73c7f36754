# SPDX-License-Identifier: MIT
EDGE_FILES = \
	src/edge/access.c src/edge/access.h \
	src/edge/auth.c src/edge/auth.h \
	src/edge/auth_id.c src/edge/auth_id.h \
	src/edge/chan.c src/edge/chan.h \
	src/edge/checker.c src/edge/checker.h \
	src/edge/client.c src/edge/client.h \
	src/edge/client_body.c \
	src/edge/client_end.c \
	src/edge/client_first.c \
	src/edge/client_head.c \
	src/edge/client_login.c src/edge/client_login.h \
	src/edge/client_tls.c \
	src/edge/daemon.c src/edge/daemon.h \
	src/edge/exchange.c src/edge/exchange.h \
	src/edge/exchange_ports.c \
	src/edge/htpasswd.c src/edge/htpasswd.h \
	src/edge/heartbeat.c src/edge/heartbeat.h \
	src/edge/intake.c src/edge/intake.h \
	src/edge/intake_key.c \
	src/edge/listen.c src/edge/listen.h \
	src/edge/loglimit.c src/edge/loglimit.h \
	src/edge/message.c src/edge/message.h \
	src/edge/outbuf.c src/edge/outbuf.h \
	src/edge/parent.c src/edge/parent.h \
	src/edge/peek.c src/edge/peek.h \
	src/edge/pool.c src/edge/pool.h \
	src/edge/reach.c src/edge/reach.h \
	src/edge/receive.c \
	src/edge/redirect.c src/edge/redirect.h \
	src/edge/relay.c src/edge/relay.h \
	src/edge/script.c src/edge/script.h \
	src/edge/script_ask.c \
	src/edge/script_box.c src/edge/script_box.h \
	src/edge/script_ctx.c src/edge/script_ctx.h \
	src/edge/script_pattern.c src/edge/script_pattern.h \
	src/edge/script_text.c src/edge/script_text.h \
	src/edge/send.c src/edge/send.h \
	src/edge/tunnel.c src/edge/tunnel.h \
	src/edge/upstream.c src/edge/upstream.h \
	src/edge/ways.c src/edge/ways.h \
	src/edge/worker.c src/edge/worker.h
