/* fuzz_cron.c: fields of cron, and the times that follow from them: a time fits its fields where the clocks show it, and times
 * come in order. The first byte chooses a zone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/cron.h"
#include "value/clock.h"

static const char *const zones[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
};

static bool may_show(const TfyCron *cron, int64_t local)
{
    const int64_t of_day = ((local % 86400) + 86400) % 86400;
    return cron->hours >> (of_day / 3600) & 1 && cron->minutes >> (of_day % 3600 / 60) & 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    TfyCron cron;
    char why[TFY_CRON_WHY] = "";
    if (len < 5 || len > 300) return 0;
    const char *zone = zones[data[0] % 4];
    const int64_t from = 1700000000 + (int64_t)(data[1] | data[2] << 8 | data[3] << 16) * 37;
    char *text = strndup((const char *)data + 4, len - 4);
    if (!text) return 0;
    if (!tfy__cron_read(text, &cron, why)) {
        CHECK(*why);
        free(text);
        return 0;
    }
    CHECK(cron.minutes && cron.hours && cron.days && cron.months && cron.weekdays);
    for (int64_t at = from, next, count = 0; count < 5 && (next = tfy__cron_next(&cron, zone, at));
         at = next, count++) {
        TfyOffset now, before;
        CHECK(next > at && next % 60 == 0);
        CHECK(tfy__zone_offset(zone, next, &now) && tfy__zone_offset(zone, next - 7200, &before));
        CHECK(may_show(&cron, next + now.seconds) || may_show(&cron, next + before.seconds));
    }
    free(text);
    return 0;
}
