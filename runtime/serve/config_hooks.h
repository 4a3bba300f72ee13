/* config_hooks.h: the member "hooks" of the configuration. */
#ifndef SERVE_CONFIG_HOOKS_H
#define SERVE_CONFIG_HOOKS_H

#include "serve/config_rows.h"

/* Reads the files of secrets. False: error (TFY_ERROR_TEXT bytes) says why. */
bool tfy__config_hook_secrets(TfyConfig *config, char *error);

bool tfy__config_hooks(TfyReading *reading, json_t *value, const char *path, void *arg);

#endif
