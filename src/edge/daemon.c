/* SPDX-License-Identifier: MIT */
/*
 * daemon decides when the process starts, changes its mind and ends. It
 * refuses to know requests: workers are told, by flags that they read when
 * they are woken.
 *
 *   SIGTERM, SIGINT   drain and stop; a second one stops at once
 *   SIGHUP            read the configuration again; a bad one changes nothing
 *   SIGUSR1           open the access log again
 */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "auth.h"
#include "base/mem.h"
#include "listen.h"
#include "script.h"
#include "tls_set.h"
#include "worker.h"

#define RELOAD_WAIT_MS 1000
#define CHECKERS 2         /* threads that check passwords, at the most */
#define SIGNAL_TWIN_MS 200 /* a tool that signals a process and its group */
#define FILES_OWN 64       /* descriptors that are not clients', at the least */
#define BODY_MEMORY_MAX \
	(256ull << 20)              /* bytes of all replay buffers together */
#define BODY_DISK_MAX (16ull << 30) /* of all their files */

static struct key_cfg
key_cfg_of(const struct policy *p)
{
	return (struct key_cfg){
	    .service = p->service,
	    .bucket = p->bucket,
	    .adapt = p->adapt,
	    .budget = p->budget,
	    .quota = p->quota,
	    .concurrency = p->concurrency,
	    .queue = p->queue,
	    .max_keys = p->max_keys,
	};
}

static int
bind_service(struct keys *keys, struct conf_service *s, int64_t now_ms)
{
	struct key_cfg cfg = key_cfg_of(&s->policy);

	s->state = keys_group(keys, span_of(s->name), &cfg, now_ms);
	return s->state ? 0 : -1;
}

/* Gives each service its lasting state, by name. */
static int
bind_conf(struct keys *keys, struct conf *c)
{
	int64_t now_ms = clock_mono_ms();

	if (bind_service(keys, &c->defaults, now_ms) < 0)
		return -1;
	for (size_t i = 0; i < c->nservices; i++)
		if (bind_service(keys, c->services[i], now_ms) < 0)
			return -1;
	return 0;
}

/* Opens what access_log names. The old descriptor stays where that fails. */
static int
open_access_log(struct proc *p, const struct conf *c)
{
	int fd = -1, old;

	if (strcmp(c->access_log, "off") == 0) {
		fd = ACCESS_OFF;
	} else if (strcmp(c->access_log, "-") != 0) {
		fd = open(c->access_log,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
		if (fd < 0) {
			log_err("access log %s: %s", c->access_log,
			    strerror(errno));
			return -1;
		}
	}
	old = atomic_load(&p->access_fd);
	if (fd >= 0 && old >= 0) {
		/* Other threads may be writing: the number stays the same. */
		(void)dup3(fd, old, O_CLOEXEC);
		(void)close(fd);
	} else {
		atomic_store(&p->access_fd, fd);
	}
	return 0;
}

static void
log_hint(struct span hint)
{
	log_warn("%.*s", SPAN_ARG(hint));
}

static void
apply_log(const struct conf *c, int verbose)
{
	int level = (int)c->log_level + verbose;

	if (level > LOG_DEBUG)
		level = LOG_DEBUG;
	log_setup((enum log_level)level, c->log_format);
	conf_hints(c, log_hint);
}

/*
 * Private keys in memory must not end up in a core file. Not dumpable also means
 * that no other process of the user may look into this one (ptrace(2)); leak
 * checkers must, so builds with one do without.
 */
static void
keep_secrets(const struct conf *c)
{
	struct rlimit none = {0};

	if (!c->tls || !c->tls->secrets)
		return;
	(void)setrlimit(RLIMIT_CORE, &none);
#ifndef AB_SANITIZER
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		log_warn("core dumps cannot be turned off: %s",
		    strerror(errno));
#endif
}

static void
raise_file_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 &&
	    lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
}

/* A parked request is one descriptor, a running one two: clients are left all
 * but a twentieth, so that the proxy itself can go on working when they come
 * in a crowd. */
static unsigned
connections_of(const struct conf *c)
{
	struct rlimit lim;
	rlim_t left;

	if (c->max_connections)
		return c->max_connections;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur == RLIM_INFINITY)
		return UINT32_MAX;
	left = lim.rlim_cur / 20 < FILES_OWN ? FILES_OWN : lim.rlim_cur / 20;
	return lim.rlim_cur > 2 * left ? (unsigned)(lim.rlim_cur - left)
				       : (unsigned)(lim.rlim_cur / 2 + 1);
}

/* By the checker, of one worker that waits for passwords. */
static void
wake_for_logins(void *arg, unsigned worker)
{
	struct proc *p = arg;

	atomic_store(&p->workers[worker].want_logins, true);
	worker_wake(&p->workers[worker]);
}

static int
init_logins(struct proc *p)
{
	struct checker_cfg cfg = {
	    .owners = p->nworkers,
	    .threads = p->nworkers < CHECKERS ? p->nworkers : CHECKERS,
	    .wake = wake_for_logins,
	    .arg = p,
	};

	loglimit_init(&p->login_log);
	loglimit_init(&p->copies_log);
	p->checker = checker_new(&cfg);
	return p->checker ? 0 : -1;
}

static bool
has_transparent(const struct conf *c)
{
	for (size_t i = 0; i < c->nlisten; i++)
		if (c->listen[i].kind == CONF_LISTEN_TRANSPARENT)
			return true;
	return false;
}

/* From here on p owns c, also where it fails. */
static int
proc_init(struct proc *p, struct conf *c)
{
	uint32_t tag;

	if (getrandom(&p->hash, sizeof(p->hash), 0) != sizeof(p->hash) ||
	    getrandom(&tag, sizeof(tag), 0) != sizeof(tag)) {
		log_err("no random numbers: %s", strerror(errno));
		return -1;
	}
	(void)snprintf(p->via, sizeof(p->via), "abided-%08x", tag);
	p->via_span = span_of(p->via);
	p->conf = c;
	p->nworkers = c->workers;
	atomic_init(&p->access_fd, -1);
	atomic_init(&p->max_connections, connections_of(c));
	atomic_init(&p->next_id, ((uint64_t)tag << 32) + 1);
	pthread_mutex_init(&p->conf_lock, NULL);
	if (engine_shared_init(&p->shared, p->nworkers, &p->hash, c->max_parked,
		BODY_MEMORY_MAX) < 0 ||
	    bind_conf(&p->shared.keys, c) < 0 || init_logins(p) < 0 ||
	    ways_init(&p->ways, has_transparent(c)) < 0) {
		log_err("out of memory");
		return -1;
	}
	atomic_store(&p->shared.max_body_disk, BODY_DISK_MAX);
	p->workers = mem_must_zalloc(sizeof(struct worker) * p->nworkers);
	return open_access_log(p, c);
}

static void
proc_tell(struct proc *p, void (*order)(struct worker *w, int64_t arg),
    int64_t arg)
{
	for (unsigned i = 0; i < p->nworkers; i++) {
		order(&p->workers[i], arg);
		worker_wake(&p->workers[i]);
	}
}

static void
order_conf(struct worker *w, int64_t arg)
{
	(void)arg;
	atomic_store(&w->want_conf, true);
}

static void
order_drain(struct worker *w, int64_t until_ms)
{
	atomic_store(&w->want_drain_ms, until_ms);
}

static void
order_stop(struct worker *w, int64_t arg)
{
	(void)arg;
	atomic_store(&w->want_stop, true);
}

/* Until every worker goes by the new rules: what is logged is then true. One
 * that is in a long turn is not waited for for ever. */
static void
await_conf(struct proc *p, uint64_t generation)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int64_t end_ms = clock_mono_ms() + RELOAD_WAIT_MS;

	for (unsigned i = 0; i < p->nworkers; i++)
		while (atomic_load(&p->workers[i].conf_taken) < generation &&
		    clock_mono_ms() < end_ms)
			(void)nanosleep(&pause, NULL);
}

static void
proc_publish(struct proc *p, struct conf *now, int verbose)
{
	struct conf *old = p->conf;
	struct strbuf changes;

	strbuf_init(&changes, 1024);
	if (conf_restart_changes(old, now, &changes) > 0)
		log_warn("reload: takes effect at the next start only: %.*s",
		    SPAN_ARG(strbuf_view(&changes)));
	strbuf_free(&changes);
	apply_log(now, verbose);
	keep_secrets(now);
	(void)open_access_log(p, now);
	atomic_store(&p->shared.max_parked, now->max_parked);
	atomic_store(&p->max_connections, connections_of(now));
	pthread_mutex_lock(&p->conf_lock);
	p->conf = now;
	pthread_mutex_unlock(&p->conf_lock);
	conf_unref(old);
	proc_tell(p, order_conf, 0);
	await_conf(p, now->generation);
	log_info("reloaded: %zu services", now->nservices);
}

/* What the configuration names; all problems. */
static int
load_files(struct conf *c, struct conf_problems *problems)
{
	int tls = tls_set_load(c, problems);
	int auth = auth_load_conf(c, problems);
	int scripts = scripts_load(c, problems);

	return tls < 0 || auth < 0 || scripts < 0 ? -1 : 0;
}

static void
proc_reload(struct proc *p, const struct daemon_args *args)
{
	struct conf_problems problems = {0};
	struct conf *now =
	    conf_load(args->conf_path, args->over, args->nover, &problems);

	if (now && load_files(now, &problems) < 0) {
		conf_unref(now);
		now = NULL;
	}
	if (now && bind_conf(&p->shared.keys, now) < 0) {
		conf_unref(now);
		now = NULL;
		log_err("reload: out of memory");
	}
	for (size_t i = 0; i < problems.n; i++)
		log_err("reload: %s", problems.v[i]);
	conf_problems_free(&problems);
	if (now)
		proc_publish(p, now, args->verbose);
	else
		log_err("reload: the configuration in force stays as it is");
}

static int
proc_start(struct proc *p, struct listen_set *ls)
{
	for (unsigned i = 0; i < p->nworkers; i++)
		if (worker_init(&p->workers[i], p, i) < 0 ||
		    listen_start(&p->workers[i], ls) < 0)
			return -1;
	for (unsigned i = 0; i < p->nworkers; i++) {
		int err = pthread_create(&p->workers[i].thread, NULL,
		    worker_main, &p->workers[i]);

		if (err) {
			log_err("worker %u: no thread: %s", i, strerror(err));
			p->nstarted = i;
			return -1;
		}
		p->nstarted = i + 1;
	}
	return 0;
}

static void
proc_join(struct proc *p)
{
	for (unsigned i = 0; i < p->nstarted; i++)
		(void)pthread_join(p->workers[i].thread, NULL);
	p->nstarted = 0;
}

static bool
workers_done(struct proc *p)
{
	for (unsigned i = 0; i < p->nworkers; i++)
		if (!atomic_load(&p->workers[i].done))
			return false;
	return true;
}

/* The next signal; 0 after 100 ms without one. */
static int
next_signal(const sigset_t *set, bool wait_long)
{
	struct timespec short_time = {0, 100 * 1000 * 1000};
	int sig;

	do
		sig = wait_long ? sigwaitinfo(set, NULL)
				: sigtimedwait(set, NULL, &short_time);
	while (sig < 0 && errno == EINTR);
	return sig < 0 ? 0 : sig;
}

/* Signals until the end. */
static void
proc_attend(struct proc *p, const struct daemon_args *args, const sigset_t *set)
{
	int64_t drain_end = TIMER_NEVER, drain_began = INT64_MIN / 2;

	for (;;) {
		int sig = next_signal(set, drain_end == TIMER_NEVER);

		if (sig == SIGHUP && drain_end == TIMER_NEVER) {
			proc_reload(p, args);
		} else if (sig == SIGUSR1) {
			(void)open_access_log(p, p->conf);
		} else if (sig == SIGTERM || sig == SIGINT) {
			if (clock_mono_ms() - drain_began < SIGNAL_TWIN_MS)
				continue;
			if (drain_end != TIMER_NEVER) {
				log_info("stopping at once");
				break;
			}
			drain_began = clock_mono_ms();
			drain_end = drain_began + p->conf->drain_timeout_ms;
			log_info("draining, for %lld ms at most",
			    (long long)p->conf->drain_timeout_ms);
			proc_tell(p, order_drain, drain_end);
		}
		if (drain_end != TIMER_NEVER &&
		    (workers_done(p) || clock_mono_ms() >= drain_end))
			break;
	}
	proc_tell(p, order_stop, 0);
}

static void
proc_free(struct proc *p)
{
	proc_join(p);
	for (unsigned i = 0; i < p->nworkers; i++)
		if (p->workers[i].proc)
			worker_free(&p->workers[i]);
	checker_free(p->checker);
	loglimit_free(&p->login_log);
	loglimit_free(&p->copies_log);
	engine_shared_free(&p->shared);
	ways_free(&p->ways);
	conf_unref(p->conf);
	pthread_mutex_destroy(&p->conf_lock);
	mem_free(p->workers);
}

int
daemon_run(struct conf *conf, const struct daemon_args *args)
{
	static struct proc proc;
	struct listen_set ls;
	sigset_t set;
	int code = 2;

	apply_log(conf, args->verbose);
	keep_secrets(conf);
	raise_file_limit();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	/* A peer that left and a file at its limit are errors of one write. */
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	sigdelset(&set, SIGXFSZ);
	if (proc_init(&proc, conf_ref(conf)) < 0)
		return 2;
	ls = (struct listen_set){0};
	if (listen_open(&ls, conf, conf->workers) == 0 &&
	    proc_start(&proc, &ls) == 0) {
		log_info("ready: %u workers", proc.nworkers);
		proc_attend(&proc, args, &set);
		code = 0;
	} else if (proc.nstarted > 0) {
		proc_tell(&proc, order_stop, 0);
	}
	proc_join(&proc);
	listen_free(&ls, conf);
	proc_free(&proc);
	conf_unref(conf);
	log_info("stopped");
	return code;
}
