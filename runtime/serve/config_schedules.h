/* config_schedules.h: the member "schedules" of the configuration. */
#ifndef SERVE_CONFIG_SCHEDULES_H
#define SERVE_CONFIG_SCHEDULES_H

#include "serve/config_rows.h"

bool tfy__config_schedules(TfyReading *reading, json_t *value, const char *path, void *arg);

#endif
