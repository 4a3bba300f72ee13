/* fuzz_code.c: any bytes are an answer of ctags, and any a derived file of the code map: what is taken of them can be ranked, asked and read back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/utf8.h"
#include "effects/code_answer.h"

static void must(bool fact)
{
    if (!fact) abort();
}

static void ask_all(const TfyCodeIndex *index)
{
    TfyCodeRank rank;
    TfyCodeAnswer answer = {0};
    must(tfy__code_rank(index, NULL, &rank));
    tfy__code_answer_map(index, &rank, 200, &answer);
    must(answer.text.len <= 600 &&
         tfy__utf8_broken(answer.text.data ? answer.text.data : "", answer.text.len) == answer.text.len);
    tfy__code_answer_symbols(index, &rank, "a b", 10, &answer);
    if (index->file_count) tfy__code_answer_outline(index, index->file_count - 1, &answer);
    must(!answer.failed);
    tfy__code_answer_free(&answer);
    tfy__code_rank_free(&rank);
}

/* Words are numbers in 8, so that the bytes reach what lies behind the head's sum. */
static void read_file(const uint8_t *data, size_t size)
{
    TfyCodeIndex index;
    uint8_t *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    if (size >= 16) {
        const uint64_t sum = size > 40 ? XXH3_64bits(bytes + 40, size - 40) : XXH3_64bits("", 0);
        memcpy(bytes, "tfycode1", 8);
        memcpy(bytes + 8, &sum, sizeof sum);
    }
    if (tfy__code_read((const char *)bytes, size, &index)) {
        ask_all(&index);
        tfy__code_index_free(&index);
    }
    free(bytes);
}

static void read_answer(const char *data, size_t size)
{
    static const char text[] = "int a(void);\n\n\tstruct b { int c; };\n// \xc3\xa4\n";
    TfyCodeIndex index = {0};
    TfyTags tags = {0};
    for (int i = 0; i < 3; i++) {
        const char *path = i == 0 ? "a.c" : i == 1 ? "b.c" : "c.c";
        const uint32_t file = tfy__code_add_file(&index, path, &(TfyCodeStamp){0});
        tfy__code_add_uses(&index, text, sizeof text - 1);
        must(tfy__tags_ask(&tags, file, path, text, sizeof text - 1));
    }
    while (tags.done < tags.count && tfy__tags_take(&tags, &index, data, size)) {}
    must(!index.failed && tags.done <= tags.count);
    for (uint32_t i = 0; i < index.symbol_count; i++)
        must(index.symbols[i].line >= 1 && index.symbols[i].line <= 5 && index.symbols[i].name &&
             index.symbols[i].kind);
    ask_all(&index);
    tfy__tags_free(&tags);
    tfy__code_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] % 2)
        read_file(data + 1, size - 1);
    else if (size)
        read_answer((const char *)data + 1, size - 1);
    return 0;
}
