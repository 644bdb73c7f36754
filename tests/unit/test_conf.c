/* SPDX-License-Identifier: MIT */
/* What a configuration comes to: defaults, layers, and each kind of value. */
#include "conf_rig.h"

#include <arpa/inet.h>
#include <sys/un.h>

static struct in6_addr
address(const char *text)
{
	struct in6_addr a;
	char mapped[64];

	(void)snprintf(mapped, sizeof(mapped), "%s%s",
	    strchr(text, ':') ? "" : "::ffff:", text);
	assert_int_equal(inet_pton(AF_INET6, mapped, &a), 1);
	return a;
}

static bool
reaches(const struct conf *c, const char *text)
{
	struct in6_addr a = address(text);

	return conf_addr_allowed(c, &a);
}

/* --- defaults ------------------------------------------------------------ */

static void
conf_without_a_file_is_the_built_in_defaults(void **state)
{
	(void)state;
	struct conf_problems p = {.n = 0};
	struct conf *c = conf_load(NULL, NULL, 0, &p);
	assert_int_equal(p.n, 0);
	assert_non_null(c);

	assert_int_equal(c->nlisten, 1);
	assert_string_equal(c->listen[0].text, "127.0.0.1:3180");
	assert_in_range(c->workers, 1, 256);
	assert_int_equal(c->allow_clients.n, 2);
	assert_int_equal(c->nconnect_ports, 1);
	assert_int_equal(c->connect_ports[0], 443);
	assert_false(c->connect_any);
	assert_int_equal(c->max_connections, 0);
	assert_int_equal(c->max_parked, 100000);
	assert_int_equal(c->drain_timeout_ms, 30000);
	assert_string_equal(c->access_log, "-");
	assert_int_equal(c->log_level, LOG_INFO);
	assert_int_equal(c->log_format, LOG_TEXT);
	assert_string_equal(c->dns_servers, "");
	assert_int_equal(c->dns_timeout_ms, 5000);
	assert_int_equal(c->dns_cache_ttl_max_ms, 60000);
	assert_int_equal(c->nservices, 0);
	conf_unref(c);
}

static void
policy_without_settings_is_the_contract_s(void **state)
{
	(void)state;
	struct conf *c = rig_good("");
	const struct policy *p = &c->defaults.policy;

	assert_int_equal(p->backoff.strategy, STRATEGY_AUTO);
	assert_int_equal(p->backoff.base_ms, 1000);
	assert_int_equal(p->backoff.max_ms, 10000);
	assert_int_equal(p->backoff.jitter_ms, 1500);
	assert_int_equal(p->verdict.retry_on.n, 3);
	assert_int_equal(p->verdict.retry_on.v[0], 429);
	assert_int_equal(p->verdict.retry_on.v[1], 503);
	assert_int_equal(p->verdict.retry_on.v[2], 504);
	assert_int_equal(p->verdict.retry_non_idempotent.n, 1);
	assert_int_equal(p->verdict.retry_non_idempotent.v[0], 429);
	assert_false(p->verdict.non_idempotent_always);
	assert_int_equal(p->verdict.max_retries, 4);
	assert_true(p->verdict.retry_connect);
	assert_int_equal(p->verdict.retry_reset, RESET_IDEMPOTENT);
	assert_int_equal(p->service.failure_cutoff, 5);
	assert_int_equal(p->service.half_open_ms, SERVICE_HALF_OPEN_MS);
	assert_false(p->service.has_rate);
	assert_int_equal(p->bucket.n, 0);
	assert_int_equal(p->concurrency, 0);
	assert_int_equal(p->queue, 10000);
	assert_int_equal(p->deadline_ms, 60000);
	assert_int_equal(p->max_wait_ms, 60000);
	assert_int_equal(p->queue_timeout_ms, 60000);
	assert_int_equal(p->body_buffer_bytes, 1048576);
	assert_int_equal(p->body_spill_bytes, 67108864);
	assert_int_equal(p->head_timeout_ms, 10000);
	assert_int_equal(p->connect_timeout_ms, 10000);
	assert_int_equal(p->response_timeout_ms, 60000);
	assert_int_equal(p->idle_timeout_ms, 60000);
	assert_false(p->allow_half_close);
	assert_false(p->allow_overrides);
	assert_false(p->dry_run);
	assert_int_equal(p->max_keys, 1000);
	/* One state per host:port. */
	assert_int_equal(p->nkey, 1);
	assert_int_equal(p->key[0].kind, POLICY_KEY_HOST);
	assert_string_equal(c->defaults.name, "");
	conf_unref(c);
}

/* The text of the row must say what the hint module would do by itself. */
static void
wait_headers_without_a_setting_are_the_hint_module_s(void **state)
{
	(void)state;
	struct conf *c = rig_good("");
	const struct hint_cfg *h = &c->defaults.policy.hint;

	assert_int_equal(h->n, hint_default.n);
	for (size_t i = 0; i < h->n; i++) {
		assert_true(span_eq(h->v[i].name, hint_default.v[i].name));
		assert_int_equal(h->v[i].format, hint_default.v[i].format);
	}
	conf_unref(c);
}

/* --- [proxy] and [dns] --------------------------------------------------- */

static void
listen_takes_both_families_and_unix_sockets(void **state)
{
	(void)state;
	struct conf *c = rig_good("[proxy]\n"
				  "listen = 0.0.0.0:80, [::1]:8080\n"
				  "  unix:/run/a.sock ; indented: one more\n"
				  "listen = 127.0.0.1:0, 127.0.0.1:0\n");
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;

	assert_int_equal(c->nlisten, 5);
	memcpy(&in, &c->listen[0].addr, sizeof(in));
	assert_int_equal(in.sin_family, AF_INET);
	assert_int_equal(ntohs(in.sin_port), 80);
	assert_int_equal(c->listen[0].addr_len, sizeof(in));
	assert_null(c->listen[0].unix_path);
	memcpy(&in6, &c->listen[1].addr, sizeof(in6));
	assert_int_equal(in6.sin6_family, AF_INET6);
	assert_int_equal(ntohs(in6.sin6_port), 8080);
	assert_true(IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr));
	memcpy(&un, &c->listen[2].addr, sizeof(un));
	assert_int_equal(un.sun_family, AF_UNIX);
	assert_string_equal(un.sun_path, "/run/a.sock");
	assert_string_equal(c->listen[2].unix_path, "/run/a.sock");
	assert_string_equal(c->listen[2].text, "unix:/run/a.sock");
	assert_string_equal(c->listen[4].text, "127.0.0.1:0");
	conf_unref(c);
}

static void
unix_path_of_107_bytes_is_the_longest(void **state)
{
	(void)state;
	for (int n = 106; n <= 108; n++) {
		char path[128] = "/", text[256];
		struct conf_problems p = {.n = 0};

		memset(path + 1, 'a', (size_t)n - 1);
		(void)snprintf(text, sizeof(text), "[proxy]\nlisten = unix:%s",
		    path);
		struct conf *c =
		    conf_load_text("f", span_of(text), NULL, 0, &p);
		assert_int_equal(c != NULL, n <= 107);
		if (c)
			assert_string_equal(c->listen[0].unix_path, path);
		conf_unref(c);
		conf_problems_free(&p);
	}
}

static void
proxy_takes_every_kind_of_value(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[proxy]\n"
		     "workers = 256\n"
		     "allow_clients = 10.0.0.0/8, fd00::/8\n"
		     "connect_ports = 443, 65535\n"
		     "max_connections = 7\n"
		     "max_parked = 1\n"
		     "drain_timeout = 0\n"
		     "access_log = /var/log/a.log\n"
		     "log_level = debug\n"
		     "log_format = json\n"
		     "spill_dir = /tmp\n"
		     "[dns]\n"
		     "servers = 9.9.9.9, 9.9.9.9:5353, ::1, [::1]:54\n"
		     "timeout = 100ms\n"
		     "cache_ttl_max = 0\n");

	assert_int_equal(c->workers, 256);
	assert_int_equal(c->nconnect_ports, 2);
	assert_true(conf_connect_port_allowed(c, 65535));
	assert_false(conf_connect_port_allowed(c, 80));
	assert_int_equal(c->max_connections, 7);
	assert_int_equal(c->max_parked, 1);
	assert_int_equal(c->drain_timeout_ms, 0);
	assert_string_equal(c->access_log, "/var/log/a.log");
	assert_int_equal(c->log_level, LOG_DEBUG);
	assert_int_equal(c->log_format, LOG_JSON);
	assert_string_equal(c->spill_dir, "/tmp");
	assert_string_equal(c->dns_servers,
	    "9.9.9.9:53,9.9.9.9:5353,[::1]:53,[::1]:54");
	assert_int_equal(c->dns_timeout_ms, 100);
	assert_int_equal(c->dns_cache_ttl_max_ms, 0);
	conf_unref(c);
}

static void
spill_dir_auto_is_tmpdir_where_that_is_a_directory(void **state)
{
	static const struct {
		const char *tmpdir, *dir;
	} v[] = {{"/tmp", "/tmp"}, {"tmp", "/var/tmp"},
	    {"/no/such", "/var/tmp"}, {NULL, "/var/tmp"}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		if (v[i].tmpdir)
			assert_int_equal(setenv("TMPDIR", v[i].tmpdir, 1), 0);
		else
			assert_int_equal(unsetenv("TMPDIR"), 0);
		struct conf *c = rig_good("");
		assert_string_equal(c->spill_dir, v[i].dir);
		conf_unref(c);
	}
}

static void
connect_ports_may_be_any_or_none(void **state)
{
	(void)state;
	struct conf *c = rig_good("[proxy]\nconnect_ports = *\n");
	assert_true(conf_connect_port_allowed(c, 1));
	conf_unref(c);
	c = rig_good("[proxy]\nconnect_ports = none\n");
	assert_false(conf_connect_port_allowed(c, 443));
	conf_unref(c);
}

/* --- who may talk to whom ------------------------------------------------ */

static void
client_is_allowed_by_block_in_both_families(void **state)
{
	static const struct {
		const char *addr;
		bool allowed;
	} v[] = {{"127.0.0.1", true}, {"127.255.255.255", true},
	    {"128.0.0.0", false}, {"126.255.255.255", false}, {"::1", true},
	    {"::2", false}, {"::ffff:127.0.0.1", true}};

	(void)state;
	struct conf *c = rig_good("");
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct in6_addr a = address(v[i].addr);
		assert_int_equal(conf_client_allowed(c, &a), v[i].allowed);
	}
	conf_unref(c);
}

static void
block_of_any_length_has_its_edges(void **state)
{
	(void)state;
	struct conf *c = rig_good("[proxy]\n"
				  "allow_clients = 10.1.2.128/25, 0.0.0.0/32\n"
				  "  2001:db8::8000/113, fe80::/10\n");
	static const struct {
		const char *addr;
		bool in;
	} v[] = {{"10.1.2.127", false}, {"10.1.2.128", true},
	    {"10.1.2.255", true}, {"10.1.3.0", false}, {"0.0.0.0", true},
	    {"0.0.0.1", false}, {"2001:db8::7fff", false},
	    {"2001:db8::8000", true}, {"2001:db8::ffff", true},
	    {"2001:db8::1:8000", false}, {"febf::1", true}, {"fec0::", false}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct in6_addr a = address(v[i].addr);
		assert_int_equal(conf_client_allowed(c, &a), v[i].in);
	}
	conf_unref(c);

	c = rig_good("[proxy]\nallow_clients = ::/0\n");
	struct in6_addr a = address("255.1.2.3");
	assert_true(conf_client_allowed(c, &a));
	conf_unref(c);
}

static void
destination_of_a_denied_class_is_not_reached(void **state)
{
	(void)state;
	static const char *const denied[] = {"127.0.0.1", "::1", "0.0.0.0",
	    "::", "169.254.1.1", "fe80::1", "169.254.169.254", "fd00:ec2::254",
	    "100.100.100.200", "224.0.0.1", "ff02::1", "240.0.0.1",
	    "255.255.255.255", "192.0.2.1", "2001:db8::1",
	    /* the same, said through a translator */
	    "64:ff9b::127.0.0.1", "2002:7f00:1::", "::127.0.0.1"};
	static const char *const allowed[] = {"93.184.216.34", "10.0.0.1",
	    "100.64.0.1", "fd12::1", "2606:4700::1", "64:ff9b::8.8.8.8",
	    "2002:808:808::1"};
	struct conf *c = rig_good("");

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		assert_false(reaches(c, denied[i]));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		assert_true(reaches(c, allowed[i]));
	conf_unref(c);

	c = rig_good("[proxy]\ndeny_destinations = private, cgnat\n");
	assert_false(reaches(c, "10.0.0.1"));
	assert_false(reaches(c, "172.31.255.255"));
	assert_true(reaches(c, "172.32.0.0"));
	assert_false(reaches(c, "192.168.0.1"));
	assert_false(reaches(c, "fd12::1"));
	assert_false(reaches(c, "100.127.255.255"));
	assert_true(reaches(c, "127.0.0.1"));
	conf_unref(c);
}

static void
destination_that_is_allowed_wins(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[proxy]\n"
		     "allow_destinations = 127.0.0.1, in.test\n"
		     "deny_destinations = loopback, *.test, a:81\n");

	assert_true(reaches(c, "127.0.0.1"));
	assert_false(reaches(c, "127.0.0.2"));
	assert_int_equal(conf_host_access(c, SPAN("in.test"), 80),
	    CONF_ALLOWED);
	assert_int_equal(conf_host_access(c, SPAN("x.test"), 80), CONF_DENIED);
	assert_int_equal(conf_host_access(c, SPAN("a"), 81), CONF_DENIED);
	assert_int_equal(conf_host_access(c, SPAN("a"), 80), CONF_ASK_ADDRESS);
	conf_unref(c);

	c = rig_good("[proxy]\nallow_destinations = *\n");
	assert_true(reaches(c, "127.0.0.1"));
	assert_int_equal(conf_host_access(c, SPAN("a"), 1), CONF_ALLOWED);
	conf_unref(c);

	c = rig_good("[proxy]\ndeny_destinations = *\n");
	assert_false(reaches(c, "8.8.8.8"));
	assert_int_equal(conf_host_access(c, SPAN("a"), 1), CONF_DENIED);
	conf_unref(c);

	c = rig_good("[proxy]\ndeny_destinations = *\n"
		     "allow_destinations = 8.8.8.0/24\n");
	assert_true(reaches(c, "8.8.8.8"));
	assert_false(reaches(c, "8.8.4.4"));
	assert_int_equal(conf_host_access(c, SPAN("a"), 1), CONF_ASK_ADDRESS);
	conf_unref(c);

	c = rig_good("[proxy]\ndeny_destinations = none\n");
	assert_true(reaches(c, "127.0.0.1"));
	conf_unref(c);
}

static void
socket_address_is_one_kind_of_address(void **state)
{
	(void)state;
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct in6_addr a, b = address("10.1.2.3");

	assert_int_equal(inet_pton(AF_INET, "10.1.2.3", &in.sin_addr), 1);
	assert_true(conf_in6_of((const struct sockaddr *)&in, &a));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_false(conf_in6_of((const struct sockaddr *)&un, &a));
}

/* --- life ---------------------------------------------------------------- */

static void
generation_counts_up_and_references_keep(void **state)
{
	(void)state;
	struct conf *a = rig_good(""), *b = rig_good("");

	assert_int_equal(b->generation, a->generation + 1);
	assert_ptr_equal(conf_ref(a), a);
	conf_unref(a);
	assert_string_equal(a->listen[0].text, "127.0.0.1:3180");
	conf_unref(a);
	conf_unref(b);
	conf_unref(NULL);
}

static void
restart_is_needed_for_listen_but_not_for_policy(void **state)
{
	(void)state;
	static const struct {
		const char *old, *now, *changes;
	} v[] = {
	    {"", "", ""},
	    {"", "[defaults]\ndeadline = 1s\n", ""},
	    {"", "[proxy]\nlog_level = debug\n", ""},
	    {"", "[proxy]\nlisten=127.0.0.1:3180\n", ""},
	    {"", "[proxy]\nworkers = 2\nlisten = 127.0.0.1:1\n",
		"proxy.listen, proxy.workers"},
	    {"", "[dns]\nservers = 9.9.9.9\n", ""},
	    {"", "[tls]\nca_cert = /a\nca_key = /b\nmin_version = 1.3\n", ""},
	    {"", "[proxy]\nauth = /a\n", ""},
	    {"", "[defaults]\nparent_proxy = http://h:1\n", ""},
	    {"", "[proxy]\nlisten = transparent:127.0.0.1:3180\n",
		"proxy.listen"},
	    {"[proxy]\nlisten = 127.0.0.1:1,127.0.0.1:2\n",
		"[proxy]\nlisten = 127.0.0.1:1\n  127.0.0.1:2\n", ""},
	    {"[proxy]\nlisten = 127.0.0.1:1\n", "", "proxy.listen"},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct conf *old = rig_good(v[i].old),
			    *now = rig_good(v[i].now);
		struct strbuf b;

		strbuf_init(&b, 1000);
		size_t n = conf_restart_changes(old, now, &b);
		assert_int_equal(b.n, strlen(v[i].changes));
		if (b.n)
			assert_memory_equal(b.p, v[i].changes, b.n);
		assert_int_equal(n,
		    !*v[i].changes                  ? 0
			: strchr(v[i].changes, ',') ? 2
						    : 1);
		strbuf_free(&b);
		conf_unref(old);
		conf_unref(now);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(conf_without_a_file_is_the_built_in_defaults),
	    cmocka_unit_test(policy_without_settings_is_the_contract_s),
	    cmocka_unit_test(
		wait_headers_without_a_setting_are_the_hint_module_s),
	    cmocka_unit_test(listen_takes_both_families_and_unix_sockets),
	    cmocka_unit_test(unix_path_of_107_bytes_is_the_longest),
	    cmocka_unit_test(proxy_takes_every_kind_of_value),
	    cmocka_unit_test(
		spill_dir_auto_is_tmpdir_where_that_is_a_directory),
	    cmocka_unit_test(connect_ports_may_be_any_or_none),
	    cmocka_unit_test(client_is_allowed_by_block_in_both_families),
	    cmocka_unit_test(block_of_any_length_has_its_edges),
	    cmocka_unit_test(destination_of_a_denied_class_is_not_reached),
	    cmocka_unit_test(destination_that_is_allowed_wins),
	    cmocka_unit_test(socket_address_is_one_kind_of_address),
	    cmocka_unit_test(generation_counts_up_and_references_keep),
	    cmocka_unit_test(restart_is_needed_for_listen_but_not_for_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
