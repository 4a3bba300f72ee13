/* salvage.c: tfy salvage: copies the readable part of a damaged database and reports what is lost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "tfy.h"
#include "wal/keep/salvage.h"

static void print_json(const TfySalvaged *salvaged)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < salvaged->count; i++) {
        const TfySalvagedRun *run = &salvaged->runs[i];
        json_array_append_new(runs, json_pack("{s:s,s:I,s:I,s:b,s:b,s:s*}", "run", run->uuid, "kept",
                                              (json_int_t)run->kept, "lost", (json_int_t)run->lost, "cut", run->cut,
                                              "no_program", run->no_program, "refused", run->refused));
    }
    json_t *report = json_pack("{s:I,s:I,s:I,s:I,s:o}", "records", (json_int_t)salvaged->records, "unreadable",
                               (json_int_t)salvaged->unreadable, "orphans", (json_int_t)salvaged->orphans, "in_doubt",
                               (json_int_t)salvaged->doubts, "runs", runs);
    tfy__report_print(report, 2);
}

static void print_text(const TfySalvaged *salvaged, const char *to)
{
    uint32_t cut = 0, refused = 0;
    for (uint32_t i = 0; i < salvaged->count; i++) {
        const TfySalvagedRun *run = &salvaged->runs[i];
        if (run->refused) {
            printf("run %s: left out: %s\n", run->uuid, run->refused);
            refused++;
            continue;
        }
        cut += run->cut;
        if (run->cut)
            printf("run %s: cut after its record %u, without %u later ones; it ends as failed\n", run->uuid, run->kept,
                   run->lost);
        if (run->no_program) printf("run %s: its program is lost; it can be inspected, not replayed\n", run->uuid);
    }
    tfy__say("%s has %u runs, %u of them cut; %" PRId64 " records could be read, %" PRId64
             " numbers could not, %" PRId64 " records belong to no run that could be found, %" PRId64
             " steps are in doubt",
             to, salvaged->count - refused, cut, salvaged->records, salvaged->unreadable, salvaged->orphans,
             salvaged->doubts);
}

int tfy__cmd_salvage(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfySalvaged salvaged = {0};
    const int code = tfy__salvage(args->words[0], args->words[1], tfy_version(), &salvaged, error);
    const int status = code ? tfy__fail(tfy__exit_status(code), "%s", error) : EXIT_DONE;
    if (!code && args->option[OPT_JSON]) print_json(&salvaged);
    if (!code && !args->option[OPT_JSON]) print_text(&salvaged, args->words[1]);
    tfy__salvaged_free(&salvaged);
    return tfy__flush_stdout(status);
}
