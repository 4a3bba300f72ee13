/* hub_observe.c: who ends a silent session of a shared database, and when; who commits is never ended, by whatever clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hub/observe.h"
#include "wal/store/shared.h"

enum { LEASE_MS = 3000, SESSIONS = 12 };

static void test_a_silent_session_is_named(void **state)
{
    TfyObserver observer = {.session = 2};
    TfyLiving beats[] = {{1, 5, LEASE_MS}, {2, 9, LEASE_MS}, {4, 1, 2 * LEASE_MS}}, late[4];
    (void)state;
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 1000, late, 4), 0);
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 1000 + LEASE_MS + LEASE_MS / 10 - 1, late, 4), 0);
    beats[1].beat++;
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 1000 + LEASE_MS + LEASE_MS / 10, late, 4), 1);
    assert_int_equal(late[0].session, 1);
    assert_int_equal(late[0].beat, 5);
    beats[0].beat++; /* it lives after all: its ending was refused */
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 5000, late, 4), 0);
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 1000 + 2 * (LEASE_MS + LEASE_MS / 10), late, 4), 1);
    assert_int_equal(late[0].session, 4); /* its lease is longer; and this process does not end itself */
    tfy__observer_free(&observer);
}

static void test_more_than_there_is_room_for(void **state)
{
    TfyObserver observer = {.session = 9};
    const TfyLiving beats[] = {{1, 0, LEASE_MS}, {2, 0, LEASE_MS}, {3, 0, LEASE_MS}};
    TfyLiving late[2];
    (void)state;
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 0, late, 2), 0);
    assert_int_equal(tfy__observer_see(&observer, beats, 3, 4000, late, 2), 2);
    assert_int_equal(tfy__observer_see(&observer, beats + 2, 1, 4001, late, 2), 1);
    assert_int_equal(late[0].session, 3);
    assert_int_equal(tfy__observer_see(&observer, NULL, 0, 4002, late, 2), 0);
    assert_int_equal(tfy__observer_see(&observer, beats, 1, 9000, late, 2), 0); /* seen anew */
    tfy__observer_free(&observer);
}

static void test_many_read_seldom(void **state)
{
    TfyObserver observer = {.session = 1};
    TfyLiving beats[200], late[1];
    (void)state;
    assert_int_equal(tfy__observer_pause_ms(&observer), 1000);
    for (int i = 0; i < 200; i++) beats[i] = (TfyLiving){i + 1, 0, LEASE_MS};
    tfy__observer_see(&observer, beats, 200, 0, late, 1);
    assert_int_equal(tfy__observer_pause_ms(&observer), 1000);
    observer.session = 5;
    tfy__observer_see(&observer, beats, 200, 0, late, 1);
    assert_int_equal(tfy__observer_pause_ms(&observer), 2000);
    observer.session = 200;
    tfy__observer_see(&observer, beats, 200, 0, late, 1);
    assert_int_equal(tfy__observer_pause_ms(&observer), 30000);
    tfy__observer_free(&observer);
}

/* ---- many sessions at one database, whose clocks run at other rates ---- */

typedef struct Member {
    int64_t session;
    TfyObserver observer;
    int rate;         /* of its clock, in thousandths of the true one */
    int64_t sent_us;  /* true time of its newest commit */
    int64_t next_us;  /* when it commits next */
    int64_t reads_us; /* when it reads next */
    int64_t stops_us; /* from then on it does nothing */
} Member;

typedef struct Cluster {
    TfyShared *shared;
    Member members[SESSIONS];
    uint64_t seed;
    int64_t now_us;
} Cluster;

static int64_t draw(Cluster *cluster, int64_t below)
{
    cluster->seed = cluster->seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((cluster->seed >> 33) % (uint64_t)below);
}

/* What its clock shows, in milliseconds. */
static int64_t clock_of(const Cluster *cluster, const Member *member)
{
    return cluster->now_us * member->rate / 1000 / 1000;
}

static void commit(Cluster *cluster, Member *member)
{
    TfySharedSession *session = tfy__shared_session(cluster->shared, member->session);
    if (session->state == TFY_SESSION_LIVES) session->beat++;
    member->sent_us = cluster->now_us;
    /* A lease by its own clock at the latest, which is its deadline and a tenth. */
    member->next_us = cluster->now_us + draw(cluster, LEASE_MS * 9 / 10) * 1000 * 1000 / member->rate + 1;
}

static uint32_t read_beats(const Cluster *cluster, TfyLiving *beats)
{
    uint32_t count = 0;
    for (size_t i = 0; i < cluster->shared->sessions.filled; i++) {
        const TfySharedSession *session = tfy__rows_at(&cluster->shared->sessions, i);
        if (session->state == TFY_SESSION_LIVES)
            beats[count++] = (TfyLiving){session->id, session->beat, session->lease_ms};
    }
    return count;
}

static void observe(Cluster *cluster, Member *member)
{
    TfyLiving beats[SESSIONS], late[SESSIONS];
    const uint32_t count = read_beats(cluster, beats);
    const int named = tfy__observer_see(&member->observer, beats, count, clock_of(cluster, member), late, SESSIONS);
    for (int i = 0; i < named; i++) {
        Member *other = &cluster->members[late[i].session - 1];
        assert_true(tfy__shared_end_session(cluster->shared, late[i].session, late[i].beat));
        /* It had stopped, and its tools have been dead since its deadline, by its own clock. */
        assert_true(cluster->now_us >= other->stops_us);
        assert_true((cluster->now_us - other->sent_us) * other->rate / 1000 >= LEASE_MS * 900);
    }
    member->reads_us = cluster->now_us + tfy__observer_pause_ms(&member->observer) * 1000 * 1000 / member->rate;
}

static void run_cluster(uint64_t seed)
{
    Cluster cluster = {.shared = tfy__shared_new(), .seed = seed};
    const int64_t end_us = 60000000;
    for (int i = 0; i < SESSIONS; i++) {
        Member *member = &cluster.members[i];
        *member = (Member){.session = tfy__shared_open_session(cluster.shared, LEASE_MS), .rate = 975};
        member->rate += (int)draw(&cluster, 51);
        member->observer.session = member->session;
        member->stops_us = i % 3 == 2 ? draw(&cluster, 40000000) : INT64_MAX;
        commit(&cluster, member);
    }
    for (; cluster.now_us < end_us; cluster.now_us += 1000 + draw(&cluster, 20000)) {
        for (int i = 0; i < SESSIONS; i++) {
            Member *member = &cluster.members[i];
            if (cluster.now_us >= member->stops_us) continue;
            if (cluster.now_us >= member->next_us) commit(&cluster, member);
            if (cluster.now_us >= member->reads_us) observe(&cluster, member);
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        const bool lives = tfy__shared_session(cluster.shared, i + 1)->state == TFY_SESSION_LIVES;
        assert_true(lives == (cluster.members[i].stops_us > end_us));
        tfy__observer_free(&cluster.members[i].observer);
    }
    tfy__shared_free(cluster.shared);
}

static void test_clocks_of_other_rates(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) run_cluster(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_session_is_named),
        cmocka_unit_test(test_more_than_there_is_room_for),
        cmocka_unit_test(test_many_read_seldom),
        cmocka_unit_test(test_clocks_of_other_rates),
    };
    return cmocka_run_group_tests_name("hub_observe", tests, NULL, NULL);
}
