/* mcp_server.c: what the MCP server makes of programs, runs and questions, and what it takes from clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "mcp/server/asked.h"
#include "mcp/server/content.h"
#include "mcp/server/question.h"
#include "mcp/server/state.h"
#include "value/json.h"

extern const TfyProgram tfyg_program;

static json_t *read_json(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

/* Takes the JSON. */
static void assert_json(json_t *is, const char *wanted)
{
    json_t *right = read_json(wanted);
    char *text = json_dumps(is, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!json_equal(is, right)) fail_msg("%s is not %s", text, wanted);
    free(text);
    json_decref(right);
    json_decref(is);
}

/* ---- requestState ---- */

static const TfyMcpState a_state = {
    .run = {1, 2, 3, 4, 5, 6, 0x77, 8, 0x89, 10, 11, 12, 13, 14, 15, 16}, .request = {9, 8, 7}, .until_ms = 1000};

static bool reads(const TfyMcpKey *key, const char *text, int64_t now_ms)
{
    uint8_t run[16];
    const bool good = tfy__mcp_state_read(key, text, strlen(text), a_state.request, now_ms, run);
    if (good) assert_memory_equal(run, a_state.run, 16);
    return good;
}

static void states(void **state)
{
    const TfyMcpKey key = {{1}}, other = {{2}};
    const uint8_t request[TFY_MCP_DIGEST] = {9, 8, 6};
    uint8_t run[16];
    char text[TFY_MCP_STATE_TEXT], changed[TFY_MCP_STATE_TEXT + 4];
    assert_true(tfy__mcp_state_write(&key, &a_state, text));
    assert_true(reads(&key, text, 0));
    assert_true(reads(&key, text, 999));
    assert_false(reads(&key, text, 1000));
    assert_false(reads(&key, text, -1));
    assert_false(reads(&other, text, 0));
    assert_false(tfy__mcp_state_read(&key, text, strlen(text), request, 0, run));
    assert_false(tfy__mcp_state_read(&key, text, strlen(text) - 1, a_state.request, 0, run));
    assert_false(tfy__mcp_state_read(&key, "", 0, a_state.request, 0, run));
    snprintf(changed, sizeof changed, "%s=", text);
    assert_false(reads(&key, changed, 0));
}

/* No other text is a state: neither a changed one, nor the same bytes in other letters. */
static void changed_states(void **state)
{
    const TfyMcpKey key = {{1}};
    char text[TFY_MCP_STATE_TEXT];
    assert_true(tfy__mcp_state_write(&key, &a_state, text));
    for (size_t i = 0; text[i]; i++) {
        const char right = text[i];
        for (int c = ' '; c < 127; c++) {
            text[i] = (char)c;
            if (c != right) assert_false(reads(&key, text, 0));
        }
        text[i] = right;
    }
    assert_true(reads(&key, text, 0));
}

static void keys(void **state)
{
    char dir[] = "/tmp/mcp_server.XXXXXX", db[64], path[80], error[TFY_ERROR_TEXT];
    TfyMcpKey first, again;
    struct stat facts;
    assert_non_null(mkdtemp(dir));
    snprintf(db, sizeof db, "%s/runs.db", dir);
    snprintf(path, sizeof path, "%s-key", db);
    assert_true(tfy__mcp_key_open(&first, db, error));
    assert_true(tfy__mcp_key_open(&again, db, error));
    assert_memory_equal(&first, &again, sizeof first);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0640), 0);
    assert_false(tfy__mcp_key_open(&again, db, error));
    assert_non_null(strstr(error, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 5), 0);
    assert_false(tfy__mcp_key_open(&again, db, error));
    assert_int_equal(unlink(path), 0);
    assert_true(tfy__mcp_key_open(&again, db, error));
    assert_memory_not_equal(&first, &again, sizeof first);
    unlink(path);
    rmdir(dir);
}

/* ---- offers ---- */

static void offers(void **state)
{
    char error[TFY_ERROR_TEXT];
    TfyMcpOffers *all = tfy__mcp_offers_new(&tfyg_program, &(TfyMcpWanted){0}, error);
    assert_non_null(all);
    assert_int_equal(all->count, 4);
    assert_null(tfy__mcp_offer_named(all, "silent"));
    assert_null(tfy__mcp_offer_named(all, "talks"));
    assert_int_equal(tfy__mcp_offer_named(all, "begins")->as, TFY_MCP_PROMPT);
    const TfyMcpOffer *says = tfy__mcp_offer_named(all, "says"), *pairs = tfy__mcp_offer_named(all, "pairs"),
                      *counts = tfy__mcp_offer_named(all, "counts");
    assert_json(
        json_incref(says->shown),
        "{\"name\":\"says\",\"description\":\"Says something.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"],\"additionalProperties\":false},"
        "\"annotations\":{\"readOnlyHint\":true}}");
    assert_int_equal(says->gives, TFY_MCP_GIVES_TEXT);
    assert_int_equal(pairs->gives, TFY_MCP_GIVES_OBJECT);
    assert_string_equal(json_string_value(json_object_get(json_object_get(pairs->shown, "outputSchema"), "type")),
                        "object");
    assert_int_equal(counts->gives, TFY_MCP_GIVES_OTHER);
    assert_non_null(json_object_get(json_object_get(json_object_get(counts->shown, "inputSchema"), "$defs"), "Node"));
    tfy__mcp_offers_free(all);
}

static void named_offers(void **state)
{
    char error[TFY_ERROR_TEXT];
    TfyMcpOffers *two = tfy__mcp_offers_new(
        &tfyg_program, &(TfyMcpWanted){.tools = (const char *const[]){"silent", "says", "says", NULL}}, error);
    assert_non_null(two);
    assert_int_equal(two->count, 2);
    assert_int_equal(tfy__mcp_offer_named(two, "silent")->gives, TFY_MCP_GIVES_NOTHING);
    tfy__mcp_offers_free(two);
    assert_null(
        tfy__mcp_offers_new(&tfyg_program, &(TfyMcpWanted){.tools = (const char *const[]){"sais", NULL}}, error));
    assert_non_null(strstr(error, "no workflow 'sais'"));
    assert_null(
        tfy__mcp_offers_new(&tfyg_program, &(TfyMcpWanted){.tools = (const char *const[]){"talks", NULL}}, error));
    assert_non_null(strstr(error, "is JSON"));
}

/* ---- results ---- */

static void results(void **state)
{
    json_t *text = read_json("\"hi\""), *number = read_json("4"), *object = read_json("{\"a\":1}"),
           *parts =
               read_json("[{\"case\":\"text\",\"text\":\"t\"},{\"case\":\"audio\",\"data\":\"AA==\",\"mime\":\"a/b\"},"
                         "{\"case\":\"other\",\"n\":1}]"),
           *error = read_json("{\"error\":\"Broken\",\"message\":\"no\",\"line\":3}");
    assert_json(tfy__mcp_result(TFY_MCP_GIVES_TEXT, text), "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
    assert_json(tfy__mcp_result(TFY_MCP_GIVES_OTHER, number),
                "{\"content\":[{\"type\":\"text\",\"text\":\"4\"}],\"structuredContent\":{\"result\":4}}");
    assert_json(tfy__mcp_result(TFY_MCP_GIVES_OBJECT, object),
                "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],\"structuredContent\":{\"a\":1}}");
    assert_json(tfy__mcp_result(TFY_MCP_GIVES_ANY, number), "{\"content\":[{\"type\":\"text\",\"text\":\"4\"}]}");
    assert_json(tfy__mcp_result(TFY_MCP_GIVES_NOTHING, NULL), "{\"content\":[]}");
    assert_json(
        tfy__mcp_result(TFY_MCP_GIVES_PARTS, parts),
        "{\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"a/b\"},"
        "{\"type\":\"text\",\"text\":\"{\\\"case\\\":\\\"other\\\",\\\"n\\\":1}\"}]}");
    assert_json(tfy__mcp_failed(error), "{\"content\":[{\"type\":\"text\",\"text\":\"Broken: no\"}],\"isError\":true}");
    json_decref(text);
    json_decref(number);
    json_decref(object);
    json_decref(parts);
    json_decref(error);
}

/* ---- questions ---- */

static const char sure[] =
    "{\"task\":\"1.2\",\"step\":7,\"question\":\"sure?\",\"details\":\"all\",\"answers\":[\"yes\",\"no\"]}",
                  which[] =
                      "{\"task\":\"1\",\"step\":8,\"question\":\"which?\",\"details\":null,\"answers\":[\"a\",\"b\"]}",
                  who[] = "{\"task\":\"1\",\"step\":9,\"question\":\"who?\",\"details\":null,\"answers\":null}";

static void asked(void **state)
{
    json_t *one = read_json(sure), *other = read_json(which);
    char key[TFY_MCP_QUESTION_KEY], second[TFY_MCP_QUESTION_KEY];
    assert_true(tfy__mcp_question_key(one, key) && tfy__mcp_question_key(other, second));
    assert_string_equal(key, "1.2/7");
    assert_string_not_equal(key, second);
    assert_json(
        tfy__mcp_question_params(one, true),
        "{\"mode\":\"form\",\"message\":\"sure?\\n\\nall\",\"requestedSchema\":{\"type\":\"object\",\"properties\":"
        "{\"confirm\":{\"type\":\"boolean\"}},\"required\":[\"confirm\"]}}");
    assert_json(tfy__mcp_question_params(other, false),
                "{\"message\":\"which?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"choice\":{\"type\":"
                "\"string\",\"enum\":[\"a\",\"b\"]}},\"required\":[\"choice\"]}}");
    json_decref(one);
    json_decref(other);
}

/* answer: NULL: none is given. */
static void answers(const char *question, const char *response, TfyMcpReply wanted, const char *answer)
{
    json_t *asks = read_json(question), *says = read_json(response), *body = NULL;
    assert_int_equal(tfy__mcp_question_reply(asks, says, &body), wanted);
    if (answer)
        assert_string_equal(json_string_value(json_object_get(body, "answer")), answer);
    else
        assert_null(body);
    json_decref(asks);
    json_decref(says);
    json_decref(body);
}

static void replies(void **state)
{
    answers(sure, "{\"action\":\"accept\",\"content\":{\"confirm\":true}}", TFY_MCP_REPLY_GIVEN, "yes");
    answers(sure, "{\"action\":\"accept\",\"content\":{\"confirm\":false,\"more\":1}}", TFY_MCP_REPLY_GIVEN, "no");
    answers(sure, "{\"action\":\"accept\",\"content\":{\"confirm\":\"maybe\"}}", TFY_MCP_REPLY_NONE, NULL);
    answers(sure, "{\"action\":\"accept\",\"content\":{}}", TFY_MCP_REPLY_NONE, NULL);
    answers(sure, "{\"action\":\"accept\"}", TFY_MCP_REPLY_NONE, NULL);
    answers(sure, "{\"action\":\"decline\"}", TFY_MCP_REPLY_GIVEN, "no");
    answers(which, "{\"action\":\"accept\",\"content\":{\"choice\":\"b\"}}", TFY_MCP_REPLY_GIVEN, "b");
    answers(which, "{\"action\":\"accept\",\"content\":{\"choice\":\"c\"}}", TFY_MCP_REPLY_NONE, NULL);
    answers(which, "{\"action\":\"cancel\"}", TFY_MCP_REPLY_DECLINED, NULL);
    answers(who, "{\"action\":\"accept\",\"content\":{\"answer\":\"ann\"}}", TFY_MCP_REPLY_GIVEN, "ann");
    answers(who, "{\"action\":\"accept\",\"content\":{\"answer\":1}}", TFY_MCP_REPLY_NONE, NULL);
    answers(who, "{\"action\":\"else\"}", TFY_MCP_REPLY_NONE, NULL);
    answers(who, "{\"action\":5}", TFY_MCP_REPLY_NONE, NULL);
    answers(who, "[]", TFY_MCP_REPLY_NONE, NULL);
}

/* ---- addresses ---- */

/* args: what the variables stand for; NULL: it is another address. */
static void fits(const char *address, const char *given, const char *args)
{
    json_t *found = NULL;
    assert_int_equal(tfy__mcp_address_fits(address, given, &found), args != NULL);
    if (args)
        assert_json(found, args);
    else
        assert_null(found);
}

static void addresses(void **state)
{
    fits("a://b", "a://b", "{}");
    fits("a://b", "a://", NULL);
    fits("a", "", NULL);
    fits("", "a", NULL);
    fits("a://{id}", "a://7", "{\"id\":\"7\"}");
    fits("a://{id}", "a://", NULL);
    fits("a://{id}", "a://7/8", NULL);
    fits("a://{id}/b", "a://7/b", "{\"id\":\"7\"}");
    fits("a://{id}/b", "a://7/bc", NULL);
    fits("a://{x}-{y}", "a://1-2", "{\"x\":\"1\",\"y\":\"2\"}");
    fits("a://{x", "a://{x", "{}");
}

/* ---- clients ---- */

#define META "io.modelcontextprotocol/"

static int client_code(const char *params, TfyMcpClient *client)
{
    json_t *json = read_json(params);
    TfyMcpRefusal refusal = {.code = 0};
    const bool known = tfy__mcp_client_of(json, client, &refusal);
    assert_true(known == !refusal.code);
    json_decref(refusal.data);
    json_decref(json);
    return refusal.code;
}

static void clients(void **state)
{
    TfyMcpClient client;
    assert_int_equal(client_code("{}", &client), TFY_MCP_INVALID_PARAMS);
    assert_int_equal(client_code("{\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\"}}", &client),
                     TFY_MCP_INVALID_PARAMS);
    assert_int_equal(client_code("{\"_meta\":{\"" META "protocolVersion\":\"2025-11-25\",\"" META
                                 "clientCapabilities\":{}}}",
                                 &client),
                     TFY_MCP_NO_VERSION);
    assert_int_equal(client_code("{\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
                                 "clientCapabilities\":{\"elicitation\":{\"url\":{}}}}}",
                                 &client),
                     0);
    assert_true(client.modern && !client.elicits && !client.tasks && !client.levels);
    assert_int_equal(
        client_code("{\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META "logLevel\":\"notice\",\"" META
                    "clientCapabilities\":{\"elicitation\":{},\"extensions\":{\"" TFY_MCP_TASKS "\":{}}}}}",
                    &client),
        0);
    assert_true(client.elicits && client.tasks && client.levels && client.level == 2);
}

static void greetings(void **state)
{
    TfyMcpClient client;
    json_t
        *older = read_json(
            "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"elicitation\":{},\"extensions\":{\"" TFY_MCP_TASKS
            "\":{}}}}"),
        *newer = read_json("{\"protocolVersion\":\"2026-07-28\"}");
    tfy__mcp_client_greets(older, &client);
    assert_string_equal(client.revision, "2025-06-18");
    assert_true(client.elicits && !client.tasks && !client.modern);
    tfy__mcp_client_greets(newer, &client);
    assert_string_equal(client.revision, "2025-11-25");
    tfy__mcp_client_greets(NULL, &client);
    assert_string_equal(client.revision, "2025-11-25");
    json_decref(older);
    json_decref(newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),    cmocka_unit_test(changed_states), cmocka_unit_test(keys),
        cmocka_unit_test(offers),    cmocka_unit_test(named_offers),   cmocka_unit_test(results),
        cmocka_unit_test(asked),     cmocka_unit_test(replies),        cmocka_unit_test(clients),
        cmocka_unit_test(greetings), cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
