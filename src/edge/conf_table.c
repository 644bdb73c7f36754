/* SPDX-License-Identifier: MIT */
/*
 * conf_table.c: every option, one row each.
 *
 * Decides what may stand in a configuration: names, defaults, bounds, and what
 * people are told about them. All else about an option follows from its row:
 * the parser reads its default from the same text that the manual shows, so
 * the two can't differ.
 */
#include "edge/conf_table.h"

#include "edge/conf_set.h"
#include "edge/conf_value.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define GIB (INT64_C(1) << 30)

#define PROXY(field) .in = CONF_IN_PROXY, .at = offsetof(struct conf, field)
#define DNS(field) .in = CONF_IN_DNS, .at = offsetof(struct conf, field)
#define TLS(field) .in = CONF_IN_TLS, .at = offsetof(struct conf, field)
/* [tls] is the layer below [defaults]. */
#define SERVER_TLS(field) \
	.in = CONF_IN_TLS | CONF_IN_POLICY, \
	.at = offsetof(struct conf_service, field)
#define POLICY(field) \
	.in = CONF_IN_POLICY, .at = offsetof(struct conf_service, policy.field)
#define SERVICE_OR_DEFAULT(field) \
	.in = CONF_IN_POLICY, .at = offsetof(struct conf_service, field)
#define SERVICE(field) \
	.in = CONF_IN_SERVICE, .at = offsetof(struct conf_service, field)

static const char *const log_levels[] = {"err", "warn", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const strategies[] = {"auto", "exponential",
    "response_header", "custom", NULL};
static const char *const adaptives[] = {"off", "aimd", NULL};
static const char *const resets[] = {"never", "idempotent", "always", NULL};
static const char *const tls_words[] = {"tunnel", "intercept", "originate",
    NULL};
static const char *const tls_versions[] = {"1.2", "1.3", NULL};
/* A choice is kept by its place in the list. */
_Static_assert(LOG_ERR == 0 && LOG_DEBUG == 3, "log_levels");
_Static_assert(LOG_TEXT == 0 && LOG_JSON == 1, "log_formats");
_Static_assert(STRATEGY_AUTO == 0 && STRATEGY_EXPONENTIAL == 1 &&
	STRATEGY_RESPONSE_HEADER == 2 && STRATEGY_CUSTOM == 3,
    "strategies");
_Static_assert(ADAPTIVE_OFF == 0 && ADAPTIVE_AIMD == 1, "adaptives");
_Static_assert(RESET_NEVER == 0 && RESET_IDEMPOTENT == 1 && RESET_ALWAYS == 2,
    "resets");
_Static_assert(CONF_TLS_TUNNEL == 0 && CONF_TLS_INTERCEPT == 1 &&
	CONF_TLS_ORIGINATE == 2,
    "tls_words");
_Static_assert(CONF_TLS_1_2 == 0 && CONF_TLS_1_3 == 1, "tls_versions");

#define PLACES_TAKES \
	"a list of loopback, link-local, metadata, multicast, reserved, private, cgnat, " \
	"addresses, " \
	"blocks (10.0.0.0/8), host patterns (api.example.com, *.example.com, host:port), or *; " \
	"or none"

/* Rules about answers. */
#define RULES .list = true, .lines = true, .none = true, .def = "none"
#define RULE_TAKES \
	"rules STATUS [header NAME test | json PATH test | body TEXT, joined by and], one a line " \
	"(docs/RULES.md); or none"

#define FILE_TAKES "the path of a file, which begins with /, or none"

/* clang-format off */
const struct conf_option conf_options[] = {
{
	PROXY(listen), .key = "listen", .set = conf_set_listen, .list = true,
	.restart = true, .def = "127.0.0.1:3180",
	.takes = "a list of HOST:PORT, [v6]:PORT (literal addresses; port 0: any free one), "
	        "unix:/path; tls: or transparent: may stand before HOST:PORT",
	.help = "Where clients connect. tls: they speak TLS to abided itself (a proxy over HTTPS; "
	        "listen_cert and listen_key in [tls]). transparent: connections to somebody else "
	        "that netfilter redirects here; clients need no proxy setting.",
}, {
	PROXY(workers), .key = "workers", .set = conf_set_count,
	.min = 1, .max = 256, .word = "auto", .word_value = 0,
	.restart = true, .def = "auto",
	.help = "Worker threads. auto: one per processor that the process may use.",
}, {
	PROXY(allow_clients), .key = "allow_clients", .set = conf_set_nets, .list = true,
	.none = true,
	.def = "127.0.0.0/8, ::1",
	.takes = "a list of addresses and blocks (10.0.0.0/8), or none",
	.help = "Client addresses that are served. Clients of a unix socket always are: the "
	        "rights of the socket's directory decide.",
}, {
	PROXY(auth), .key = "auth", .set = conf_set_file, .secret = true, .def = "none",
	.takes = FILE_TAKES,
	.help = "Who may use the proxy: a file of user:hash lines, as htpasswd -B writes "
	        "them: bcrypt, yescrypt or SHA-crypt. "
	        "Clients give name and password in Proxy-Authorization (Basic), which never goes "
	        "upstream. none: nobody is asked.",
}, {
	PROXY(deny), .key = "deny_destinations", .set = conf_set_places, .list = true, .none = true,
	.def = "loopback, link-local, metadata, multicast, reserved",
	.takes = PLACES_TAKES,
	.help = "Where no request may go. A name is checked as it is given, and by each address "
	        "it resolves to.",
}, {
	PROXY(allow), .key = "allow_destinations", .set = conf_set_places, .list = true,
	.none = true,
	.def = "none",
	.takes = PLACES_TAKES,
	.help = "Exceptions: what is listed here may be reached although deny_destinations has it.",
}, {
	PROXY(connect_ports), .key = "connect_ports", .set = conf_set_ports, .list = true,
	.none = true,
	.def = "443",
	.takes = "a list of ports from 1 to 65535, or *; or none",
	.help = "Ports that CONNECT may tunnel to. A port that the hosts of a service name for a "
	        "host is allowed for that host as well.",
}, {
	PROXY(max_connections), .key = "max_connections", .set = conf_set_count,
	.max = 10000000, .def = "0",
	.help = "Client connections at a time. 0: as many as the limit on open files "
	        "(RLIMIT_NOFILE) has room for.",
}, {
	PROXY(max_parked), .key = "max_parked", .set = conf_set_count,
	.min = 1, .max = 10000000, .def = "100000",
	.help = "Requests that may wait at a time, over all services. One more is answered 503.",
}, {
	PROXY(drain_timeout_ms), .key = "drain_timeout", .set = conf_set_duration,
	.max = HOUR, .def = "30s",
	.help = "How long a stop (SIGTERM) waits for requests under way.",
}, {
	PROXY(access_log), .key = "access_log", .set = conf_set_log_path, .def = "-",
	.takes = "-, off, or the path of a file",
	.help = "Where the line about each finished request goes. -: with the log, to standard "
	        "error.",
}, {
	PROXY(log_level), .key = "log_level", .set = conf_set_choice, .choices = log_levels,
	.def = "info",
	.help = "How much is logged: that level and the more urgent ones.",
}, {
	PROXY(log_format), .key = "log_format", .set = conf_set_choice, .choices = log_formats,
	.def = "text",
	.help = "How log lines look.",
}, {
	PROXY(spill_dir), .key = "spill_dir", .set = conf_set_dir, .def = "auto",
	.takes = "the path of a directory that may be written to, or auto",
	.help = "Where request bodies over body_buffer are kept until they are sent, in files "
	        "without a name. auto: $TMPDIR, else /var/tmp.",
}, {
	.in = CONF_IN_PROXY, .key = "include", .set = conf_set_include, .list = true,
	.example = "conf.d/*.conf",
	.takes = "a list of paths, which may hold * ? [ ]",
	.help = "More files to read, looked for beside this one. Files that a pattern finds are "
	        "read in the order of their names; a pattern may find none, a plain path must be "
	        "there.",
}, {
	PROXY(preset_dir), .key = "preset_dir", .set = conf_set_preset_dir, .def = "none",
	.takes = "the path of a directory, which begins with /, or none",
	.help = "Presets of your own, files NAME.conf; they win over the built-in ones of that "
	        "name.",
}, {
	TLS(ca_cert), .key = "ca_cert", .set = conf_set_file, .def = "none",
	.takes = FILE_TAKES,
	.help = "Certificate (PEM) of the CA that tls = intercept makes certificates with. "
	        "abidectl ca init makes one. Goes with ca_key.",
}, {
	TLS(ca_key), .key = "ca_key", .set = conf_set_file, .secret = true, .def = "none",
	.takes = FILE_TAKES,
	.help = "Its private key (PEM). Nobody but the owner may have a right to the file.",
}, {
	TLS(listen_cert), .key = "listen_cert", .set = conf_set_file, .def = "none",
	.takes = FILE_TAKES,
	.help = "Certificate (PEM, its chain behind it) that abided shows to clients of a tls: "
	        "listener. Goes with listen_key.",
}, {
	TLS(listen_key), .key = "listen_key", .set = conf_set_file, .secret = true, .def = "none",
	.takes = FILE_TAKES,
	.help = "Its private key (PEM). Nobody but the owner may have a right to the file.",
}, {
	TLS(min_version), .key = "min_version", .set = conf_set_choice, .choices = tls_versions,
	.def = "1.2",
	.help = "Oldest version of TLS that is spoken, with clients and with servers.",
}, {
	SERVER_TLS(upstream_ca), .key = "upstream_ca", .set = conf_set_file, .local = true,
	.def = "system",
	.takes = "the path of a file, which begins with /, or system",
	.help = "Certificates (PEM) of the CAs that a server's certificate must come from, where "
	        "abided itself speaks TLS with servers. system: those that the machine trusts.",
}, {
	SERVER_TLS(upstream_cert), .key = "upstream_cert", .set = conf_set_file, .local = true,
	.def = "none",
	.takes = FILE_TAKES,
	.help = "Certificate (PEM, its chain behind it) that abided shows to servers that ask for "
	        "one. Goes with upstream_key. none, in a service: none is shown, whatever [tls] "
	        "and [defaults] say.",
}, {
	SERVER_TLS(upstream_key), .key = "upstream_key", .set = conf_set_file, .local = true,
	.secret = true, .def = "none",
	.takes = FILE_TAKES,
	.help = "Its private key (PEM). Nobody but the owner may have a right to the file.",
}, {
	DNS(dns_servers), .key = "servers", .set = conf_set_servers, .list = true,
	.alone = {"system"}, .def = "system",
	.takes = "a list of ADDRESS[:PORT] and [v6]:PORT, or system",
	.help = "Name servers to ask. system: those of /etc/resolv.conf.",
}, {
	DNS(dns_timeout_ms), .key = "timeout", .set = conf_set_duration,
	.min = 100, .max = 60 * SECOND, .def = "5s",
	.help = "Time for one name to be resolved.",
}, {
	DNS(dns_cache_ttl_max_ms), .key = "cache_ttl_max", .set = conf_set_duration,
	.max = DAY, .def = "60s",
	.help = "Longest time that an answer is kept, whatever it says itself. 0: none is.",
}, {
	POLICY(backoff.strategy), .key = "strategy", .set = conf_set_choice,
	.choices = strategies, .def = "auto",
	.help = "How long to wait before the next try. exponential: own back-off, never less than "
	        "the server's hint. response_header: the hint alone, own back-off where there is "
	        "none. auto: the longer of both. custom: what a script says (script), never less "
	        "than the hint.",
}, {
	SERVICE_OR_DEFAULT(script_file), .key = "script", .set = conf_set_file, .local = true,
	.takes = FILE_TAKES, .def = "none",
	.help = "Lua file for strategy = custom. It defines get_delay(ctx), which is asked about "
	        "each throttled answer: it returns ms to wait, nil for own back-off or false to "
	        "pass the answer on.",
}, {
	POLICY(verdict.retry_on), .key = "retry_on", .set = conf_set_statuses, .list = true,
	.none = true,
	.min = 400, .max = 599, .def = "429, 503, 504",
	.takes = "a list of statuses from 400 to 599, or none",
	.help = "Statuses that mean \"throttled\".",
}, {
	POLICY(verdict.max_retries), .key = "max_retries", .set = conf_set_count, .max = 1000,
	.def = "4",
	.help = "Tries after the first one. 0: none, throttled answers are passed on.",
}, {
	POLICY(backoff.base_ms), .key = "base_delay", .set = conf_set_duration, .max = HOUR,
	.def = "1s",
	.help = "Own back-off: the n-th retry waits up to base_delay x (2^n - 1).",
}, {
	POLICY(backoff.max_ms), .key = "max_delay", .set = conf_set_duration, .max = DAY,
	.def = "10s",
	.help = "Longest own back-off. It never shortens a hint.",
}, {
	POLICY(backoff.jitter_ms), .key = "jitter", .set = conf_set_duration, .max = HOUR,
	.def = "1500ms",
	.help = "Up to this much is added to a wait, at random.",
}, {
	POLICY(hint), .key = "wait_headers", .set = conf_set_hints, .list = true, .none = true,
	.def = "retry-after-ms:ms, x-ms-retry-after-ms:ms, x-amz-retry-after:ms, retry-after:auto, "
	       "ratelimit:sf, ratelimit-reset:auto, x-ratelimit-reset-after:s, "
	       "x-ratelimit-reset:auto, x-rate-limit-reset:auto, x-ratelimit-reset-requests:auto, "
	       "x-ratelimit-reset-tokens:auto, anthropic-ratelimit-*-reset:auto",
	.takes = "a list of NAME:FORMAT with FORMAT one of auto, s, ms, http-date, epoch, "
	        "epoch-ms, iso8601, duration, js-date, text, sf, pairs; or none",
	.help = "Response fields that say how long to wait; the first with a valid value counts. "
	        "A field with reset in its name counts after all others, and only where nothing "
	        "remains of its limit; FORMAT! ends that. * in NAME stands for any characters. "
	        "none: hints are ignored.",
}, {
	POLICY(when.throttled), .key = "throttled_when", .set = conf_set_rules, RULES,
	.takes = RULE_TAKES,
	.help = "Answers that mean \"throttled\" although their status is not in retry_on: 403 "
	        "header x-ratelimit-remaining = 0, or 400 body ThrottlingException, or 200 json "
	        "error = ratelimited. One rule a line.",
}, {
	POLICY(when.permanent), .key = "permanent_when", .set = conf_set_rules, RULES,
	.takes = RULE_TAKES,
	.help = "Refusals that no wait would mend: 429 json error.code = insufficient_quota. They "
	        "are passed on at once. Asked before throttled_when and retry_on.",
}, {
	POLICY(when.wait_body), .key = "wait_body", .set = conf_set_wait_body, RULES,
	.takes = "rules that end in json PATH : FORMAT or body TEXT : FORMAT, one a line, FORMAT "
	        "being one of wait_headers; or none",
	.help = "Where the body of a refusal says how long to wait: 429 json "
	        "error.details.*.retryDelay : duration, or 429 body \"Please retry after \" : "
	        "text. For refusals whose fields do not tell.",
}, {
	POLICY(when.wait), .key = "wait_when", .set = conf_set_wait_when, RULES,
	.takes = "rules that end in : DURATION (ms, s, min, h, d), one a line; or none",
	.help = "How long to wait after refusals that do not tell: 403 body \"secondary rate "
	        "limit\" : 60s. The longest of those that hold counts.",
}, {
	POLICY(deadline_ms), .key = "deadline", .set = conf_set_duration,
	.min = 1, .max = 35 * DAY, .def = "60s",
	.help = "Time a request has in all, from its head to the head of the final answer: line, "
	        "waits and tries.",
}, {
	POLICY(max_wait_ms), .key = "max_wait", .set = conf_set_duration,
	.max = 35 * DAY, .word = "deadline", .word_value = CONF_AS_DEADLINE, .def = "deadline",
	.help = "Longest single wait. An answer that asks for more is passed on at once, never "
	        "retried early.",
}, {
	POLICY(service.failure_cutoff), .key = "failure_cutoff", .set = conf_set_count,
	.max = 1000000, .def = "5",
	.help = "Consecutive throttled answers of a service after which a try is the last one. 0: "
	        "no cut-off.",
}, {
	POLICY(verdict), .key = "retry_non_idempotent", .set = conf_set_non_idempotent,
	.list = true,
	.alone = {"never", "always"},
	.min = 200, .max = 599, .def = "429",
	.takes = "a list of statuses from 200 to 599, or never, or always",
	.help = "Statuses for which POST, PATCH and the like are repeated: those that mean that "
	        "the server refused before it did anything.",
}, {
	POLICY(verdict.retry_connect), .key = "retry_connect", .set = conf_set_flag, .def = "yes",
	.help = "Retry where no connection could be made. Nothing was sent, so any method is "
	        "repeated.",
}, {
	POLICY(verdict.retry_reset), .key = "retry_reset", .set = conf_set_choice,
	.choices = resets, .def = "idempotent",
	.help = "Retry where the connection was lost before the answer's head.",
}, {
	POLICY(quota.percent), .key = "learn_quota", .set = conf_set_share, .def = "50%",
	.takes = "PERCENT% (1 to 100), or off",
	.help = "Answers that are no refusals may tell how much of a quota is left and until when "
	        "(see wait_headers). At this share of it what is left is spread over the time; "
	        "with nothing left nobody starts before there is more. A request that can't wait "
	        "so long goes at once. off: nothing is learned.",
}, {
	POLICY(quota.pauses), .key = "learn_retry_after", .set = conf_set_flag, .def = "yes",
	.help = "Retry-After on a success (not 201 or 202: there it says when the work will be "
	        "done) delays the next request of the same state.",
}, {
	POLICY(lesson.bucket), .key = "bucket_header", .set = conf_set_field, .def = "none",
	.takes = "the name of a response field, or none",
	.help = "The field in which the service names the bucket that a request has counted in "
	        "(X-RateLimit-Bucket). Routes (method and path, ids in it taken for one) that "
	        "it names alike share a state, others don't; up to max_keys are remembered.",
}, {
	POLICY(lesson.scope), .key = "scope_header", .set = conf_set_field, .def = "none",
	.takes = "the name of a response field, or none",
	.help = "The field that says whom a refusal is about (X-RateLimit-Scope). global (or "
	        "true): all states of the service are held up; where key tells accounts apart, "
	        "those of this one. shared: it counts for no failure_cutoff.",
}, {
	POLICY(budget), .key = "retry_budget", .set = conf_set_budget, .def = "off",
	.takes = "PERCENT% (1 to 1000), NUMBER/UNIT with UNIT ms, s, min, h or day, or both with a "
	        "+ between; or off",
	.help = "How many retries there may be, over all requests of the service: so many per "
	        "hundred requests of the last 10 s, and so many per time on top (20% + 10/s). One "
	        "more is not made: the answer is passed on.",
}, {
	POLICY(bucket), .key = "rate", .set = conf_set_rate, .list = true, .none = true,
	.def = "none",
	.takes = "a list of NUMBER/UNIT with UNIT ms, s, min, h or day, each may end in \"burst "
	        "NUMBER\"; or none",
	.help = "How many tries may start per time. Several rates hold at once.",
}, {
	SERVICE_OR_DEFAULT(burst),
	.key = "burst", .set = conf_set_count, .min = 1, .max = 1000000000, .def = "1",
	.help = "How many tries may start at once, for rates without a burst of their own.",
}, {
	POLICY(adapt.mode), .key = "adaptive", .set = conf_set_choice,
	.choices = adaptives, .def = "off",
	.help = "Learn the pace of a service that does not tell its limits from what it serves and "
	        "what it refuses. aimd: cut when refused, grown again while it is the limit "
	        "(docs/ADAPTIVE.md).",
}, {
	POLICY(adapt.floor_per_ms), .key = "adaptive_floor", .set = conf_set_floor,
	.def = "1/min",
	.takes = "NUMBER/UNIT with UNIT ms, s, min, h or day",
	.help = "The learned pace never goes below this.",
}, {
	POLICY(concurrency), .key = "concurrency", .set = conf_set_count, .max = 1000000,
	.def = "0",
	.help = "Tries under way at a time. 0: no limit.",
}, {
	POLICY(queue), .key = "queue", .set = conf_set_count, .max = 10000000, .def = "10000",
	.help = "Places in the waiting line of a service. A request that finds none is answered "
	        "503. 0: nobody waits.",
}, {
	POLICY(queue_timeout_ms), .key = "queue_timeout", .set = conf_set_duration,
	.max = 35 * DAY, .word = "deadline", .word_value = CONF_AS_DEADLINE, .def = "deadline",
	.help = "Longest time in the waiting line; after it the request is answered 503.",
}, {
	POLICY(body_buffer_bytes), .key = "body_buffer", .set = conf_set_size, .max = GIB,
	.def = "1MiB",
	.help = "How much of a request body is kept in memory, to be sent again.",
}, {
	POLICY(body_spill_bytes), .key = "body_spill", .set = conf_set_size, .max = 1024 * GIB,
	.def = "64MiB",
	.help = "How much more is kept on disk (spill_dir). A body over both is sent once, and "
	        "not retried.",
}, {
	.in = CONF_IN_DEFAULTS, .at = offsetof(struct conf_service, policy.head_timeout_ms),
	.key = "head_timeout", .set = conf_set_duration, .min = 1, .max = DAY, .def = "10s",
	.help = "Time for a client to send a request head. It belongs to no service: which one it "
	        "is, the head tells.",
}, {
	POLICY(connect_timeout_ms), .key = "connect_timeout", .set = conf_set_duration,
	.min = 1, .max = DAY, .def = "10s",
	.help = "Time for a connection to the server.",
}, {
	POLICY(response_timeout_ms), .key = "response_timeout", .set = conf_set_duration,
	.min = 1, .max = DAY, .def = "60s",
	.help = "Time from the end of the request to the head of the answer.",
}, {
	POLICY(idle_timeout_ms), .key = "idle_timeout", .set = conf_set_duration,
	.min = 1, .max = 35 * DAY, .def = "60s",
	.help = "Longest time without a byte while bodies or a tunnel move, and between a "
	        "client's requests.",
}, {
	POLICY(heartbeat_ms), .key = "heartbeat", .set = conf_set_duration,
	.min = 100, .max = HOUR, .word = "off", .word_value = 0, .def = "off",
	.help = "While a request waits, its client gets an interim answer (102) this often: for "
	        "clients whose own timeout runs while nothing comes. Not every client can take "
	        "one.",
}, {
	POLICY(stream_peek_bytes), .key = "stream_peek", .set = conf_set_size,
	.max = WHEN_BODY_MAX, .def = "0",
	.help = "How much of an event stream (text/event-stream) is held back until its first "
	        "event is whole, for 2 s at most, so that a rule of throttled_when or "
	        "permanent_when can look at it. 0: streams go on at once, and no rule sees them.",
}, {
	POLICY(allow_half_close), .key = "allow_half_close", .set = conf_set_flag, .def = "no",
	.help = "no: a client that closes its sending side while it waits has left. yes: only a "
	        "reset says so.",
}, {
	POLICY(allow_overrides), .key = "allow_overrides", .set = conf_set_flag, .def = "no",
	.help = "Heed Abide-Max-Wait and the like in requests. They are taken out in either case.",
}, {
	POLICY(dry_run), .key = "dry_run", .set = conf_set_flag, .def = "no",
	.help = "Decide, log and count as always, but wait for nothing and pass every answer on.",
}, {
	SERVICE_OR_DEFAULT(tls), .key = "tls", .set = conf_set_choice, .choices = tls_words,
	.def = "tunnel",
	.help = "What is done about TLS. tunnel: CONNECT is passed through, and what is inside is "
	        "not seen. intercept: abided answers CONNECT in the server's place, with a "
	        "certificate of its own CA (ca_cert), which clients must trust; requests inside "
	        "are treated like any other. originate: clients speak http:// and abided speaks "
	        "TLS with the server. In [defaults] only tunnel may stand; a service with hosts = "
	        "* is about all hosts that no other service names.",
}, {
	SERVICE_OR_DEFAULT(parent), .key = "parent_proxy", .set = conf_set_parent, .local = true,
	.secret = true, .def = "none",
	.takes = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT (what is special in a URL as "
	        "%XX), or none",
	.help = "Another proxy, through which servers are reached. With a password in it, nobody "
	        "but the owner should have a right to this file.",
}, {
	SERVICE_OR_DEFAULT(no_proxy), .key = "no_proxy", .set = conf_set_no_proxy, .list = true,
	.local = true, .none = true,
	.def = "none",
	.takes = PLACES_TAKES,
	.help = "Servers that are reached without parent_proxy. A name is looked at as it is "
	        "given, not by its addresses.",
}, {
	POLICY(max_keys), .key = "max_keys", .set = conf_set_count, .min = 1, .max = 10000000,
	.def = "1000",
	.help = "How many states (see key; in [defaults]: of how many servers) are kept; the one "
	        "unused longest goes first.",
}, {
	SERVICE(hosts), .key = "hosts", .set = conf_set_hosts, .list = true,
	.example = "api.example.com, *.api.example.com",
	.takes = "a list of host, host:port, [v6]:port, *.suffix, *.suffix:port, or *",
	.help = "The servers that this service is about. The most specific pattern wins.",
}, {
	SERVICE(preset), .key = "preset", .set = conf_set_preset, .local = true, .def = "none",
	.takes = "the name of a preset, or none",
	.help = "Ready-made settings for a well-known service, its hosts among them; what the "
	        "service gives itself counts for more. \"abidectl presets\" lists them.",
}, {
	SERVICE(route), .key = "route", .set = conf_set_route, .local = true,
	.example = "/example/",
	.takes = "a path that begins and ends with /",
	.help = "Requests made to abided itself below this path go to the first plain host of the "
	        "service, the path taken off: clients need no proxy setting.",
}, {
	SERVICE(policy), .key = "key", .set = conf_set_key, .list = true, .none = true,
	    .def = "none",
	.takes = "a list of up to 4 of host, header:NAME, path:DEPTH (1 to 16), query:NAME, "
	        "client; or none",
	.help = "What, beside the service, tells one state from another: limits that hold per API "
	        "key, say. none: one state for the whole service.",
},
};
/* clang-format on */

const size_t conf_noptions = sizeof(conf_options) / sizeof(conf_options[0]);
_Static_assert(sizeof(conf_options) / sizeof(conf_options[0]) <=
	CONF_OPTIONS_MAX,
    "CONF_OPTIONS_MAX");
