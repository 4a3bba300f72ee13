/* witness.c: see witness.h. */
#include "wal/log/witness.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "wal/store/store.h"

enum { SLOT_BYTES = 128, SLOT_STRIDE = 512, SLOTS_AT = 512 };

typedef struct Slot {
    char magic[8];
    uint64_t sequence;
    uint8_t db[16];
    uint64_t dev, ino, epoch, lsn;
    uint64_t salt, frame, check;
    uint64_t failed;
    uint8_t unused[24];
    uint64_t sum;
} Slot;

_Static_assert(sizeof(Slot) == SLOT_BYTES, "a slot has no holes");
static const char magic[8] = {'t', 'f', 'y', 'w', 'i', 't', '0', '1'};

static bool decode(const Slot *slot, TfyWitness *witness)
{
    if (memcmp(slot->magic, magic, sizeof magic) != 0) return false;
    if (le64toh(slot->sum) != XXH3_64bits(slot, offsetof(Slot, sum))) return false;
    *witness = (TfyWitness){.sequence = (int64_t)le64toh(slot->sequence),
                            .dev = (int64_t)le64toh(slot->dev),
                            .ino = (int64_t)le64toh(slot->ino),
                            .epoch = (int64_t)le64toh(slot->epoch),
                            .lsn = (int64_t)le64toh(slot->lsn),
                            .place = {.salt = slot->salt, .frame = (int64_t)le64toh(slot->frame), .check = slot->check},
                            .failed = slot->failed != 0};
    memcpy(witness->db, slot->db, sizeof witness->db);
    return true;
}

static void encode(const TfyWitness *witness, Slot *slot)
{
    *slot = (Slot){.sequence = htole64((uint64_t)witness->sequence),
                   .dev = htole64((uint64_t)witness->dev),
                   .ino = htole64((uint64_t)witness->ino),
                   .epoch = htole64((uint64_t)witness->epoch),
                   .lsn = htole64((uint64_t)witness->lsn),
                   .salt = witness->place.salt,
                   .frame = htole64((uint64_t)witness->place.frame),
                   .check = witness->place.check,
                   .failed = htole64(witness->failed)};
    memcpy(slot->magic, magic, sizeof magic);
    memcpy(slot->db, witness->db, sizeof slot->db);
    slot->sum = htole64(XXH3_64bits(slot, offsetof(Slot, sum)));
}

static bool is_blank(const Slot *slot)
{
    static const Slot blank;
    return memcmp(slot, &blank, sizeof blank) == 0;
}

/* A broken slot may have been the report of a failed sync. */
int tfy__witness_read(int fd, TfyWitness *witness)
{
    bool torn = false;
    *witness = (TfyWitness){0};
    for (int i = 0; i < 2; i++) {
        Slot slot = {0};
        TfyWitness read;
        const ssize_t got = pread(fd, &slot, sizeof slot, SLOTS_AT + i * SLOT_STRIDE);
        if (got < 0) return TFY_E_IO;
        if (got != sizeof slot || !decode(&slot, &read))
            torn |= !is_blank(&slot);
        else if (read.sequence > witness->sequence)
            *witness = read;
    }
    witness->failed |= torn;
    return witness->sequence ? 0 : TFY_E_ABSENT;
}

int tfy__witness_read_of(const char *db_path, TfyWitness *witness)
{
    char name[4096];
    *witness = (TfyWitness){0};
    if (snprintf(name, sizeof name, "%s-tfy", db_path) >= (int)sizeof name) return TFY_E_ABSENT;
    const int fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? TFY_E_ABSENT : TFY_E_IO;
    const int code = tfy__witness_read(fd, witness);
    close(fd);
    return code;
}

int tfy__witness_write(int fd, TfyWitness *witness)
{
    Slot slot;
    witness->sequence++;
    encode(witness, &slot);
    const off_t at = SLOTS_AT + witness->sequence % 2 * SLOT_STRIDE;
    return pwrite(fd, &slot, sizeof slot, at) == sizeof slot ? 0 : TFY_E_IO;
}
