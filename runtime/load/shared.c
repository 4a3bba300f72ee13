/* shared.c: programs in shared objects (tfy.h). What an object says of itself is read from the file before it is
 * loaded: its constructors have not run then, its tables are not trusted, and an object that needs a function of
 * another runtime is refused by its version, not by that function's name.
 *
 * An object is loaded through a descriptor that stays open with it. dlopen knows what it has loaded by path; so it
 * would not see that a path names another file now. And the file that was read is the one that is loaded. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interface.h"
#include "tfy_program.h"

#define SYMBOL     "tfy_program"
#define NOTES_MOST 4096 /* bytes of notes in one segment; longer ones are not a linker's */

struct TfyShared {
    void *object;
    const TfyProgram *program;
    int fd;
};

typedef ElfW(Ehdr) Head;
typedef ElfW(Phdr) Part;
typedef ElfW(Nhdr) NoteHead;

typedef struct Note {
    char version[32], interface[32];
} Note;

__attribute__((format(printf, 3, 4))) static int refuse(int code, char *error_text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error_text, TFY_ERROR_TEXT, format, args);
    va_end(args);
    return code;
}

/* ---- what it says of itself ---- */

static bool read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX - NOTES_MOST && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

static size_t padded(size_t size, size_t align)
{
    return (size + align - 1) / align * align;
}

/* Two texts, each with its end. */
static bool read_texts(const char *texts, size_t size, Note *note)
{
    const size_t version = strnlen(texts, size), interface = version < size ? size - version - 1 : 0;
    if (version >= sizeof note->version || !interface || interface > sizeof note->interface || texts[size - 1])
        return false;
    memcpy(note->version, texts, version + 1);
    memcpy(note->interface, texts + version + 1, interface);
    return true;
}

static bool find_note(const char *notes, size_t size, size_t align, Note *note)
{
    NoteHead head;
    for (size_t at = 0, end; at + sizeof head <= size; at = end) {
        memcpy(&head, notes + at, sizeof head);
        if (head.n_namesz > size || head.n_descsz > size) return false;
        const size_t owner = at + sizeof head, texts = owner + padded(head.n_namesz, align);
        end = texts + padded(head.n_descsz, align);
        if (texts + head.n_descsz > size) return false;
        if (head.n_type == TFY__NOTE_TYPE && head.n_namesz == sizeof TFY__NOTE_OWNER &&
            memcmp(notes + owner, TFY__NOTE_OWNER, sizeof TFY__NOTE_OWNER) == 0)
            return read_texts(notes + texts, head.n_descsz, note);
    }
    return false;
}

static bool is_object(const Head *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_type == ET_DYN;
}

static bool is_native(const Head *head)
{
    const int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           head->e_ident[EI_DATA] == order && head->e_phentsize == sizeof(Part);
}

/* The loader would map more than there is, and end the process with SIGBUS. */
static bool is_whole(int fd, const Head *head)
{
    struct stat st;
    Part part;
    if (fstat(fd, &st) < 0) return false;
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        if (!read_at(fd, &part, sizeof part, head->e_phoff + i * sizeof part)) return false;
        if (part.p_filesz > (uint64_t)st.st_size || part.p_offset > (uint64_t)st.st_size - part.p_filesz) return false;
    }
    return true;
}

static bool read_note(int fd, const Head *head, Note *note)
{
    char notes[NOTES_MOST];
    Part part;
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        if (!read_at(fd, &part, sizeof part, head->e_phoff + i * sizeof part)) return false;
        if (part.p_type == PT_NOTE && part.p_filesz <= sizeof notes &&
            read_at(fd, notes, part.p_filesz, part.p_offset) &&
            find_note(notes, part.p_filesz, part.p_align == 8 ? 8 : 4, note))
            return true;
    }
    return false;
}

static int check_file(int fd, const char *path, char *error_text)
{
    Head head;
    Note note;
    if (!read_at(fd, &head, sizeof head, 0) || !is_object(&head))
        return refuse(TFY_E_INVALID, error_text, "%s is not a shared object; 'tfy build --shared' makes one", path);
    if (!is_native(&head)) return refuse(TFY_E_INVALID, error_text, "%s was built for another kind of machine", path);
    if (!is_whole(fd, &head)) return refuse(TFY_E_INVALID, error_text, "%s is not whole; build it again", path);
    if (!read_note(fd, &head, &note))
        return refuse(TFY_E_INVALID, error_text, "there is no program in %s; 'tfy build --shared' makes one", path);
    if (strcmp(note.version, tfy_version()) != 0)
        return refuse(TFY_E_INVALID, error_text, "%s was compiled by tfyc %s, and this is Tiffany %s: build it again",
                      path, note.version, tfy_version());
    if (strcmp(note.interface, TFY_INTERFACE) != 0)
        return refuse(TFY_E_INVALID, error_text,
                      "%s was compiled by a tfyc whose tfy.h differs from that of this process: build it again", path);
    return TFY_OK;
}

/* ---- loading ---- */

/* The loader's messages begin with the name that it was given: "/proc/self/fd/7: undefined symbol: x". */
static int refuse_load(const char *path, char *error_text)
{
    const char *said = dlerror(), *after = said && *said == '/' ? strstr(said, ": ") : NULL;
    const char *why = after ? after + 2 : said ? said : "no reason was given";
    const char *hint = strstr(why, "symbol: tfy") ? "; this process does not export all of libtfy" : "";
    return refuse(TFY_E_INVALID, error_text, "%s cannot be loaded: %s%s", path, why, hint);
}

static int load(TfyShared *shared, const char *path, char *error_text)
{
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", shared->fd);
    shared->object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!shared->object) return refuse_load(path, error_text);
    const TfyProgram *const *program = dlsym(shared->object, SYMBOL);
    if (!program || !*program)
        return refuse(TFY_E_INVALID, error_text, "there is no program in %s; 'tfy build --shared' makes one", path);
    shared->program = *program;
    return TFY_OK;
}

int tfy_shared_open(TfyShared **out, const char *path, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    TfyShared *shared = calloc(1, sizeof *shared);
    if (!error_text) error_text = scratch;
    *error_text = '\0';
    *out = NULL;
    if (!shared) return refuse(TFY_E_NOMEM, error_text, "memory ran out");
    shared->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = shared->fd < 0 ? refuse(TFY_E_ABSENT, error_text, "cannot read %s: %s", path, strerror(errno))
                              : check_file(shared->fd, path, error_text);
    if (code == TFY_OK) code = load(shared, path, error_text);
    if (code == TFY_OK)
        *out = shared;
    else
        tfy_shared_close(shared);
    return code;
}

const TfyProgram *tfy_shared_program(const TfyShared *shared)
{
    return shared->program;
}

void tfy_shared_close(TfyShared *shared)
{
    if (!shared) return;
    if (shared->object) dlclose(shared->object);
    if (shared->fd >= 0) close(shared->fd);
    free(shared);
}
