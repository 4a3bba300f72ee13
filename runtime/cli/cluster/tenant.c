/* tenant.c: tfy db tenant: those for whom runs are started in a database of PostgreSQL. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/frame/cli.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/log/run_id.h"
#include "wal/store/pg_tenant.h"

static int read_number(const char *text, const char *option, int64_t most, int64_t *number)
{
    char *end = NULL;
    if (!text) return EXIT_DONE;
    *number = strtoll(text, &end, 10);
    if (end != text && !*end && *number >= 1 && *number <= most) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "%s takes a whole number from 1 to %" PRId64 ", not '%s'", option, most, text);
}

static int put_tenant(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    const char *ready = args->option[OPT_MAX_READY];
    TfyPgTenant tenant = {.name = args->words[0]};
    if (!tfy__program_name_fits(tenant.name))
        return tfy__fail(EXIT_USAGE, "%s, so '%.80s' cannot be one", TFY_TENANT_NAME_RULE, tenant.name);
    int status = read_number(args->option[OPT_WEIGHT], "--weight", TFY_PG_WEIGHT_MOST, &tenant.weight);
    if (ready && strcmp(ready, "none") == 0)
        tenant.max_ready = -1;
    else if (status == EXIT_DONE)
        status = read_number(ready, "--max-ready", INT32_MAX - 1, &tenant.max_ready);
    if (status != EXIT_DONE) return status;
    const int code = tfy__pg_put_tenant(tfy__db_path(args), &tenant, error);
    return code ? tfy__fail(tfy__exit_status(code), "%s", error) : EXIT_DONE;
}

static void print_row(const json_t *row)
{
    const json_t *most = json_object_get(row, "max_ready");
    printf("%-20s weight %-5" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT " ready", tfy__json_text(row, "name"),
           json_integer_value(json_object_get(row, "weight")), json_integer_value(json_object_get(row, "ready")));
    if (json_is_integer(most)) printf(" of %" JSON_INTEGER_FORMAT, json_integer_value(most));
    printf(", %" JSON_INTEGER_FORMAT " owned\n", json_integer_value(json_object_get(row, "owned")));
}

static int see_tenants(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "", *text = NULL;
    const int code = tfy__pg_see_tenants(tfy__db_path(args), &text, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    json_t *rows = json_loads(text, 0, NULL), *row;
    size_t i;
    free(text);
    if (args->option[OPT_JSON])
        tfy__report_print(json_pack("{s:O}", "tenants", rows), 2);
    else
        json_array_foreach(rows, i, row) print_row(row);
    json_decref(rows);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cmd_db_tenant(const TfyArgs *args)
{
    if (!tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "tenants are those of a database of PostgreSQL: --db postgresql://USER@HOST/NAME");
    if (args->word_count) return put_tenant(args);
    if (args->option[OPT_WEIGHT] || args->option[OPT_MAX_READY])
        return tfy__fail(EXIT_USAGE, "--weight and --max-ready are those of one tenant: tfy db tenant NAME");
    return see_tenants(args);
}
