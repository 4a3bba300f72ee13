/* inspect_command.c: tfy inspect: the report of a run of a database, or of a run of a server. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/look/inspect.h"
#include "cli/look/output.h"
#include "cli/make/serve.h"

static int inspect(const TfyArgs *args, const TfyHistory *history, bool held)
{
    if (args->option[OPT_OUTPUT]) {
        tfy__output_print(history, args->option[OPT_JSON]);
        return EXIT_DONE;
    }
    json_t *report = tfy__inspect_report(history, tfy__db_path(args), held);
    if (args->option[OPT_JSON]) {
        tfy__report_print(report, 2);
    } else {
        tfy__inspect_print(report, args->option[OPT_DETAILS]);
        json_decref(report);
    }
    return EXIT_DONE;
}

int tfy__cmd_inspect(const TfyArgs *args)
{
    if (args->option[OPT_SERVER]) return tfy__ask_server(args, "inspect");
    return tfy__db_with_history(args, inspect);
}
