/* SPDX-License-Identifier: MIT */
/* The users, and the checks of their passwords, on one thread and on many. */
#include "auth_rig.h"

#include <pthread.h>

#include "base/mem.h"
#include "edge/auth.h"
#include "edge/checker.h"

#define USERS 3 /* ann, bob, cid; their passwords are pw-ann and so on */

static const char *const names[USERS] = {"ann", "bob", "cid"};

static struct auth *
load(const char *text)
{
	struct conf_problems p = {.n = 0};
	const char *path = rig_file(text, 0600);
	struct conf_file file = {.path = path, .where = "f:1"};
	struct auth *a = auth_load(&file, &p);

	assert_int_equal(p.n, 0);
	assert_non_null(a);
	assert_int_equal(unlink(path), 0);
	return a;
}

static struct auth *
three_users(void)
{
	char text[1024];
	size_t n = 0;

	for (int i = 0; i < USERS; i++) {
		char password[16];

		(void)snprintf(password, sizeof(password), "pw-%s", names[i]);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s:%s\n",
		    names[i], rig_hash("$5$", 1000, password));
	}
	return load(text);
}

/* --- users ---------------------------------------------------------------- */

static void
hash_of_a_stranger_is_a_users_and_always_the_same(void **state)
{
	struct auth *a = three_users();
	bool known, used[USERS] = {false};

	(void)state;
	for (int i = 0; i < 100; i++) {
		char name[32];
		const char *hash, *again;

		(void)snprintf(name, sizeof(name), "nobody%d", i);
		hash = auth_hash(a, span_of(name), &known);
		assert_false(known);
		again = auth_hash(a, span_of(name), &known);
		assert_ptr_equal(hash, again);
		for (int u = 0; u < USERS; u++)
			used[u] |=
			    hash == auth_hash(a, span_of(names[u]), &known);
	}
	for (int u = 0; u < USERS; u++)
		assert_true(used[u]);
	(void)auth_hash(a, SPAN("ann"), &known);
	assert_true(known);
	auth_unref(a);
}

static void
hash_where_there_are_no_users_is_none(void **state)
{
	struct auth *a = load("# nobody\n");
	bool known = true;

	(void)state;
	assert_null(auth_hash(a, SPAN("ann"), &known));
	assert_false(known);
	auth_unref(a);
	auth_unref(NULL);
}

static void
conf_loads_its_users_and_lets_go_of_them(void **state)
{
	struct conf_problems p = {.n = 0};
	struct conf *c = rig_good("");
	const char *path = rig_file("ann:x\n", 0600);

	(void)state;
	assert_int_equal(auth_load_conf(c, &p), 0);
	assert_null(c->auth_users);
	c->auth = (struct conf_file){.path = path, .where = "f:1"};
	assert_int_equal(auth_load_conf(c, &p), -1);
	assert_int_equal(p.n, 1);
	assert_null(c->auth_users);
	assert_int_equal(unlink(path), 0);
	path = rig_file("# nobody\n", 0600);
	c->auth.path = path;
	assert_int_equal(auth_load_conf(c, &p), 0);
	assert_non_null(c->auth_users);
	assert_int_equal(unlink(path), 0);
	conf_unref(c);
	conf_problems_free(&p);
}

/* --- one thread ----------------------------------------------------------- */

static unsigned woken[2];

static void
count_wake(void *arg, unsigned owner)
{
	(void)arg;
	woken[owner]++;
}

static struct checker *
by_hand(void)
{
	struct checker_cfg cfg = {.owners = 2, .wake = count_wake};
	struct checker *k = checker_new(&cfg);

	assert_non_null(k);
	woken[0] = woken[1] = 0;
	return k;
}

static struct check_ask
ask_for(struct auth *a, const char *user, const char *password)
{
	return (struct check_ask){
	    .auth = a,
	    .user = span_of(user),
	    .password = span_of(password),
	    .who = 1,
	};
}

static enum check_result
ask(struct checker *k, struct auth *a, const char *user, const char *password,
    struct check_wait **ret)
{
	struct check_ask q = ask_for(a, user, password);

	return checker_ask(k, &q, ret);
}

/* Asks, works where it must, and fetches. */
static enum check_result
settle(struct checker *k, struct auth *a, const char *user,
    const char *password)
{
	struct check_wait *w = NULL, *got;
	enum check_result res = ask(k, a, user, password, &w);

	if (res != CHECK_WAIT)
		return res;
	assert_null(checker_next(k, 0));
	assert_true(checker_work(k));
	got = checker_next(k, 0);
	assert_ptr_equal(got, w);
	res = w->result;
	assert_null(w->check);
	checker_leave(k, w);
	return res;
}

static void
password_when_right_is_yes_and_then_known(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w = NULL;

	(void)state;
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w), CHECK_WAIT);
	assert_int_equal(w->result, CHECK_WAIT);
	assert_int_equal(woken[0], 0);
	assert_true(checker_work(k));
	assert_int_equal(woken[0], 1);
	assert_int_equal(woken[1], 0);
	assert_ptr_equal(checker_next(k, 0), w);
	assert_null(checker_next(k, 0));
	assert_int_equal(w->result, CHECK_YES);
	checker_leave(k, w);
	w = NULL;
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w), CHECK_YES);
	assert_null(w);
	assert_false(checker_work(k));
	assert_int_equal(checker_known(k), 1);
	auth_unref(a);
	checker_free(k);
}

static void
password_when_wrong_is_no_and_then_known(void **state)
{
	static const char *const tries[][2] = {
	    {"ann", "pw-bob"},
	    {"ann", ""},
	    {"", "pw-ann"},
	    {"", ""},
	    {"ann ", "pw-ann"},
	    {"Ann", "pw-ann"},
	    {"dan", "pw-ann"},
	    {"dan", "pw-bob"},
	    {"dan", "pw-cid"},
	};
	struct checker *k = by_hand();
	struct auth *a = three_users();

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		assert_int_equal(settle(k, a, tries[i][0], tries[i][1]),
		    CHECK_NO);
		assert_int_equal(checker_known(k), i + 1);
		assert_int_equal(settle(k, a, tries[i][0], tries[i][1]),
		    CHECK_NO);
		assert_int_equal(checker_known(k), i + 1);
	}
	assert_int_equal(settle(k, a, "ann", "pw-ann"), CHECK_YES);
	auth_unref(a);
	checker_free(k);
}

/* The same bytes, cut elsewhere, against the same hash. */
static void
pairs_that_read_the_same_in_a_row_are_kept_apart(void **state)
{
	struct checker *k = by_hand();
	const char *hash = rig_hash("$5$", 1000, "c");
	char text[2048];
	struct auth *a;

	(void)state;
	(void)snprintf(text, sizeof(text), "ab:%s\na:%s\nabc:%s\n", hash, hash,
	    hash);
	a = load(text);
	assert_int_equal(settle(k, a, "ab", "c"), CHECK_YES);
	assert_int_equal(settle(k, a, "a", "bc"), CHECK_NO);
	assert_int_equal(settle(k, a, "abc", ""), CHECK_NO);
	auth_unref(a);
	checker_free(k);
}

static void
same_question_of_many_is_one_check(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_ask q = ask_for(a, "ann", "pw-ann");
	struct check_wait *w[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		q.owner = i % 2;
		q.who = i;
		assert_int_equal(checker_ask(k, &q, &w[i]), CHECK_WAIT);
	}
	assert_int_equal(checker_queued(k), 1);
	assert_true(checker_work(k));
	assert_false(checker_work(k));
	assert_int_equal(woken[0], 1);
	assert_int_equal(woken[1], 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(checker_next(k, i % 2), w[i]);
		assert_int_equal(w[i]->result, CHECK_YES);
	}
	for (unsigned i = 0; i < 4; i++)
		checker_leave(k, w[i]);
	auth_unref(a);
	checker_free(k);
}

static void
check_when_all_who_wait_have_left_is_not_done(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w[3];

	(void)state;
	assert_int_equal(ask(k, a, "ann", "x", &w[0]), CHECK_WAIT);
	assert_int_equal(ask(k, a, "ann", "x", &w[1]), CHECK_WAIT);
	assert_int_equal(ask(k, a, "bob", "x", &w[2]), CHECK_WAIT);
	checker_leave(k, w[0]);
	checker_leave(k, w[2]);
	assert_int_equal(checker_queued(k), 1);
	checker_give_up(k, w[1]);
	assert_int_equal(checker_queued(k), 0);
	assert_int_equal(w[1]->result, CHECK_BUSY);
	checker_leave(k, w[1]);
	checker_leave(k, NULL);
	assert_false(checker_work(k));
	assert_int_equal(woken[0], 0);
	auth_unref(a);
	checker_free(k);
}

static void
wait_when_given_up_after_its_result_keeps_that(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w[2];

	(void)state;
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w[0]), CHECK_WAIT);
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w[1]), CHECK_WAIT);
	assert_true(checker_work(k));
	checker_give_up(k, w[0]);
	assert_int_equal(w[0]->result, CHECK_YES);
	checker_leave(k, w[0]);
	assert_ptr_equal(checker_next(k, 0), w[1]);
	assert_null(checker_next(k, 0));
	checker_leave(k, w[1]);
	auth_unref(a);
	checker_free(k);
}

static void
checker_when_freed_with_checks_queued_leaves_nothing(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w[2];

	(void)state;
	assert_int_equal(ask(k, a, "ann", "a", &w[0]), CHECK_WAIT);
	assert_int_equal(ask(k, a, "ann", "b", &w[1]), CHECK_WAIT);
	assert_true(checker_work(k));
	auth_unref(a);
	checker_free(k);
	mem_free(w[0]);
	mem_free(w[1]);
	checker_free(NULL);
}

/* What is remembered is about a line of the file, not about a name. */
static void
reload_when_a_line_changes_forgets_that_user_alone(void **state)
{
	struct checker *k = by_hand();
	struct auth *old = three_users(), *now;
	char text[2048], ann[CRYPT_OUTPUT_SIZE], bob[CRYPT_OUTPUT_SIZE];
	struct check_wait *w = NULL;
	bool known;

	(void)state;
	assert_int_equal(settle(k, old, "ann", "pw-ann"), CHECK_YES);
	assert_int_equal(settle(k, old, "bob", "pw-bob"), CHECK_YES);
	assert_int_equal(settle(k, old, "dan", "pw-dan"), CHECK_NO);
	assert_int_equal(settle(k, old, "cid", "pw-cid"), CHECK_YES);
	(void)snprintf(ann, sizeof(ann), "%s",
	    auth_hash(old, SPAN("ann"), &known));
	(void)snprintf(bob, sizeof(bob), "%s", rig_hash("$5$", 1000, "new"));
	(void)snprintf(text, sizeof(text), "ann:%s\nbob:%s\ndan:%s\n", ann, bob,
	    rig_hash("$5$", 1000, "pw-dan"));
	now = load(text);
	auth_unref(old);

	assert_int_equal(ask(k, now, "ann", "pw-ann", &w), CHECK_YES);
	assert_null(w);
	assert_int_equal(settle(k, now, "bob", "pw-bob"), CHECK_NO);
	assert_int_equal(settle(k, now, "bob", "new"), CHECK_YES);
	assert_int_equal(settle(k, now, "dan", "pw-dan"), CHECK_YES);
	assert_int_equal(settle(k, now, "cid", "pw-cid"), CHECK_NO);
	auth_unref(now);
	checker_free(k);
}

static void
check_under_way_outlives_the_file_that_it_is_from(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w = NULL;

	(void)state;
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w), CHECK_WAIT);
	auth_unref(a);
	assert_true(checker_work(k));
	assert_int_equal(checker_next(k, 0)->result, CHECK_YES);
	checker_leave(k, w);
	checker_free(k);
}

static void
users_when_there_are_none_are_refused_at_once(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = load("");
	struct check_wait *w = NULL;

	(void)state;
	assert_int_equal(ask(k, a, "ann", "", &w), CHECK_NO);
	assert_null(w);
	auth_unref(a);
	checker_free(k);
}

/* --- bounds --------------------------------------------------------------- */

static void
queue_is_fair_between_addresses(void **state)
{
	static const uint64_t whos[] = {1, 1, 1, 2, 3};
	static const unsigned order[] = {0, 3, 4, 1, 2};
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		char password[8];
		struct check_ask q;

		(void)snprintf(password, sizeof(password), "%u", i);
		q = ask_for(a, "ann", password);
		q.who = whos[i];
		assert_int_equal(checker_ask(k, &q, &w[i]), CHECK_WAIT);
	}
	for (unsigned i = 0; i < 5; i++) {
		assert_true(checker_work(k));
		assert_ptr_equal(checker_next(k, 0), w[order[i]]);
		checker_leave(k, w[order[i]]);
	}
	auth_unref(a);
	checker_free(k);
}

static void
queue_is_bounded_by_address_and_in_all(void **state)
{
	static struct check_wait *w[CHECKER_QUEUE_MAX];
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *none = NULL;
	struct check_ask q;
	char password[16];

	(void)state;
	for (unsigned i = 0; i < CHECKER_QUEUE_MAX; i++) {
		(void)snprintf(password, sizeof(password), "%u", i);
		q = ask_for(a, "ann", password);
		q.who = i / CHECKER_QUEUE_WHO_MAX;
		assert_int_equal(checker_ask(k, &q, &w[i]), CHECK_WAIT);
		if (i != CHECKER_QUEUE_WHO_MAX - 1)
			continue;
		q.password = SPAN("one more");
		assert_int_equal(checker_ask(k, &q, &none), CHECK_BUSY);
		q.who = 99;
		assert_int_equal(checker_ask(k, &q, &none), CHECK_WAIT);
		checker_leave(k, none);
	}
	q.password = SPAN("one more");
	q.who = 100;
	none = NULL;
	assert_int_equal(checker_ask(k, &q, &none), CHECK_BUSY);
	assert_null(none);
	/* Who asks what is queued already takes no place. */
	q.password = SPAN("7");
	assert_int_equal(checker_ask(k, &q, &none), CHECK_WAIT);
	checker_leave(k, none);
	for (unsigned i = 0; i < CHECKER_QUEUE_MAX; i++)
		checker_leave(k, w[i]);
	assert_int_equal(checker_queued(k), 0);
	auth_unref(a);
	checker_free(k);
}

static void
guesses_push_only_guesses_out_of_the_memory(void **state)
{
	struct checker *k = by_hand();
	struct auth *a = three_users();
	struct check_wait *w = NULL;
	char password[16];

	(void)state;
	assert_int_equal(settle(k, a, "ann", "pw-ann"), CHECK_YES);
	for (unsigned i = 0; i < CHECKER_KNOWN_MAX + 2; i++) {
		(void)snprintf(password, sizeof(password), "%u", i);
		assert_int_equal(settle(k, a, "ann", password), CHECK_NO);
		/* What is asked for stays. */
		assert_int_equal(ask(k, a, "ann", "0", &w), CHECK_NO);
	}
	assert_int_equal(checker_known(k), CHECKER_KNOWN_MAX + 1);
	assert_int_equal(ask(k, a, "ann", "pw-ann", &w), CHECK_YES);
	assert_int_equal(ask(k, a, "ann", "1", &w), CHECK_WAIT);
	checker_leave(k, w);
	auth_unref(a);
	checker_free(k);
}

static void
memory_when_it_runs_out_is_busy_and_no_leak(void **state)
{
	struct auth *a = three_users();
	enum check_result res = CHECK_BUSY;

	(void)state;
	for (unsigned long n = 1; res != CHECK_YES; n++) {
		struct checker_cfg cfg = {.owners = 2, .wake = count_wake};
		struct check_wait *w = NULL;
		struct checker *k;

		mem_fail_at(n, true);
		k = checker_new(&cfg);
		if (k) {
			res = ask(k, a, "ann", "pw-ann", &w);
			if (res == CHECK_WAIT) {
				assert_true(checker_work(k));
				assert_ptr_equal(checker_next(k, 0), w);
				res = w->result;
				checker_leave(k, w);
			}
		}
		mem_fail_at(0, false);
		assert_true(res == CHECK_BUSY || res == CHECK_YES);
		checker_free(k);
	}
	auth_unref(a);
}

/* --- threads -------------------------------------------------------------- */

struct bell {
	pthread_mutex_t lock;
	pthread_cond_t rung;
	bool on;
};

static struct bell bells[4];

static void
ring(void *arg, unsigned owner)
{
	struct bell *b = &bells[owner];

	(void)arg;
	pthread_mutex_lock(&b->lock);
	b->on = true;
	pthread_cond_signal(&b->rung);
	pthread_mutex_unlock(&b->lock);
}

static void
await_ring(struct bell *b)
{
	pthread_mutex_lock(&b->lock);
	while (!b->on)
		pthread_cond_wait(&b->rung, &b->lock);
	b->on = false;
	pthread_mutex_unlock(&b->lock);
}

struct user {
	struct checker *k;
	struct auth *a;
	unsigned owner;
	unsigned wrong; /* results that were not what they should have been */
};

/* One question, and its answer; or away before that. */
static void
user_asks(struct user *u, unsigned i)
{
	bool right = i % 3 != 0;
	struct check_wait *w = NULL, *got;
	char password[16];
	struct check_ask q;
	enum check_result res;

	if (right)
		(void)snprintf(password, sizeof(password), "pw-%s",
		    names[i % USERS]);
	else
		(void)snprintf(password, sizeof(password), "%u", i / 2);
	q = ask_for(u->a, names[i % USERS], password);
	q.owner = u->owner;
	q.who = u->owner;
	res = checker_ask(u->k, &q, &w);
	if (res == CHECK_WAIT && i % 5 == 0) {
		checker_leave(u->k, w);
		return;
	}
	while (res == CHECK_WAIT) {
		await_ring(&bells[u->owner]);
		got = checker_next(u->k, u->owner);
		if (!got)
			continue;
		u->wrong += got != w;
		res = got->result;
		checker_leave(u->k, got);
	}
	u->wrong += res != (right ? CHECK_YES : CHECK_NO);
}

static void *
user_main(void *arg)
{
	struct user *u = arg;

	for (unsigned i = 0; i < 150; i++) {
		(void)auth_ref(u->a);
		user_asks(u, i + u->owner);
		auth_unref(u->a);
	}
	return NULL;
}

static void
results_are_right_with_many_threads_asking(void **state)
{
	struct checker_cfg cfg = {.owners = 4, .threads = 2, .wake = ring};
	struct checker *k = checker_new(&cfg);
	struct auth *a = three_users();
	struct user users[4];
	pthread_t threads[4];

	(void)state;
	assert_non_null(k);
	for (unsigned i = 0; i < 4; i++) {
		bells[i] = (struct bell){.on = false};
		pthread_mutex_init(&bells[i].lock, NULL);
		pthread_cond_init(&bells[i].rung, NULL);
		users[i] = (struct user){.k = k, .a = a, .owner = i};
		assert_int_equal(pthread_create(&threads[i], NULL, user_main,
				     &users[i]),
		    0);
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(users[i].wrong, 0);
	}
	auth_unref(a);
	checker_free(k);
}

static void
checker_when_freed_waits_for_the_check_that_runs(void **state)
{
	struct checker_cfg cfg = {.owners = 4, .threads = 1, .wake = ring};

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct checker *k = checker_new(&cfg);
		struct auth *a = three_users();
		struct check_wait *w[2];

		assert_non_null(k);
		assert_int_equal(ask(k, a, "ann", "1", &w[0]), CHECK_WAIT);
		assert_int_equal(ask(k, a, "ann", "2", &w[1]), CHECK_WAIT);
		checker_leave(k, w[0]);
		checker_leave(k, w[1]);
		auth_unref(a);
		checker_free(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hash_of_a_stranger_is_a_users_and_always_the_same),
	    cmocka_unit_test(hash_where_there_are_no_users_is_none),
	    cmocka_unit_test(conf_loads_its_users_and_lets_go_of_them),
	    cmocka_unit_test(password_when_right_is_yes_and_then_known),
	    cmocka_unit_test(password_when_wrong_is_no_and_then_known),
	    cmocka_unit_test(pairs_that_read_the_same_in_a_row_are_kept_apart),
	    cmocka_unit_test(same_question_of_many_is_one_check),
	    cmocka_unit_test(check_when_all_who_wait_have_left_is_not_done),
	    cmocka_unit_test(wait_when_given_up_after_its_result_keeps_that),
	    cmocka_unit_test(
		checker_when_freed_with_checks_queued_leaves_nothing),
	    cmocka_unit_test(
		reload_when_a_line_changes_forgets_that_user_alone),
	    cmocka_unit_test(check_under_way_outlives_the_file_that_it_is_from),
	    cmocka_unit_test(users_when_there_are_none_are_refused_at_once),
	    cmocka_unit_test(queue_is_fair_between_addresses),
	    cmocka_unit_test(queue_is_bounded_by_address_and_in_all),
	    cmocka_unit_test(guesses_push_only_guesses_out_of_the_memory),
	    cmocka_unit_test(memory_when_it_runs_out_is_busy_and_no_leak),
	    cmocka_unit_test(results_are_right_with_many_threads_asking),
	    cmocka_unit_test(checker_when_freed_waits_for_the_check_that_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
