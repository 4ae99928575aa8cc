/* A fork-join pool: one job at a time, ranges claimed from a counter, workers that spin briefly and then sleep.
   A job waits only for workers that entered it, so one that is slow to wake delays nobody. Knows nothing of what
   the jobs compute. */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "denormals.h"

#define MAX_THREADS 256
#define SPIN_NS 60000 /* longer than the gap between two operations of a decode step, too short to notice when idle */

#define OPEN (UINT64_C(1) << 31)      /* state: the job's epoch << 32 | OPEN | workers inside */
#define INSIDE (OPEN - 1)
#define EPOCH(state) ((uint32_t)((state) >> 32))

static struct {
  _Alignas(64) _Atomic uint64_t state;
  _Alignas(64) _Atomic int64_t next; /* first unclaimed index */
  _Alignas(64) numr_body body;       /* the job: written before OPEN, read after entering */
  void *ctx;
  int64_t n, grain;
  atomic_int busy, sleepers, threads;
  int started; /* workers of this process; guarded by busy */
  pthread_mutex_t lock;
  pthread_cond_t wake;
} pool = {.threads = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static _Thread_local int in_job;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void drain(void) {
  for (;;) {
    int64_t lo = atomic_fetch_add_explicit(&pool.next, pool.grain, memory_order_relaxed);
    if (lo >= pool.n) return;
    int64_t hi = pool.n - lo > pool.grain ? lo + pool.grain : pool.n;
    pool.body(pool.ctx, lo, hi);
  }
}

static uint64_t spin_for_job(uint32_t seen) {
  int64_t until = 0;
  uint64_t state;
  for (unsigned i = 0; EPOCH(state = atomic_load(&pool.state)) == seen; i++) {
    relax();
    if (i % 16 != 15) continue;
    int64_t now = now_ns();
    if (!until) until = now + SPIN_NS;
    if (now > until) break;
  }
  return state;
}

/* `sleepers` goes up before the state is read again, and the caller publishes the state before it reads `sleepers`:
   one of the two always sees the other, and the lock keeps the wake-up from passing before the wait begins. */
static uint64_t sleep_for_job(uint32_t seen) {
  uint64_t state;
  pthread_mutex_lock(&pool.lock);
  atomic_fetch_add(&pool.sleepers, 1);
  while (EPOCH(state = atomic_load(&pool.state)) == seen) pthread_cond_wait(&pool.wake, &pool.lock);
  atomic_fetch_sub(&pool.sleepers, 1);
  pthread_mutex_unlock(&pool.lock);
  return state;
}

static int enter(uint64_t state) {
  uint32_t epoch = EPOCH(state);
  while ((state & OPEN) && EPOCH(state) == epoch && (int)(state & INSIDE) < atomic_load(&pool.threads) - 1)
    if (atomic_compare_exchange_weak(&pool.state, &state, state + 1)) return 1;
  return 0;
}

static void *work(void *first) {
  uint32_t seen = (uint32_t)(uintptr_t)first;
  in_job = 1;
  denormals_off();
  for (;;) {
    uint64_t state = spin_for_job(seen);
    if (EPOCH(state) == seen) state = sleep_for_job(seen);
    seen = EPOCH(state);
    if (!enter(state)) continue;
    drain();
    atomic_fetch_sub(&pool.state, 1);
  }
  return NULL;
}

/* Only the thread that owns the job calls this. Signals stay with the threads the program made. */
static void start_workers(void) {
  int wanted = atomic_load(&pool.threads) - 1;
  if (pool.started >= wanted) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.started < wanted) {
    pthread_t thread;
    uintptr_t epoch = EPOCH(atomic_load(&pool.state));
    if (pthread_create(&thread, NULL, work, (void *)epoch)) break;
    pthread_detach(thread);
    pool.started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void run_here(int64_t n, numr_body body, void *ctx) {
  int outer = in_job;
  denormals_mode mode = denormals_off();
  in_job = 1;
  body(ctx, 0, n);
  in_job = outer;
  denormals_restore(mode);
}

static void run_shared(void) {
  denormals_mode mode = denormals_off();
  in_job = 1;
  uint64_t next = (uint64_t)(uint32_t)(EPOCH(atomic_load(&pool.state)) + 1) << 32;
  atomic_store(&pool.state, next | OPEN);
  if (atomic_load(&pool.sleepers)) {
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
  }
  drain();
  atomic_fetch_and(&pool.state, ~OPEN);
  for (unsigned i = 0; atomic_load(&pool.state) & INSIDE; i++) {
    if (i < 4096) relax();
    else sched_yield(); /* a worker lost its core inside a range */
  }
  in_job = 0;
  denormals_restore(mode);
}

void numr_parallel_for(int64_t n, int64_t grain, numr_body body, void *ctx) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (n <= grain || in_job || atomic_load(&pool.threads) < 2 || atomic_exchange(&pool.busy, 1)) {
    run_here(n, body, ctx);
    return;
  }
  start_workers();
  pool.body = body;
  pool.ctx = ctx;
  pool.n = n;
  pool.grain = grain;
  atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
  run_shared();
  atomic_store(&pool.busy, 0);
}

int numr_threads(void) { return atomic_load(&pool.threads); }

/* Workers beyond a smaller count stay asleep; missing ones start with the next job. */
void numr_set_threads(int n) { atomic_store(&pool.threads, n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n); }

/* A forked child has none of the workers, and may have copied the pool in the middle of another thread's job. */
static void reset_in_child(void) {
  pool.started = 0;
  atomic_store(&pool.state, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.busy, 0);
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.wake, NULL);
}

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, reset_in_child); }
