/* SPDX-License-Identifier: MIT */
/* What a configuration may not say, and what people are told about it. */
#include "conf_rig.h"

struct bad {
	const char *text, *problems;
};

static void
check(const struct bad *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rig_bad(v[i].text, v[i].problems);
}
#define CHECK(v) check((v), sizeof(v) / sizeof((v)[0]))

#define D_1H "; it takes a duration (ms, s, min, h, d) from 0 to 1h\n"
#define SIZE_1G "; it takes a size (B, KiB, MiB, GiB) from 0 to 1GiB\n"
#define RATES \
	"; it takes a list of NUMBER/UNIT with UNIT ms, s, min, h or day, " \
	"each may end in \"burst NUMBER\"; or none\n"
#define LISTENS \
	"; it takes a list of HOST:PORT, [v6]:PORT (literal addresses; port " \
	"0: any free one), unix:/path; tls: or transparent: may stand before " \
	"HOST:PORT\n"
#define NETS "; it takes a list of addresses and blocks (10.0.0.0/8), or none\n"
#define PLACES \
	"; it takes a list of loopback, link-local, metadata, multicast, " \
	"reserved, private, cgnat, addresses, blocks (10.0.0.0/8), host " \
	"patterns (api.example.com, *.example.com, host:port), or *; or none\n"
#define STATUSES "; it takes a list of statuses from 400 to 599, or none\n"
#define KEYS \
	"; it takes a list of up to 4 of host, header:NAME, path:DEPTH (1 to " \
	"16), query:NAME, client; or none\n"
#define HINTS \
	"; it takes a list of NAME:FORMAT with FORMAT one of auto, s, ms, " \
	"http-date, epoch, epoch-ms, iso8601, duration, js-date, text, sf, " \
	"pairs; or none\n"
#define SERVERS "; it takes a list of ADDRESS[:PORT] and [v6]:PORT, or system\n"
#define HOSTS \
	"; it takes a list of host, host:port, [v6]:port, *.suffix, " \
	"*.suffix:port, or *\n"

static void
section_that_is_unknown_is_told_with_the_nearest(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[proxi]\nworkers = abc\n",
		"f:1: unknown section [proxi]; did you mean [proxy]?\n"},
	    {"[services x]\n",
		"f:1: unknown section [services x]; did you mean [service "
		"NAME]?\n"},
	    {"[admin]\n",
		"f:1: unknown section [admin]; there are [proxy], [tls], "
		"[dns], [defaults] and [service NAME]\n"},
	    {"[]\n",
		"f:1: unknown section []; there are [proxy], [tls], [dns], "
		"[defaults] and [service NAME]\n"},
	    {"[service]\n",
		"f:1: [service]: a service needs a name: [service NAME]\n"},
	    {"[service ]\n",
		"f:1: [service]: a service needs a name: [service NAME]\n"},
	    {"[service a b]\n",
		"f:1: [service a b]: the name of a service may hold letters, "
		"digits, '.', '_' and '-'\n"},
	};
	CHECK(v);
}

static void
key_that_is_unknown_is_told_with_the_nearest(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[proxy]\nworker = 2\n",
		"f:2: unknown key 'worker' in [proxy]; did you mean "
		"'workers'?\n"},
	    {"[defaults]\nmax_retry = 2\n",
		"f:2: unknown key 'max_retry' in [defaults]; did you mean "
		"'max_retries'?\n"},
	    {"[defaults]\nbrust = 2\n",
		"f:2: unknown key 'brust' in [defaults]; did you mean "
		"'burst'?\n"},
	    /* Of three letters one edit may be wrong, and a swap is one. */
	    {"[service a]\nhosts = a\nkye = host\n",
		"f:3: unknown key 'kye' in [service NAME]; did you mean "
		"'key'?\n"},
	    {"[dns]\nfrobnicate = 2\n",
		"f:2: unknown key 'frobnicate' in [dns]; the example "
		"configuration lists all there are\n"},
	    {"[proxy]\nrate = 1/s\n",
		"f:2: 'rate' has no place in [proxy]; it belongs in [defaults] "
		"or [service NAME]\n"},
	    {"[defaults]\nhosts = a\n",
		"f:2: 'hosts' has no place in [defaults]; it belongs in "
		"[service NAME]\n"},
	    {"[service a]\nhosts = a\nhead_timeout = 1s\n",
		"f:3: 'head_timeout' has no place in [service NAME]; it "
		"belongs in [defaults]\n"},
	    /* What continues an unknown key is not reported again. */
	    {"[proxy]\nwrokers = 1\n 2\n 3\n",
		"f:2: unknown key 'wrokers' in [proxy]; did you mean "
		"'workers'?\n"},
	};
	CHECK(v);
}

static void
number_that_is_none_or_out_of_range_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[proxy]\nworkers = abc\n",
		"f:2: workers 'abc': it is no whole number; it takes a whole "
		"number from 1 to 256, or auto\n"},
	    {"[proxy]\nworkers = 0\n",
		"f:2: workers '0': out of range; it takes a whole number from "
		"1 to 256, or auto\n"},
	    {"[proxy]\nworkers = 257\n",
		"f:2: workers '257': out of range; it takes a whole number "
		"from 1 to 256, or auto\n"},
	    {"[proxy]\nworkers = -1\n",
		"f:2: workers '-1': it is no whole number; it takes a whole "
		"number from 1 to 256, or auto\n"},
	    {"[proxy]\nworkers = 99999999999999999999\n",
		"f:2: workers '99999999999999999999': out of range; it takes a "
		"whole number from 1 to 256, or auto\n"},
	    {"[proxy]\nworkers =\n",
		"f:2: workers '': the value is missing; it takes a whole "
		"number from 1 to 256, or auto\n"},
	    {"[defaults]\nmax_retries = 1001\n",
		"f:2: max_retries '1001': out of range; it takes a whole "
		"number from 0 to 1000\n"},
	    {"[proxy]\nlog_level = loud\n",
		"f:2: log_level 'loud': no such choice; it takes err, warn, "
		"info, or debug\n"},
	    {"[defaults]\nretry_connect = maybe\n",
		"f:2: retry_connect 'maybe': it is neither yes nor no; it "
		"takes yes or no\n"},
	};
	CHECK(v);
}

static void
duration_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[defaults]\njitter = 5\n",
		"f:2: jitter '5': the unit is missing" D_1H},
	    {"[defaults]\njitter = 5 s\n",
		"f:2: jitter '5 s': a space stands before the unit" D_1H},
	    {"[defaults]\njitter = 5m\n",
		"f:2: jitter '5m': no such unit" D_1H},
	    {"[defaults]\njitter = 5S\n",
		"f:2: jitter '5S': no such unit" D_1H},
	    {"[defaults]\njitter = 1.5.5s\n",
		"f:2: jitter '1.5.5s': two decimal points" D_1H},
	    {"[defaults]\njitter = .5s\n",
		"f:2: jitter '.5s': it does not begin with a digit" D_1H},
	    {"[defaults]\njitter = 5.s\n",
		"f:2: jitter '5.s': 1 to 9 digits follow a decimal point" D_1H},
	    {"[defaults]\njitter = 1.0000000001s\n",
		"f:2: jitter '1.0000000001s': 1 to 9 digits follow a decimal "
		"point" D_1H},
	    {"[defaults]\njitter = 0.0005s\n",
		"f:2: jitter '0.0005s': the fraction is too fine" D_1H},
	    {"[defaults]\njitter = -5s\n",
		"f:2: jitter '-5s': it does not begin with a digit" D_1H},
	    {"[defaults]\njitter = 3600001ms\n",
		"f:2: jitter '3600001ms': out of range" D_1H},
	    {"[defaults]\njitter = 1000000001s\n",
		"f:2: jitter '1000000001s': the number is too large; use a "
		"larger unit" D_1H},
	    {"[defaults]\ndeadline = 0\n",
		"f:2: deadline '0': out of range; it takes a duration (ms, s, "
		"min, h, d) from 1ms to 35d\n"},
	    {"[dns]\ntimeout = 99ms\n",
		"f:2: timeout '99ms': out of range; it takes a duration (ms, "
		"s, min, h, d) from 100ms to 1min\n"},
	};
	CHECK(v);
}

static void
size_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[defaults]\nbody_buffer = 64\n",
		"f:2: body_buffer '64': the unit is missing" SIZE_1G},
	    {"[defaults]\nbody_buffer = 64k\n",
		"f:2: body_buffer '64k': units are spelled B, KiB, MiB, GiB, "
		"powers of 1024" SIZE_1G},
	    {"[defaults]\nbody_buffer = 64MB\n",
		"f:2: body_buffer '64MB': units are spelled B, KiB, MiB, GiB, "
		"powers of 1024" SIZE_1G},
	    {"[defaults]\nbody_buffer = 64mib\n",
		"f:2: body_buffer '64mib': units are spelled B, KiB, MiB, GiB, "
		"powers of 1024" SIZE_1G},
	    {"[defaults]\nbody_buffer = 64 KiB\n",
		"f:2: body_buffer '64 KiB': a space stands before the "
		"unit" SIZE_1G},
	    {"[defaults]\nbody_buffer = 0.5B\n",
		"f:2: body_buffer '0.5B': the fraction is too fine" SIZE_1G},
	    {"[defaults]\nbody_buffer = 1025MiB\n",
		"f:2: body_buffer '1025MiB': out of range" SIZE_1G},
	};
	CHECK(v);
}

static void
rate_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[defaults]\nrate = 90\n",
		"f:2: rate '90': a rate is NUMBER/UNIT" RATES},
	    {"[defaults]\nrate = 90/minute\n",
		"f:2: rate '90/minute': no such unit" RATES},
	    {"[defaults]\nrate = 90/\n", "f:2: rate '90/': no such unit" RATES},
	    {"[defaults]\nrate = 0/s\n",
		"f:2: rate '0/s': a rate of 0 would let nothing through" RATES},
	    {"[defaults]\nrate = fast\n",
		"f:2: rate 'fast': it does not begin with a digit" RATES},
	    {"[defaults]\nrate = 1000000001/s\n",
		"f:2: rate '1000000001/s': the number is too large; use a "
		"larger unit" RATES},
	    {"[defaults]\nrate = 0.000000001/day\n",
		"f:2: rate '0.000000001/day': the rate is too large, too small "
		"or too fine" RATES},
	    {"[defaults]\nrate = 1/s bust 3\n",
		"f:2: rate '1/s bust 3': only \"burst NUMBER\" may follow the "
		"rate" RATES},
	    {"[defaults]\nrate = 1/s burst\n",
		"f:2: rate '1/s burst': the burst is no whole number from 1 to "
		"1000000000" RATES},
	    {"[defaults]\nrate = 1/s burst 0\n",
		"f:2: rate '1/s burst 0': the burst is no whole number from 1 "
		"to 1000000000" RATES},
	    {"[defaults]\nrate = 1/s burst 3 4\n",
		"f:2: rate '1/s burst 3 4': the burst is no whole number from "
		"1 to 1000000000" RATES},
	    {"[defaults]\nrate = 1/s, none\n",
		"f:2: rate 'none': nothing may stand beside this word\n"},
	    {"[defaults]\nrate = 1/s,1/s,1/s,1/s,1/s,1/s,1/s,1/s,9/s\n",
		"f:2: rate '9/s': more than 8 rates" RATES},
	};
	CHECK(v);
}

static void
address_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[proxy]\nlisten = 127.0.0.1\n",
		"f:2: listen '127.0.0.1': the port is missing" LISTENS},
	    {"[proxy]\nlisten = ::1\n",
		"f:2: listen '::1': the port is missing" LISTENS},
	    {"[proxy]\nlisten = [::1]\n",
		"f:2: listen '[::1]': the port is missing" LISTENS},
	    {"[proxy]\nlisten = [::1]x\n",
		"f:2: listen '[::1]x': brackets enclose an IPv6 "
		"address" LISTENS},
	    {"[proxy]\nlisten = [127.0.0.1]:1\n",
		"f:2: listen '[127.0.0.1]:1': brackets enclose an IPv6 "
		"address" LISTENS},
	    {"[proxy]\nlisten = :3180\n",
		"f:2: listen ':3180': no address; every one is 0.0.0.0 and "
		"[::]" LISTENS},
	    {"[proxy]\nlisten = *:3180\n",
		"f:2: listen '*:3180': no address; every one is 0.0.0.0 and "
		"[::]" LISTENS},
	    {"[proxy]\nlisten = localhost:3180\n",
		"f:2: listen 'localhost:3180': an address, not a name; "
		"127.0.0.1 or [::1]" LISTENS},
	    {"[proxy]\nlisten = proxy.test:3180\n",
		"f:2: listen 'proxy.test:3180': it is no IPv4 or IPv6 "
		"address" LISTENS},
	    {"[proxy]\nlisten = 127.0.0.1:65536\n",
		"f:2: listen '127.0.0.1:65536': a port is a number from 0 to "
		"65535" LISTENS},
	    {"[proxy]\nlisten = 127.0.0.1:http\n",
		"f:2: listen '127.0.0.1:http': a port is a number from 0 to "
		"65535" LISTENS},
	    {"[proxy]\nlisten = unix:run/a\n",
		"f:2: listen 'unix:run/a': a socket's path begins with "
		"/" LISTENS},
	    {"[proxy]\nlisten = 127.0.0.1:1, [::1]:1\nlisten = 127.0.0.1:01\n",
		"f:3: listen '127.0.0.1:01': the same address is listed twice "
		"('127.0.0.1:1'); take one out\n"},
	    {"[proxy]\nlisten = unix:/a, unix:/a\n",
		"f:2: listen 'unix:/a': the same address is listed twice "
		"('unix:/a'); take one out\n"},
	    {"[proxy]\nallow_clients = 10.0.0.1/8\n",
		"f:2: allow_clients '10.0.0.1/8': the address has bits beyond "
		"its prefix length" NETS},
	    {"[proxy]\nallow_clients = 10.0.0.0/33\n",
		"f:2: allow_clients '10.0.0.0/33': the prefix length is no "
		"number from 0 to 32 (IPv4) or 128 (IPv6)" NETS},
	    {"[proxy]\nallow_clients = ::/129\n",
		"f:2: allow_clients '::/129': the prefix length is no number "
		"from 0 to 32 (IPv4) or 128 (IPv6)" NETS},
	    {"[proxy]\nallow_clients = loopback\n",
		"f:2: allow_clients 'loopback': it is no IPv4 or IPv6 "
		"address" NETS},
	    {"[proxy]\nallow_clients =\n",
		"f:2: allow_clients '': the value is missing" NETS},
	    {"[proxy]\ndeny_destinations = loopbak\n",
		"f:2: deny_destinations 'loopbak': did you mean 'loopback'?\n"},
	    {"[proxy]\ndeny_destinations = 127.1\n",
		"f:2: deny_destinations '127.1': it is no IPv4 or IPv6 "
		"address" PLACES},
	    {"[proxy]\ndeny_destinations = a.test/8\n",
		"f:2: deny_destinations 'a.test/8': it is no IPv4 or IPv6 "
		"address" PLACES},
	    {"[proxy]\ndeny_destinations = fd00::g\n",
		"f:2: deny_destinations 'fd00::g': it is no IPv4 or IPv6 "
		"address" PLACES},
	    {"[proxy]\nconnect_ports = 0\n",
		"f:2: connect_ports '0': a port is a number from 1 to 65535; "
		"it takes a list of ports from 1 to 65535, or *; or "
		"none\n"},
	    {"[dns]\nservers = ns.test\n",
		"f:2: servers 'ns.test': it is no IPv4 or IPv6 "
		"address" SERVERS},
	    {"[dns]\nservers = 9.9.9.9:0\n",
		"f:2: servers '9.9.9.9:0': a port is a number from 1 to "
		"65535" SERVERS},
	    {"[dns]\nservers = system, 9.9.9.9\n",
		"f:2: servers 'system': nothing may stand beside this word\n"},
	};
	CHECK(v);
}

static void
path_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[proxy]\naccess_log = stdout\n",
		"f:2: access_log 'stdout': a file's path begins with /; it "
		"takes -, off, or the path of a file\n"},
	    {"[proxy]\nspill_dir = tmp\n",
		"f:2: spill_dir 'tmp': a directory's path begins with /; it "
		"takes the path of a directory that may be written to, or "
		"auto\n"},
	    {"[proxy]\nspill_dir = /no/such\n",
		"f:2: spill_dir '/no/such': there is no such directory; it "
		"takes the path of a directory that may be written to, or "
		"auto\n"},
	    {"[proxy]\nspill_dir = /dev/null\n",
		"f:2: spill_dir '/dev/null': there is no such directory; it "
		"takes the path of a directory that may be written to, or "
		"auto\n"},
	};
	CHECK(v);
}

static void
policy_list_that_is_wrong_is_told(void **state)
{
	(void)state;
	static const struct bad v[] = {
	    {"[defaults]\nretry_on = 429, 399, 600\n",
		"f:2: retry_on '399': out of range" STATUSES
		"f:2: retry_on '600': out of range" STATUSES},
	    {"[defaults]\nretry_on = none, 429\n",
		"f:2: retry_on 'none': nothing may stand beside this word\n"},
	    {"[defaults]\nretry_non_idempotent = never, 429\n",
		"f:2: retry_non_idempotent 'never': nothing may stand beside "
		"this word\n"},
	    {"[defaults]\nwait_headers = retry-after\n",
		"f:2: wait_headers 'retry-after': the format is missing" HINTS},
	    {"[defaults]\nwait_headers = retry-after:x\n",
		"f:2: wait_headers 'retry-after:x': no such format" HINTS},
	    {"[defaults]\nwait_headers = a b:s\n",
		"f:2: wait_headers 'a b:s': that is no field name" HINTS},
	    {"[service a]\nhosts = a\nkey = cookie\n",
		"f:3: key 'cookie': no such kind of key" KEYS},
	    {"[service a]\nhosts = a\nkey = header:\n",
		"f:3: key 'header:': the name is missing or no such "
		"thing" KEYS},
	    {"[service a]\nhosts = a\nkey = header\n",
		"f:3: key 'header': the name is missing or no such thing" KEYS},
	    {"[service a]\nhosts = a\nkey = host:x\n",
		"f:3: key 'host:x': no such kind of key" KEYS},
	    {"[service a]\nhosts = a\nkey = path:0\n",
		"f:3: key 'path:0': the depth is no number from 1 to 16" KEYS},
	    {"[service a]\nhosts = a\nkey = path:17\n",
		"f:3: key 'path:17': the depth is no number from 1 to 16" KEYS},
	    {"[service a]\nhosts = a\nkey = host,client,path:1,path:2,path:3\n",
		"f:3: key 'path:3': more than 4 parts" KEYS},
	};
	CHECK(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(section_that_is_unknown_is_told_with_the_nearest),
	    cmocka_unit_test(key_that_is_unknown_is_told_with_the_nearest),
	    cmocka_unit_test(number_that_is_none_or_out_of_range_is_told),
	    cmocka_unit_test(duration_that_is_wrong_is_told),
	    cmocka_unit_test(size_that_is_wrong_is_told),
	    cmocka_unit_test(rate_that_is_wrong_is_told),
	    cmocka_unit_test(address_that_is_wrong_is_told),
	    cmocka_unit_test(path_that_is_wrong_is_told),
	    cmocka_unit_test(policy_list_that_is_wrong_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
