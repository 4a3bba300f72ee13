/* tool_digest.h: what a compiled program knows of an MCP server's tool, in a number: whether the server still means the
 * same is seen by comparing two. */
#ifndef BASE_TOOL_DIGEST_H
#define BASE_TOOL_DIGEST_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Of a value as JSON, whatever the order of its members; NULL: of nothing. 0: no memory. */
static inline uint64_t tfy__json_digest(const json_t *value)
{
    char *text = value ? json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY) : strdup("");
    const uint64_t digest = text ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    return digest;
}

/* Of what a tool takes and gives. tool: as tools/list has it. */
static inline uint64_t tfy__schema_digest(const json_t *tool)
{
    const uint64_t takes = tfy__json_digest(json_object_get(tool, "inputSchema"));
    return takes ^ (tfy__json_digest(json_object_get(tool, "outputSchema")) << 1);
}

#endif
