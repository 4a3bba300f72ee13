/* What lists show of runs, drawn from their records: what a record adds, and texts that a database could not keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wal/store/pg_listed.h"

static void add(TfyPgListed *listed, TfyRecordType type, const char *payload)
{
    const TfyLogRecord record = {.type = (uint8_t)type, .payload = payload, .payload_len = (uint32_t)strlen(payload)};
    tfy__pg_listed_add(listed, &record);
}

static void test_birth(void **state)
{
    (void)state;
    TfyPgListed listed;
    tfy__pg_listed_start(&listed);
    add(&listed, TFY_R_TOOL_RESULT, "{\"by\":\"eve\",\"workflow\":\"other\"}");
    assert_false(listed.any);
    add(&listed, TFY_R_INSTRUCTION_START,
        "{\"workflow\":\"order\",\"args\":{\"by\":\"eve\"},\"by\":\"an\\u006e\",\"labels\":{\"team\":\"web\"},"
        "\"program_name\":\"shop\"}");
    assert_true(listed.any);
    assert_string_equal(listed.workflow, "order");
    assert_string_equal(listed.by, "ann");
    assert_string_equal(listed.program_name, "shop");
    assert_string_equal(listed.labels, "{\"team\":\"web\"}");
    assert_null(listed.error);
    assert_int_equal(listed.cost, -1);
    tfy__pg_listed_free(&listed);
    assert_null(listed.workflow);
}

/* A refusal by the database would end the session. */
static void test_texts_that_cannot_be_kept(void **state)
{
    (void)state;
    TfyPgListed listed;
    tfy__pg_listed_start(&listed);
    add(&listed, TFY_R_INSTRUCTION_START,
        "{\"workflow\":\"order\",\"by\":\"\\ud800\",\"labels\":{\"a\":\"\\u0000\",\"b\":\"x\"}}");
    assert_string_equal(listed.workflow, "order");
    assert_null(listed.by);
    assert_null(listed.labels);
    tfy__pg_listed_free(&listed);
    add(&listed, TFY_R_INSTRUCTION_START, "{\"workflow\":\"order\",\"labels\":{\"a\":7,\"b\":\"x\"}}");
    assert_string_equal(listed.labels, "{\"b\":\"x\"}");
    tfy__pg_listed_free(&listed);
}

static void test_what_is_added_up(void **state)
{
    (void)state;
    TfyPgListed listed;
    tfy__pg_listed_start(&listed);
    add(&listed, TFY_R_LLM_PLAN, "{\"model\":\"m\",\"prompt_tokens\":10,\"completion_tokens\":2}");
    assert_int_equal(listed.cost, -1);
    add(&listed, TFY_R_LLM_PLAN, "{\"model\":\"m\",\"prompt_tokens\":5,\"completion_tokens\":1,\"cost\":0}");
    assert_int_equal(listed.cost, 0);
    add(&listed, TFY_R_LLM_PLAN, "{\"model\":\"m\",\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":30}");
    assert_int_equal(listed.tokens_in, 16);
    assert_int_equal(listed.tokens_out, 4);
    assert_int_equal(listed.cost, 30);
    tfy__pg_listed_free(&listed);
}

static void test_end(void **state)
{
    (void)state;
    TfyPgListed listed;
    char *long_error = malloc(TFY_PG_LISTED_MOST + 40);
    assert_non_null(long_error);
    tfy__pg_listed_start(&listed);
    add(&listed, TFY_R_TASK_COMPLETE, "{\"ok\":true,\"value\":1}");
    assert_false(listed.any);
    const int len = sprintf(long_error, "{\"error\":{\"error\":\"E\",\"message\":\"");
    memset(long_error + len, 'x', TFY_PG_LISTED_MOST);
    strcpy(long_error + len + TFY_PG_LISTED_MOST, "\"}}");
    add(&listed, TFY_R_TASK_COMPLETE, long_error);
    assert_null(listed.error); /* the record has it whole */
    add(&listed, TFY_R_TASK_COMPLETE, "{\"error\":{\"error\":\"E\",\"message\":\"so\"}}");
    assert_string_equal(listed.error, "{\"error\":\"E\",\"message\":\"so\"}");
    tfy__pg_listed_free(&listed);
    free(long_error);
}

static void test_questions(void **state)
{
    (void)state;
#define RECORD(type_, payload_)                                                                                        \
    &(TfyLogRecord){.type = type_, .payload = payload_, .payload_len = (uint32_t)strlen(payload_)}
    assert_true(tfy__pg_asks(RECORD(TFY_R_STEP_START, "{\"tool\":\"approve\",\"question\":\"so?\"}")));
    assert_false(tfy__pg_asks(RECORD(TFY_R_STEP_START, "{\"tool\":\"ship\",\"args\":{\"question\":\"so?\"}}")));
    assert_true(tfy__pg_answers(RECORD(TFY_R_APPROVAL, "{\"answer\":\"yes\"}")));
    assert_false(tfy__pg_answers(RECORD(TFY_R_APPROVAL, "{\"grant\":{\"write\":[\"/\"]},\"answer\":\"yes\"}")));
    assert_true(tfy__pg_answers(RECORD(TFY_R_RESOLVED, "{\"how\":\"retry\"}")));
    assert_false(tfy__pg_answers(RECORD(TFY_R_SIGNAL, "{\"name\":\"size\"}")));
#undef RECORD
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_birth), cmocka_unit_test(test_texts_that_cannot_be_kept),
                                       cmocka_unit_test(test_what_is_added_up), cmocka_unit_test(test_end),
                                       cmocka_unit_test(test_questions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
