/* fuzz_config.c: the configuration of a server, and the lines that its messages name. Certificates are not read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/config.h"
#include "serve/json_line.h"
#include "serve/tls.h"
#include "tfy.h"

TfyTls *tfy__tls_read(const char *cert, const char *key, const char *ca, char *error)
{
    return NULL;
}

void tfy__tls_free(TfyTls *tls)
{
    CHECK(!tls);
}

static int lines_of(const char *text)
{
    int lines = 1;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* What was accepted can be listened at, and named. */
static void check_config(TfyConfig *config)
{
    for (size_t i = 0; i < config->listen_count; i++) {
        TfyListen *listen = &config->listen[i];
        CHECK(!listen->address != !listen->path);
        CHECK(!listen->user_header || listen->proxy);
        tfy__config_name(config, listen, listen->address);
        CHECK(!listen->address || listen->hosts[0]);
    }
    CHECK(tfy__config_listens_alike(config, config));
    (void)tfy__config_not_by_starter(config, "shop", "order");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char error[TFY_ERROR_TEXT] = "", *text = strndup((const char *)data, len);
    int line = 0;
    if (!text) return 0;
    TfyConfig *config = tfy__config_parse("f", text, strlen(text), error);
    if (config)
        check_config(config);
    else
        CHECK(sscanf(error, "f:%d:", &line) == 1 && line <= lines_of(text));
    const int found = tfy__json_line(text, strlen(text), "$.listen[1].groups.ops");
    CHECK(found >= 1 && found <= lines_of(text));
    tfy__config_free(config);
    free(text);
    return 0;
}
