/* compact.c: inspects every task of the run, then decides which are kept, then walks all chains again and deletes
 * records: itself in one transaction, or in parts by the process that has the database (thin.h). */
#include "wal/keep/compact.h"
#include "base/grow.h"
#include "base/lower_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "wal/keep/thin.h"
#include "wal/store/store_sqlite.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* Records that are shown or compared long after their step: the newest of each kind stays. */
enum { COMMIT, PREVIEW, APPLIED, PLAN, ANSWER, KINDS };

enum { TRIES = 5 };

/* A task of the run. */
typedef struct Member {
    int64_t tid, born;
    int64_t last; /* its newest record before the snapshot, apart from Texts; 0: none */
    bool plan;    /* that is an LLMPlan */
    /* Records of this step and of later ones stay; INT64_MAX: the task had finished, or was not created yet. */
    int64_t step;
    struct Member *parent; /* NULL: of the root, or not found */
    int64_t records;       /* its own before the snapshot; in parts, also those of all tasks that go with it */
    bool kept;
} Member;

/* What the other process deletes next. */
typedef struct Part {
    json_t *drop, *gaps, *tasks; /* arrays, as thin.h has them; NULL: no memory */
    int64_t first, last;         /* the range that is not in `drop` yet; 0: none */
    int64_t records;             /* in all ranges */
    bool failed;                 /* no memory: it is incomplete */
} Part;

/* A Text from before the snapshot. */
typedef struct Sent {
    uint64_t digest, of; /* of: the Text that it starts like; 0: none */
    int64_t lsn;
    bool named; /* it stays */
} Sent;

typedef struct Compacting {
    Gc *gc;
    TfyGcCompacted *run;
    const TfyHistory *tail; /* from the snapshot on */
    Member *members;        /* tid ascending, and therefore born, too */
    size_t count, room;
    size_t *queue; /* kept members whose relatives are still to be inspected */
    size_t queued;
    bool handed_on;  /* results of tasks may name other tasks */
    int64_t checked; /* the snapshot from which a replay has succeeded */
    Part part;
    int64_t newest[KINDS]; /* lsn; 0: none */
    int64_t owner[KINDS];  /* tid */
    Sent *sent;
    size_t sent_count, sent_room;
} Compacting;

/* A walk down one task's chain. */
typedef struct Walk {
    Compacting *compacting;
    Member *member;
    bool apply;           /* delete records; otherwise only count them */
    bool head_stays;      /* a task that is not kept loses all records but its newest one */
    int64_t above;        /* the kept record above; 0: none */
    bool hole;            /* records between that and here are deleted */
    uint64_t hole_chain;  /* chain of the newest of them */
    bool above_gapped;    /* earlier deletions already left a gap there */
    uint64_t above_chain; /* the newest of those */
} Walk;

static int64_t before(const Compacting *c)
{
    return c->run->base;
}

/* ---- members ---- */

static int take_member(void *state, const TfyStoreTask *row)
{
    Compacting *c = state;
    if (!GROW(c->members, c->room, c->count + 1, 64)) return TFY_E_NOMEM;
    c->members[c->count++] = (Member){.tid = row->tid, .born = row->born, .step = INT64_MAX};
    return 0;
}

static int64_t number_of(const Member *member)
{
    return member->tid;
}

static int64_t birth_of(const Member *member)
{
    return member->born;
}

static Member *find_member(const Compacting *c, int64_t (*key)(const Member *member), int64_t value)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (key(&c->members[middle]) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->count && key(&c->members[low]) == value ? &c->members[low] : NULL;
}

static Member *member_of(const Compacting *c, int64_t tid)
{
    return find_member(c, number_of, tid);
}

/* The member that a record started. */
static Member *born_of(const Compacting *c, int64_t lsn)
{
    return find_member(c, birth_of, lsn);
}

static void keep(Compacting *c, Member *member)
{
    if (!member || member->kept) return;
    member->kept = true;
    c->queue[c->queued++] = (size_t)(member - c->members);
}

/* Finds the tasks that were alive at the snapshot, and the step of each. */
static void take_live(Compacting *c)
{
    const json_t *tasks = tfy__member_get(c->tail->snapshot, TFY_S_TASKS), *task;
    size_t i;
    json_array_foreach(tasks, i, task)
    {
        Member *member = member_of(c, c->run->run.root + tfy__member_int(task, TFY_S_TASK));
        const json_t *step = tfy__member_get(tfy__member_get(task, TFY_S_PENDING), TFY_S_STEP);
        if (!step) step = tfy__member_get(task, TFY_S_STEP);
        if (!member) continue;
        member->step = json_integer_value(step) > 0 ? json_integer_value(step) : 1;
        keep(c, member);
    }
}

/* ---- a first pass over all records ---- */

/* An answer with a structure is what inspect calls the plan. */
static bool is_plan(const TfyLogRecord *record)
{
    char *answer = tfy__record_text(record, TFY_P_ANSWER);
    const bool is = answer && (*answer == '{' || *answer == '[');
    free(answer);
    return is;
}

static void note(Compacting *c, int kind, const TfyLogRecord *record)
{
    if (record->lsn <= c->newest[kind] || tfy__record_failed(record)) return;
    c->newest[kind] = record->lsn;
    c->owner[kind] = record->tid;
}

static void note_kinds(Compacting *c, const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_COMMIT: note(c, COMMIT, record); break;
    case TFY_R_PATCH_PREVIEW: note(c, PREVIEW, record); break;
    case TFY_R_LLM_PLAN:
        note(c, ANSWER, record);
        if (record->lsn > c->newest[PLAN] && is_plan(record)) note(c, PLAN, record);
        break;
    case TFY_R_TOOL_RESULT:
        if (record->lsn > c->newest[APPLIED] && tfy__record_is(record, TFY_P_TOOL, "apply")) note(c, APPLIED, record);
        break;
    default: break;
    }
}

static int note_text(Compacting *c, const TfyLogRecord *record)
{
    TfyPayload payload;
    if (!GROW(c->sent, c->sent_room, c->sent_count + 1, 64)) return TFY_E_NOMEM;
    tfy__payload_open(&payload, record);
    c->sent[c->sent_count++] = (Sent){.digest = tfy__payload_hex(&payload, TFY_P_DIGEST),
                                      .of = tfy__payload_hex(&payload, TFY_P_OF),
                                      .lsn = record->lsn};
    tfy__payload_close(&payload);
    return 0;
}

static int look_at(void *state, const TfyLogRecord *record, const TfyStoreGap *gap)
{
    (void)gap;
    Walk *walk = state;
    Compacting *c = walk->compacting;
    if (record->lsn >= before(c)) {
        keep(c, walk->member);
        return 0;
    }
    walk->member->records++;
    if (record->type == TFY_R_TEXT) return note_text(c, record);
    if (!walk->member->last) {
        walk->member->last = record->lsn;
        walk->member->plan = record->type == TFY_R_LLM_PLAN;
    }
    Member *child = born_of(c, record->lsn);
    if (child) child->parent = walk->member;
    note_kinds(c, record);
    return 0;
}

static int look_at_all(Compacting *c)
{
    int code = 0;
    for (size_t i = 0; !code && i < c->count; i++) {
        Walk walk = {.compacting = c, .member = &c->members[i]};
        if (walk.member->born > before(c)) keep(c, walk.member);
        code = tfy__gc_walk(c->gc, &c->run->run, walk.member->tid, look_at, &walk);
    }
    return code;
}

/* ---- which tasks are kept ---- */

static bool mentions_tasks(const json_t *type)
{
    const char *text = json_string_value(json_object_get(type, "result"));
    json_t *fields = json_object_get(type, "fields");
    char *all = text ? strdup(text) : json_dumps(fields ? fields : json_object_get(type, "cases"), JSON_COMPACT);
    const bool does = all && strstr(all, "task<");
    free(all);
    return does;
}

/* The results of tasks can name other tasks only if the type of some result, or of a field of some declared type,
 * contains tasks. */
static bool hands_tasks_on(const TfyHistory *tail)
{
    json_t *layout = json_loads(tail->program_layout, 0, NULL), *one;
    bool does = !layout || tail->run.moved_lsn; /* then earlier programs count, too */
    size_t i;
    json_array_foreach(json_object_get(layout, "workflows"), i, one) does |= mentions_tasks(one);
    json_array_foreach(json_object_get(layout, "types"), i, one) does |= mentions_tasks(one);
    json_decref(layout);
    return does;
}

static void keep_number(Compacting *c, const char *digits)
{
    const size_t len = strlen(digits);
    if (len && len < 16 && strspn(digits, "0123456789") == len)
        keep(c, member_of(c, c->run->run.root + strtoll(digits, NULL, 10)));
}

/* Every number in it counts as a task's: keeping one too many costs little. Values are never nested deeper than
 * this. */
static void keep_named(Compacting *c, const json_t *json)
{
    const char *key;
    json_t *one;
    size_t i;
    if (json_is_integer(json) && json_integer_value(json) >= 0 && json_integer_value(json) < INT64_C(1) << 50)
        keep(c, member_of(c, c->run->run.root + json_integer_value(json)));
    if (json_is_string(json)) keep_number(c, json_string_value(json));
    json_array_foreach(json, i, one) keep_named(c, one);
    json_object_foreach((json_t *)json, key, one)
    {
        keep_number(c, key);
        keep_named(c, one);
    }
}

static int keep_around(Compacting *c, const Member *member)
{
    TfyLogRecord record;
    TfyStore *store = c->gc->store;
    int code = 0;
    if (member->tid != c->run->run.root) {
        code = TFY_STORE(store, TFY_CALL_READ, get_record, c->run->run.id, member->born, &record);
        if (!code) keep(c, member_of(c, record.tid));
    }
    if (code || !member->last) return code;
    keep(c, born_of(c, member->last));
    if (!c->handed_on) return 0;
    code = TFY_STORE(store, TFY_CALL_READ, get_record, c->run->run.id, member->last, &record);
    if (code) return code;
    TfyPayload payload;
    tfy__payload_open(&payload, &record);
    keep_named(c, payload.json);
    tfy__payload_close(&payload);
    return 0;
}

static int settle_kept(Compacting *c)
{
    int code = 0;
    keep_named(c, c->tail->snapshot);
    keep(c, member_of(c, c->run->run.root));
    for (size_t i = 0; i < c->count; i++)
        if (!c->members[i].parent) keep(c, &c->members[i]);
    for (int kind = 0; kind < KINDS; kind++)
        if (c->newest[kind]) keep(c, member_of(c, c->owner[kind]));
    while (!code && c->queued) code = keep_around(c, &c->members[c->queue[--c->queued]]);
    return code;
}

/* ---- which texts are kept: those that records can still name ---- */

static int by_digest(const void *a, const void *b)
{
    const Sent *one = a, *other = b;
    if (one->digest != other->digest) return one->digest < other->digest ? -1 : 1;
    return one->lsn < other->lsn ? -1 : one->lsn > other->lsn;
}

static int by_lsn(const void *a, const void *b)
{
    const Sent *one = a, *other = b;
    return one->lsn < other->lsn ? -1 : one->lsn > other->lsn;
}

/* With the text that it starts like, and so on. Of a text that was written again the first one stays, as readers take
 * it. */
static void name_text(Compacting *c, const char *hex)
{
    uint64_t digest = hex ? strtoull(hex, NULL, 16) : 0;
    while (digest) {
        const size_t at = LOWER_BOUND(c->sent, c->sent_count, digest, digest);
        if (at == c->sent_count || c->sent[at].digest != digest || c->sent[at].named) return;
        c->sent[at].named = true;
        digest = c->sent[at].of;
    }
}

/* What performers know as recorded: later records name it without writing it again. */
static void name_known(Compacting *c)
{
    const char *name;
    json_t *kept;
    const json_t *text;
    size_t i;
    json_object_foreach(c->tail->snapshot, name, kept)
    {
        json_array_foreach(tfy__member_get(kept, TFY_S_TEXTS), i, text) name_text(c, json_string_value(text));
    }
}

/* What the kept LLMPlan names. */
static int name_of_plan(Compacting *c, int64_t lsn)
{
    TfyLogRecord record;
    TfyPayload payload;
    const json_t *name;
    size_t i;
    const int code = lsn ? TFY_STORE(c->gc->store, TFY_CALL_READ, get_record, c->run->run.id, lsn, &record) : 0;
    if (!lsn || code) return code;
    tfy__payload_open(&payload, &record);
    json_array_foreach(tfy__payload_get(&payload, TFY_P_TEXTS), i, name)
        name_text(c, json_string_value(json_array_get(name, 1)));
    tfy__payload_close(&payload);
    return 0;
}

static int name_texts(Compacting *c)
{
    if (!c->sent_count) return 0;
    qsort(c->sent, c->sent_count, sizeof *c->sent, by_digest);
    name_known(c);
    int code = name_of_plan(c, c->newest[PLAN]);
    if (!code) code = name_of_plan(c, c->newest[ANSWER]);
    for (size_t i = 0; !code && i < c->count; i++) /* the newest record of a task may be one */
        if (c->members[i].kept && c->members[i].plan) code = name_of_plan(c, c->members[i].last);
    qsort(c->sent, c->sent_count, sizeof *c->sent, by_lsn);
    return code;
}

static bool is_named(const Compacting *c, int64_t lsn)
{
    const size_t at = LOWER_BOUND(c->sent, c->sent_count, lsn, lsn);
    return at < c->sent_count && c->sent[at].lsn == lsn && c->sent[at].named;
}

/* ---- which records ---- */

/* Whether the record belongs to something that a live task has started and not finished: its step, or its
 * cancellation. */
static bool is_pending(const Member *member, const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_STEP_START:
    case TFY_R_TASK_YIELD:
    case TFY_R_TASK_WAIT_IO:
    case TFY_R_RETRY:
    case TFY_R_IN_DOUBT:
    case TFY_R_RESOLVED: return record->step >= member->step;
    case TFY_R_TASK_CANCEL: return true;
    case TFY_R_SIGNAL: return tfy__record_is_kill(record);
    default: return false;
    }
}

static bool stays(const Walk *walk, const TfyLogRecord *record)
{
    const Compacting *c = walk->compacting;
    const Member *born = born_of(c, record->lsn);
    if (!walk->member->kept) return walk->head_stays && record->lsn == walk->member->last;
    if (born) return born->kept;
    if (record->lsn >= before(c) || record->lsn == walk->member->last || record->type == TFY_R_MOVED) return true;
    if (record->type == TFY_R_TEXT) return is_named(c, record->lsn);
    for (int kind = 0; kind < KINDS; kind++)
        if (record->lsn == c->newest[kind]) return true;
    return walk->member->step != INT64_MAX && is_pending(walk->member, record);
}

static void add_to(Part *part, json_t *array, json_t *item)
{
    part->failed |= json_array_append_new(array, item) != 0;
}

static void add_range(Part *part)
{
    if (part->first) add_to(part, part->drop, json_pack("[II]", (json_int_t)part->first, (json_int_t)part->last));
    part->first = part->last = 0;
}

/* Records come from the newest to the oldest. */
static void add_record(Part *part, int64_t lsn)
{
    if (part->first != lsn + 1) {
        add_range(part);
        part->last = lsn;
    }
    part->first = lsn;
    part->records++;
}

/* Beside a process that writes, nothing is held while that process or a person waits: what was read last would stay
 * open, and keep the -wal file from being emptied. */
static void look_away(const Gc *gc)
{
    if (gc->options->send) gc->store->ops->look_away(gc->store);
}

static int send_part(Compacting *c)
{
    const Gc *gc = c->gc;
    char uuid[37];
    Part *part = &c->part;
    tfy__uuid_text(c->run->run.uuid, uuid);
    add_range(part);
    const bool failed = part->failed;
    json_t *request = json_pack("{s:s,s:s,s:I,s:I,s:I,s:o,s:o,s:o}", "do", "thin", "run", uuid, "id",
                                (json_int_t)c->run->run.id, "from", (json_int_t)c->run->run.base_lsn, "base",
                                (json_int_t)before(c), "drop", part->drop, "gaps", part->gaps, "tasks", part->tasks);
    *part = (Part){.drop = json_array(), .gaps = json_array(), .tasks = json_array()};
    look_away(gc);
    const int code =
        request && !failed ? gc->options->send(gc->options->send_state, request, gc->error_text) : TFY_E_NOMEM;
    json_decref(request);
    return code;
}

static int put_gap(const Walk *walk, int64_t below)
{
    const TfyStoreGap gap = {.lsn = walk->above, .below = below, .chain = walk->hole_chain};
    Compacting *c = walk->compacting;
    if (!walk->apply) return 0;
    if (!c->gc->options->send) return TFY_STORE(c->gc->store, TFY_CALL_PUT, put_gap, &gap);
    add_to(&c->part, c->part.gaps,
           json_pack("[III]", (json_int_t)gap.lsn, (json_int_t)gap.below, (json_int_t)gap.chain));
    return 0;
}

static int drop_task(Compacting *c, Member *member);

/* A task goes with the record that started it. A full part is sent with the hole as it is so far, which the next part
 * widens; but nothing is above a task that goes as a whole, so it stays within a part. */
static int drop_by_part(Walk *walk, const TfyLogRecord *record, int64_t below)
{
    Compacting *c = walk->compacting;
    Member *child = born_of(c, record->lsn);
    add_record(&c->part, record->lsn);
    int code = child ? drop_task(c, child) : 0;
    if (code || c->part.records < c->gc->part_records || !walk->above) return code;
    code = put_gap(walk, below);
    return code ? code : send_part(c);
}

static int drop(Walk *walk, const TfyLogRecord *record, int64_t below)
{
    Compacting *c = walk->compacting;
    if (!walk->hole) walk->hole_chain = walk->above_gapped ? walk->above_chain : record->chain;
    walk->hole = true;
    c->run->records++;
    c->run->bytes += tfy__gc_record_bytes(record);
    if (!walk->apply) return 0;
    return c->gc->options->send ? drop_by_part(walk, record, below) : tfy__gc_delete_record(c->gc, record);
}

static int see_record(void *state, const TfyLogRecord *record, const TfyStoreGap *gap)
{
    Walk *walk = state;
    if (!stays(walk, record)) return drop(walk, record, gap ? gap->below : record->prev);
    const int code = walk->hole && walk->above ? put_gap(walk, record->lsn) : 0;
    walk->hole = false;
    walk->above = record->lsn;
    walk->above_gapped = gap != NULL;
    if (gap) walk->above_chain = gap->chain;
    return code;
}

static int thin_records(Walk *walk)
{
    Compacting *c = walk->compacting;
    TfyStoreTask row;
    int code = TFY_STORE(c->gc->store, TFY_CALL_READ, get_task, c->run->run.id, walk->member->tid, &row);
    const int64_t base = row.base;
    if (!code) code = tfy__gc_walk(c->gc, &c->run->run, walk->member->tid, see_record, walk);
    return !code && walk->hole && walk->above ? put_gap(walk, base) : code;
}

static int drop_task(Compacting *c, Member *member)
{
    Walk walk = {.compacting = c, .member = member, .apply = true};
    const int code = thin_records(&walk);
    add_to(&c->part, c->part.tasks, json_integer(member->tid));
    return code;
}

static int thin_task(Compacting *c, Member *member, bool apply)
{
    char text[96];
    Walk walk = {.compacting = c, .member = member, .apply = apply};
    const int code = thin_records(&walk);
    if (code || member->kept || !apply) return code;
    snprintf(text, sizeof text, "DELETE FROM inbox WHERE tid=%" PRId64 "; DELETE FROM task WHERE tid=%" PRId64,
             member->tid, member->tid);
    return tfy__gc_execute(c->gc, text);
}

static int thin(Compacting *c, bool apply)
{
    int code = 0;
    c->run->records = c->run->bytes = 0;
    for (size_t i = 0; !code && i < c->count; i++) code = thin_task(c, &c->members[i], apply);
    return code;
}

/* A task that goes, with all those below it, when its parent is thinned. If they do not fit into one part, it first
 * loses all but its newest record, and the tasks below it. */
static int thin_going(Compacting *c, Member *member)
{
    int code = 0;
    if (member->records > c->gc->part_records) {
        Walk walk = {.compacting = c, .member = member, .apply = true, .head_stays = true};
        code = thin_records(&walk);
        if (!code) code = send_part(c);
        member->records = 1;
    }
    member->parent->records += member->records;
    return code;
}

/* Tasks come from the newest to the oldest, so children before their parents. */
static int thin_by_parts(Compacting *c)
{
    int code = 0;
    c->part = (Part){.drop = json_array(), .gaps = json_array(), .tasks = json_array()};
    c->run->records = c->run->bytes = 0;
    for (size_t i = c->count; !code && i-- > 0;) {
        Member *member = &c->members[i];
        code = member->kept ? thin_task(c, member, true) : thin_going(c, member);
    }
    if (!code) code = send_part(c);
    json_decref(c->part.drop);
    json_decref(c->part.gaps);
    json_decref(c->part.tasks);
    return code;
}

/* ---- a run ---- */

static int apply(Compacting *c)
{
    Gc *gc = c->gc;
    const TfyLogRun *named = &c->run->run;
    TfyLogRun now = c->run->run;
    int code = tfy__gc_announce(gc, "compacted", &named, 1);
    if (code) return code;
    code = tfy__gc_begin(gc);
    if (!code) code = thin(c, true);
    now.base_lsn = before(c);
    if (!code) code = TFY_STORE(gc->store, TFY_CALL_PUT, put_run, &now, TFY_RUN_CHANGES);
    return tfy__gc_commit(gc, code);
}

static bool may_be(Compacting *c)
{
    const TfyGcOptions *options = c->gc->options;
    look_away(c->gc);
    snprintf(c->run->refused, sizeof c->run->refused, "no replay has shown that it can continue from its snapshot");
    const bool fine = options->check && options->check(options->check_state, c->tail, &c->checked, c->run->refused);
    if (fine)
        c->run->refused[0] = '\0';
    else
        c->run->records = c->run->bytes = 0;
    return fine;
}

static int plan(Compacting *c)
{
    int code = TFY_STORE(c->gc->store, TFY_CALL_READ, see_tasks, c->run->run.id, take_member, c);
    if (!code && !(c->queue = malloc((c->count + 1) * sizeof *c->queue))) code = TFY_E_NOMEM;
    if (code) return code;
    take_live(c);
    c->handed_on = hands_tasks_on(c->tail);
    code = look_at_all(c);
    if (!code) code = settle_kept(c);
    if (!code) code = name_texts(c);
    return code ? code : thin(c, false);
}

/* Beside a process that writes, a run that was changed, or that the process could not change, stays as it is, and the
 * others are still compacted. */
static int leave_changed(Compacting *c, int code)
{
    char *error = c->gc->error_text;
    if (!c->gc->options->send || (code != TFY_E_STATE && code != TFY_E_ABSENT)) return code;
    snprintf(c->run->refused, sizeof c->run->refused, "%s",
             *error ? error : "records of it are missing; another gc works on it, or 'tfy verify' finds the damage");
    *error = '\0';
    c->run->records = c->run->bytes = 0;
    return 0;
}

/* *done: the result is worth reporting. *again: the run has written a newer snapshot since it was read, and that one
 * was checked. */
static int compact_once(Gc *gc, TfyGcCompacted *run, bool *done, bool *again)
{
    Compacting c = {.gc = gc, .run = run};
    TfyHistory *tail;
    char id[24];
    snprintf(id, sizeof id, "%" PRId64, run->run.id);
    int code = tfy__history_read_tail(gc->log, id, &tail, gc->error_text);
    if (code) return code;
    run->base = tail->snapshot ? tail->snapshot_lsn : 0;
    c.tail = tail;
    /* An earlier compaction that ended early may have left something before the same snapshot. */
    if (run->base && run->base >= run->run.base_lsn) code = plan(&c);
    *done = !code && run->records > 0;
    const bool fine = *done && may_be(&c);
    *again = fine && gc->options->send && c.checked != run->base;
    if (fine && !*again && !gc->options->dry_run) code = gc->options->send ? thin_by_parts(&c) : apply(&c);
    look_away(gc);
    if ((code = leave_changed(&c, code)) == 0 && *run->refused) *done = true;
    tfy__history_free(tail);
    free(c.members);
    free(c.queue);
    free(c.sent);
    return code;
}

static int compact_run(Gc *gc, TfyGcCompacted *run, bool *done)
{
    bool again = true;
    int code = 0;
    for (int i = 0; i < TRIES && again && !code; i++) code = compact_once(gc, run, done, &again);
    if (code || !again) return code;
    snprintf(run->refused, sizeof run->refused, "it writes snapshots faster than they can be checked");
    run->records = run->bytes = 0;
    return 0;
}

/* ---- all runs ---- */

typedef struct Runs {
    TfyLogRun *items;
    uint32_t count, room;
} Runs;

static int take_run(void *state, const TfyLogRun *run)
{
    Runs *runs = state;
    if (!GROW(runs->items, runs->room, runs->count + 1, 64)) return TFY_E_NOMEM;
    runs->items[runs->count++] = *run;
    return 0;
}

/* With dry_run, the runs that would be dropped are still there. */
static bool goes(const Gc *gc, const TfyLogRun *run)
{
    for (uint32_t i = 0; i < gc->result->count; i++)
        if (gc->result->runs[i].run.id == run->id) return true;
    return false;
}

int tfy__compact(Gc *gc, TfyGcProgress *progress, void *state)
{
    TfyGcResult *result = gc->result;
    Runs runs = {0};
    int code = TFY_STORE(gc->store, TFY_CALL_READ, see_runs, false, take_run, &runs);
    if (!code && !(result->compacted = calloc(runs.count + 1, sizeof *result->compacted))) code = TFY_E_NOMEM;
    look_away(gc);
    for (uint32_t i = 0; !code && i < runs.count; i++) {
        TfyGcCompacted *run = &result->compacted[result->compacted_count];
        bool done = false;
        if (goes(gc, &runs.items[i])) continue;
        *run = (TfyGcCompacted){.run = runs.items[i]};
        code = compact_run(gc, run, &done);
        result->compacted_count += done;
        if (progress) progress(state, "runs compacted", i + 1, runs.count);
    }
    free(runs.items);
    return code;
}
