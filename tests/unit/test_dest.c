/* SPDX-License-Identifier: MIT */
#include "conf_rig.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "edge/dest.h"

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage sa = {.ss_family = AF_INET6};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = 80};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = 80};

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(&sa, &in, sizeof(in));
		return sa;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	memcpy(&sa, &in6, sizeof(in6));
	return sa;
}

static void
assert_reach(const struct conf *c, const char *text, bool expected)
{
	struct sockaddr_storage sa = address(text);

	if (dest_addr_allowed(c, (struct sockaddr *)&sa) != expected)
		fail_msg("%s: expected %s", text,
		    expected ? "allowed" : "denied");
}

/* --- addresses ------------------------------------------------------------ */

static void
addresses_by_default(void **state)
{
	static const char *const good[] = {"8.8.8.8", "1.0.0.0",
	    "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
	    "100.100.100.199", "223.255.255.255", "10.0.0.1", "172.16.0.1",
	    "192.168.1.1", "100.64.0.1", "2606:4700::1111", "fc00::1",
	    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8",
	    "2002:808:808::1", "::ffff:0:8.8.8.8", "64:ff9b::10.0.0.1"};
	static const char *const bad[] = {"127.0.0.1", "127.255.255.255", "::1",
	    "0.0.0.0", "0.1.2.3", "::", "169.254.0.0", "169.254.169.254",
	    "169.254.255.255", "fe80::1", "febf::1", "fd00:ec2::254",
	    "100.100.100.200", "192.0.0.1", "192.0.0.255", "224.0.0.1",
	    "239.255.255.255", "240.0.0.1", "255.255.255.255", "ff02::1"};
	struct conf *c = rig_good("");

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_reach(c, good[i], true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_reach(c, bad[i], false);
	conf_unref(c);
}

/* Each way to write or wrap 127.0.0.1 and 169.254.169.254. */
static void
address_inside_another_is_found(void **state)
{
	static const char *const bad[] = {"::ffff:127.0.0.1",
	    "::ffff:169.254.169.254", "::127.0.0.1", "::169.254.169.254",
	    "::ffff:0:127.0.0.1", "::ffff:0:169.254.169.254",
	    "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::127.0.0.1",
	    "64:ff9b:1:7::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe:1::9",
	    "2001:0:808:808:0:0:80ff:fffe", "2001:0:808:808::5601:5601"};
	struct conf *c =
	    rig_good("[proxy]\ndeny_destinations = loopback, link-local\n");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_reach(c, bad[i], false);
	/* Right beside these. */
	assert_reach(c, "::ffff:128.0.0.1", true);
	assert_reach(c, "::128.0.0.1", true);
	assert_reach(c, "::ffff:0:128.0.0.1", true);
	assert_reach(c, "64:ff9b:1::128.0.0.1", true);
	assert_reach(c, "64:ff9b:2::127.0.0.1", true);
	assert_reach(c, "64:ff9a:1::127.0.0.1", true);
	assert_reach(c, "2001:0:808:808:0:0:7fff:fffe", true);
	assert_reach(c, "2001:1:808:808:0:0:80ff:fffe", true);
	assert_reach(c, "2001:db8::127.0.0.1", true);
	conf_unref(c);
}

/* :: and ::1 are no 0.0.0.0 and 0.0.0.1. */
static void
loopback_of_ipv6_carries_nothing(void **state)
{
	struct conf *c = rig_good("[proxy]\ndeny_destinations = 0.0.0.0/8\n");

	(void)state;
	assert_reach(c, "::1", true);
	assert_reach(c, "::", true);
	assert_reach(c, "::0.0.0.2", false);
	conf_unref(c);
}

static void
allowed_block_wins(void **state)
{
	struct conf *c = rig_good("[proxy]\n"
				  "deny_destinations = *\n"
				  "allow_destinations = 127.0.0.1, "
				  "64:ff9b:1::/48, 2001:db8::/32\n");

	(void)state;
	assert_reach(c, "127.0.0.1", true);
	assert_reach(c, "::ffff:127.0.0.1", true);
	assert_reach(c, "127.0.0.2", false);
	assert_reach(c, "8.8.8.8", false);
	/* Allowed as it is written, whatever it carries. */
	assert_reach(c, "64:ff9b:1::127.0.0.2", true);
	assert_reach(c, "2001:db8::1", true);
	conf_unref(c);
}

static void
allowed_inner_does_not_lift_a_denied_outer(void **state)
{
	struct conf *c = rig_good("[proxy]\n"
				  "deny_destinations = 2001::/32, 127.0.0.0/8\n"
				  "allow_destinations = 127.0.0.1\n");

	(void)state;
	assert_reach(c, "2001:0:808:808:0:0:80ff:fffe", false);
	assert_reach(c, "64:ff9b:1::127.0.0.1", true);
	assert_reach(c, "64:ff9b:1::127.0.0.2", false);
	conf_unref(c);
}

static void
other_families_are_not_reached(void **state)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/x"};
	struct conf *c = rig_good("[proxy]\nallow_destinations = *\n");

	(void)state;
	assert_reach(c, "127.0.0.1", true);
	assert_false(dest_addr_allowed(c, (struct sockaddr *)&un));
	conf_unref(c);
}

/* --- clients -------------------------------------------------------------- */

static void
clients_by_their_address(void **state)
{
	static const struct {
		const char *addr;
		bool allowed;
	} t[] = {
	    {"10.1.2.3", true}, {"::ffff:10.1.2.3", true}, {"10.2.0.0", false},
	    {"127.0.0.1", false}, /* not in this list */
	    {"2001:db8::1", true}, {"2001:db9::1", false},
	    {"64:ff9b::10.1.2.3", false}, /* a client is who it says */
	};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr other = {.sa_family = AF_UNSPEC};
	struct conf *c =
	    rig_good("[proxy]\nallow_clients = 10.1.0.0/16, 2001:db8::/32\n");

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sockaddr_storage sa = address(t[i].addr);

		assert_int_equal(dest_client_allowed(c, (struct sockaddr *)&sa),
		    t[i].allowed);
	}
	assert_true(dest_client_allowed(c, (struct sockaddr *)&un));
	assert_false(dest_client_allowed(c, &other));
	conf_unref(c);
}

/* --- hosts and ports ------------------------------------------------------ */

static void
hosts_by_their_name(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool allowed, forced;
	} t[] = {
	    {"api.example.com", 80, true, false},
	    {"secret.example.com", 80, false, false},
	    {"SECRET.example.com.", 80, false, false},
	    {"a.corp.test", 80, false, false},
	    {"corp.test", 80, true, false},
	    {"wiki.corp.test", 80, true, true},
	    {"Wiki.Corp.Test.", 443, true, true},
	    {"git.corp.test", 22, true, true},
	    {"git.corp.test", 23, false, false},
	    {"127.0.0.1", 80, true, false},
	    {"2001:db8::7", 80, true, false},
	};
	struct conf *c = rig_good(
	    "[proxy]\n"
	    "deny_destinations = loopback, secret.example.com, *.corp.test\n"
	    "allow_destinations = wiki.corp.test, git.corp.test:22\n");

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		bool forced = !t[i].forced;

		assert_int_equal(dest_host_allowed(c, span_of(t[i].host),
				     t[i].port, &forced),
		    t[i].allowed);
		assert_int_equal(forced, t[i].forced);
	}
	conf_unref(c);
}

static void
connect_ports_and_those_of_services(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool allowed;
	} t[] = {
	    {"any.test", 443, true},
	    {"any.test", 442, false},
	    {"any.test", 0, false},
	    {"any.test", 8443, false},
	    {"api.test", 8443, true},
	    {"API.Test.", 8443, true},
	    {"api.test", 8444, false},
	    {"xapi.test", 8443, false},
	    {"a.api.test", 8443, false},
	    {"plain.test", 8443, false}, /* of the service, without a port */
	    {"plain.test", 443, true},
	    {"a.wild.test", 9443, true},
	    {"a.b.WILD.test", 9443, true},
	    {"wild.test", 9443, false},
	    {".wild.test", 9443, false},
	    {"my-wild.test", 9443, false},
	    {"2001:db8::1", 7443, true},
	    {"2001:DB8:0:0::1", 7443, true},
	    {"2001:db8::2", 7443, false},
	    {"192.0.2.1", 6443, true},
	};
	struct conf *c = rig_good("[service one]\n"
				  "hosts = api.test:8443, plain.test, "
				  "xapi.test, my-wild.test, *.wild.test:9443\n"
				  "[service two]\n"
				  "hosts = [2001:db8::1]:7443, "
				  "192.0.2.1:6443\n");

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (dest_connect_port_allowed(c, span_of(t[i].host),
			t[i].port) != t[i].allowed)
			fail_msg("%s:%u", t[i].host, t[i].port);
	}
	conf_unref(c);
}

static void
connect_to_any_port(void **state)
{
	struct conf *c = rig_good("[proxy]\nconnect_ports = *\n");

	(void)state;
	assert_true(dest_connect_port_allowed(c, SPAN("a.test"), 1));
	assert_true(dest_connect_port_allowed(c, SPAN("a.test"), 65535));
	assert_false(dest_connect_port_allowed(c, SPAN("a.test"), 0));
	conf_unref(c);
}

/* A listener of any kind; of a wildcard, at each address of this machine. */
static void
listener_s_own_address_is_self(void **state)
{
	struct conf *c =
	    rig_good("[proxy]\nlisten = 192.0.2.1:20480, tls:192.0.2.2:20480\n"
		     "  transparent:192.0.2.3:20480, transparent:[::]:20480\n"
		     "[tls]\nlisten_cert = /a\nlisten_key = /b\n");
	static const struct {
		const char *text;
		bool self;
	} v[] = {
	    {"192.0.2.1", true},
	    {"192.0.2.2", true},
	    {"::ffff:192.0.2.3", true},
	    {"192.0.2.4", false},
	    {"127.0.0.1", true},
	    {"::1", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct sockaddr_storage sa = address(v[i].text);
		struct sockaddr_in in;

		if (dest_is_self(c, (struct sockaddr *)&sa) != v[i].self)
			fail_msg("%s", v[i].text);
		memcpy(&in, &sa, sizeof(in)); /* both families: its port */
		in.sin_port = htons(81);
		memcpy(&sa, &in, 4);
		assert_false(dest_is_self(c, (struct sockaddr *)&sa));
	}
	conf_unref(c);
}

/* --- hosts that another proxy looks up ------------------------------------ */

static void
literals_are_addresses_and_nothing_else(void **state)
{
	static const char *const good[] = {"127.0.0.1", "0.0.0.0",
	    "::", "2001:DB8::1", "::ffff:1.2.3.4"};
	static const char *const bad[] = {"", "a.test", "127.1", "1.2.3.4.",
	    "1.2.3", "[::1]", "::1%lo", "127.0.0.1 ", "0x7f.0.0.1",
	    "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb"};
	struct in6_addr a, mapped;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(dest_literal(span_of(good[i]), &a));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(dest_literal(span_of(bad[i]), &a));
	assert_true(dest_literal(SPAN("1.2.3.4"), &a));
	assert_true(dest_literal(SPAN("::ffff:1.2.3.4"), &mapped));
	assert_memory_equal(&a, &mapped, sizeof(a));
}

static void
unresolved_hosts_by_what_they_say(void **state)
{
	static const struct {
		const char *host;
		bool allowed;
	} t[] = {
	    {"127.0.0.1", false},
	    {"127.9.9.9", false},
	    {"::1", false},
	    {"::ffff:127.0.0.1", false},
	    {"64:ff9b::7f00:1", false},
	    {"2002:7f00:1::", false},
	    {"169.254.169.254", false},
	    {"localhost", false},
	    {"LocalHost.", false},
	    {"a.b.localhost", false},
	    {"notlocalhost", true},
	    {"localhost.test", true},
	    {"host", true},
	    {"a.test", true},
	    {"8.8.8.8", true},
	    {"10.0.0.1", true},
	    {"2606:4700::1111", true},
	};
	struct conf *c = rig_good("");

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (dest_unresolved_allowed(c, span_of(t[i].host)) !=
		    t[i].allowed)
			fail_msg("%s", t[i].host);
	}
	conf_unref(c);
	/* One of its addresses is enough: who looks it up may choose. */
	c = rig_good("[proxy]\nallow_destinations = 127.0.0.1\n");
	assert_true(dest_unresolved_allowed(c, SPAN("127.0.0.1")));
	assert_false(dest_unresolved_allowed(c, SPAN("localhost")));
	conf_unref(c);
}

static void
hosts_that_are_this_proxy(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool self;
	} t[] = {
	    {"127.0.0.1", 3180, true},
	    {"127.0.0.1", 3181, false},
	    {"::ffff:127.0.0.1", 3180, true},
	    {"127.0.0.2", 3180, false},
	    {"localhost", 3180, true},
	    {"x.localhost.", 3180, true},
	    {"localhost", 80, false},
	    {"::1", 3180, false},
	    {"::1", 4000, true},
	    {"localhost", 4000, true},
	    {"a.test", 3180, false},
	};
	struct conf *c =
	    rig_good("[proxy]\nlisten = 127.0.0.1:3180, [::]:4000\n");

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (dest_host_is_self(c, span_of(t[i].host), t[i].port) !=
		    t[i].self)
			fail_msg("%s:%u", t[i].host, t[i].port);
	}
	conf_unref(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_by_default),
	    cmocka_unit_test(address_inside_another_is_found),
	    cmocka_unit_test(loopback_of_ipv6_carries_nothing),
	    cmocka_unit_test(allowed_block_wins),
	    cmocka_unit_test(allowed_inner_does_not_lift_a_denied_outer),
	    cmocka_unit_test(other_families_are_not_reached),
	    cmocka_unit_test(clients_by_their_address),
	    cmocka_unit_test(hosts_by_their_name),
	    cmocka_unit_test(connect_ports_and_those_of_services),
	    cmocka_unit_test(connect_to_any_port),
	    cmocka_unit_test(listener_s_own_address_is_self),
	    cmocka_unit_test(literals_are_addresses_and_nothing_else),
	    cmocka_unit_test(unresolved_hosts_by_what_they_say),
	    cmocka_unit_test(hosts_that_are_this_proxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
