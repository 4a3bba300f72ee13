/* lease.c: the deadline of this process, in a page that its watchers and stubs share. */
#include "base/lease.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS     INT64_C(1000000)
#define NS_PER_S      INT64_C(1000000000)
#define MARGIN_NS     (2 * NS_PER_S)
#define MARGIN_PART   10   /* … or this part of the lease */
#define LATE_PART     20   /* of the lease: how long watchers and stubs may be late before the kernel kills them */
#define STEP_PART     1000 /* a renewal that moves the deadline by less than this part of the lease is left out */
#define DEADLINE_MASK (~INT64_C(1))
#define ENDED         INT64_C(1) /* in a deadline, whose own lowest bit is 0: the end has begun */

typedef struct Page {
    _Atomic int64_t deadline; /* ns of CLOCK_BOOTTIME, and ENDED; 0: no commit was acknowledged yet */
    _Atomic int64_t margin_ns, late_ns;
} Page;

static Page *_Atomic shared; /* NULL: there is no lease */
static TfyLeaseTimer own;
static atomic_bool watched; /* a watcher was forked while there was no lease */
static int told = -1;

int64_t tfy__lease_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t word(void)
{
    return shared ? atomic_load(&shared->deadline) : 0;
}

static int64_t margin(void)
{
    return atomic_load(&shared->margin_ns);
}

/* ---- the timer ---- */

/* The C library's functions may allocate, which is not allowed after a fork. */
static int arm(TfyLeaseTimer *timer, int64_t deadline, int64_t late_ns)
{
    const int64_t at_ns = deadline + late_ns;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec when = {.it_value = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S}};
    if (timer->deadline == deadline) return 0;
    if (!timer->made && syscall(SYS_timer_create, CLOCK_BOOTTIME, &event, &timer->id) < 0) return errno;
    timer->made = true;
    if (syscall(SYS_timer_settime, timer->id, TIMER_ABSTIME, &when, NULL) < 0) return errno;
    timer->deadline = deadline;
    return 0;
}

int tfy__lease_timer_set(TfyLeaseTimer *timer)
{
    const int64_t deadline = word() & DEADLINE_MASK;
    return deadline ? arm(timer, deadline, atomic_load(&shared->late_ns)) : 0;
}

void tfy__lease_timer_stop(TfyLeaseTimer *timer)
{
    if (timer->deadline) arm(timer, 0, 0);
}

/* ---- the runtime ---- */

static int begin(int64_t lease_ns)
{
    Page *page;
    if (shared) return 0;
    if (getpid() == 1) return -EPERM;
    if (atomic_load(&watched)) return -EBUSY;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return -errno;
    atomic_store(&page->margin_ns, lease_ns / MARGIN_PART < MARGIN_NS ? lease_ns / MARGIN_PART : MARGIN_NS);
    atomic_store(&page->late_ns, lease_ns / LATE_PART);
    shared = page;
    return 0;
}

/* The timer comes first: no moment without one. If the end has begun meanwhile, it is the watcher's matter. */
int tfy__lease_renew(int64_t sent_ns, int64_t lease_ms)
{
    const int64_t lease_ns = lease_ms * NS_PER_MS;
    const int64_t deadline = tfy__lease_deadline_ns(sent_ns, lease_ms) & DEADLINE_MASK;
    const int refused = begin(lease_ns);
    if (refused) return refused;
    int64_t before = word();
    if (before & ENDED) return -ECANCELED;
    if (deadline - before < lease_ns / STEP_PART) return 0;
    const int error = arm(&own, deadline, 0);
    if (error) return -error;
    while (!atomic_compare_exchange_weak(&shared->deadline, &before, deadline)) {
        if (before & ENDED) return -ECANCELED;
    }
    return 0;
}

bool tfy__lease_ahead(void)
{
    const int64_t deadline = word() & DEADLINE_MASK;
    return !deadline || tfy__lease_now_ns() < deadline;
}

void tfy__lease_tell(int fd)
{
    told = fd;
}

int tfy__lease_told(void)
{
    return told;
}

/* ---- watchers and stubs ---- */

void tfy__lease_watched(void)
{
    if (!shared) atomic_store(&watched, true);
}

static TfyLeasePhase phase_at(int64_t deadline, int64_t now_ns)
{
    if (!deadline) return TFY_LEASE_NONE;
    if (now_ns < deadline - margin()) return TFY_LEASE_HELD;
    return now_ns < deadline - margin() / 2 ? TFY_LEASE_ENDING : TFY_LEASE_LAST;
}

TfyLeasePhase tfy__lease_phase(void)
{
    return phase_at(word() & DEADLINE_MASK, tfy__lease_now_ns());
}

static int64_t until_ms(int64_t at_ns, int64_t now_ns)
{
    return at_ns > now_ns ? (at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
}

int64_t tfy__lease_sleep_ms(const TfyLeaseTimer *timer)
{
    const int64_t now_ns = tfy__lease_now_ns();
    switch (phase_at(timer->deadline, now_ns)) {
    case TFY_LEASE_NONE: return -1;
    case TFY_LEASE_HELD: return until_ms(timer->deadline - margin(), now_ns);
    case TFY_LEASE_ENDING: return until_ms(timer->deadline - margin() / 2, now_ns);
    default: return 0;
    }
}

int64_t tfy__lease_kill_ms(void)
{
    const int64_t deadline = word() & DEADLINE_MASK;
    return deadline ? until_ms(deadline - margin() / 2, tfy__lease_now_ns()) : -1;
}

bool tfy__lease_end(void)
{
    int64_t now = word();
    do {
        if (now & ENDED) return true;
        if (phase_at(now, tfy__lease_now_ns()) <= TFY_LEASE_HELD) return false;
    } while (!atomic_compare_exchange_weak(&shared->deadline, &now, now | ENDED));
    return true;
}

bool tfy__lease_ended(void)
{
    return word() & ENDED;
}
