#!/usr/bin/env python3
"""Reads and verifies a tfy database with Python's own sqlite3 and nothing else: docs/log-format.md, as a program.

    read_log.py FILE           checks pages, records, marks and rows; says what there is, or what is wrong first (exit status 1)
    read_log.py FILE --dump    prints the records, too
"""
import json
import os
import sqlite3
import struct
import sys

M64 = (1 << 64) - 1
M32 = (1 << 32) - 1

# ---- XXH3-64, as its specification has it (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) ----

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221'
    'b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8'
    'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb'
    '170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e')


def r32(data, at):
    return int.from_bytes(data[at:at + 4], 'little')


def r64(data, at):
    return int.from_bytes(data[at:at + 8], 'little')


def rotl(x, n):
    return (x << n | x >> (64 - n)) & M64


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * MX1 & M64
    return h ^ h >> 32


def avalanche_64(h):
    h ^= h >> 33
    h = h * P64_2 & M64
    h ^= h >> 29
    h = h * P64_3 & M64
    return h ^ h >> 32


def mix16(data, at, secret, key, seed):
    return fold(r64(data, at) ^ (r64(secret, key) + seed & M64), r64(data, at + 8) ^ (r64(secret, key + 8) - seed & M64))


def short(data, seed):  # up to 16 bytes
    n, s = len(data), SECRET
    if n > 8:
        low = r64(data, 0) ^ ((r64(s, 24) ^ r64(s, 32)) + seed & M64)
        high = r64(data, n - 8) ^ ((r64(s, 40) ^ r64(s, 48)) - seed & M64)
        swapped = int.from_bytes(low.to_bytes(8, 'little'), 'big')
        return avalanche(n + swapped + high + fold(low, high) & M64)
    if n >= 4:
        seed ^= int.from_bytes((seed & M32).to_bytes(4, 'little'), 'big') << 32
        flip = (r64(s, 8) ^ r64(s, 16)) - seed & M64
        h = (r32(data, n - 4) + (r32(data, 0) << 32) & M64) ^ flip
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * MX2 & M64
        h ^= (h >> 35) + n
        h = h * MX2 & M64
        return h ^ h >> 28
    if n:
        word = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche_64(word ^ ((r32(s, 0) ^ r32(s, 4)) + seed & M64))
    return avalanche_64(seed ^ r64(s, 56) ^ r64(s, 64))


def middle(data, seed):  # 17 to 240 bytes
    n, s = len(data), SECRET
    acc = n * P64_1
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            acc += mix16(data, 16 * i, s, 32 * i, seed) + mix16(data, n - 16 * (i + 1), s, 32 * i + 16, seed)
        return avalanche(acc & M64)
    for i in range(8):
        acc += mix16(data, 16 * i, s, 16 * i, seed)
    acc = avalanche(acc & M64)
    for i in range(8, n // 16):
        acc += mix16(data, 16 * i, s, 16 * (i - 8) + 3, seed)
    return avalanche(acc + mix16(data, n - 16, s, 136 - 17, seed) & M64)


def accumulate(acc, data, at, secret, key):
    words = struct.unpack_from('<8Q', data, at)
    keys = struct.unpack_from('<8Q', secret, key)
    for i in range(8):
        keyed = words[i] ^ keys[i]
        acc[i ^ 1] = acc[i ^ 1] + words[i] & M64
        acc[i] = acc[i] + (keyed & M32) * (keyed >> 32) & M64


def long(data, seed):  # above 240 bytes
    n, secret = len(data), SECRET
    if seed:
        words = struct.unpack('<24Q', SECRET)
        secret = struct.pack('<24Q', *((w + seed if i % 2 == 0 else w - seed) & M64 for i, w in enumerate(words)))
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    for stripe in range((n - 1) // 64):
        accumulate(acc, data, 64 * stripe, secret, 8 * (stripe % 16))
        if stripe % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ r64(secret, 128 + 8 * i)) * P32_1 & M64
    accumulate(acc, data, n - 64, secret, 121)
    result = n * P64_1
    for i in range(4):
        result += fold(acc[2 * i] ^ r64(secret, 11 + 16 * i), acc[2 * i + 1] ^ r64(secret, 19 + 16 * i))
    return avalanche(result & M64)


def xxh3(data, seed=0):
    return short(data, seed) if len(data) <= 16 else middle(data, seed) if len(data) <= 240 else long(data, seed)


# ---- the log ----


class Damaged(Exception):
    pass


def need(fine, what):
    if not fine:
        raise Damaged(what)


def unsigned(number):  # hashes are stored as signed numbers
    return number & M64


def add(h, *columns):  # a sum over columns: each column's hash is the next one's seed
    for column in columns:
        data = column if isinstance(column, bytes) else struct.pack('<Q', (column or 0) & M64)
        h = xxh3(data, h)
    return h


PAGE = 8192


def check_pages(path):
    """Each page of the main file ends in 8 bytes: H of the bytes before them, seeded with the page's number. Zeros: none."""
    if os.path.exists(path + '-wal') and os.path.getsize(path + '-wal'):
        return 0  # newer pages are there, with SQLite's own checksums
    with open(path, 'rb') as file:
        data = file.read()
    need(len(data) % PAGE == 0 and data[:16] == b'SQLite format 3\0', 'this is no whole database of SQLite')
    if data[20] != 8 or (data[PAGE - 4:PAGE] != data[24:28] and data[24:28] == data[92:96]):
        return 0  # another program has written pages, and their sums say nothing
    for number in range(1, len(data) // PAGE + 1):
        page = data[PAGE * (number - 1):PAGE * number]
        h = xxh3(page[:PAGE - 8], number)
        if number == 1:
            need(page[-8:-4] == struct.pack('<I', h & M32 or 1), 'page 1 was changed')
        elif page[-8:] != bytes(8):
            need(page[-8:] == struct.pack('<Q', h or 1), f'page {number} was changed')
    return len(data) // PAGE


def rows(db, text):
    cursor = db.execute(text)
    names = [column[0].decode() if isinstance(column[0], bytes) else column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row))


def check_rows(db, meta, runs, tasks):
    own = add(xxh3(meta['db']), meta['epoch'], meta['owner'], meta['dev'], meta['ino'], meta['clean'], meta['next_lsn'],
              meta['next_tid'], meta['mark'], meta['base'], meta['base_chain'])
    need(own == unsigned(meta['sum']), 'the row of meta was changed')
    for row in rows(db, 'SELECT * FROM program'):
        h = add(xxh3(row['hash']), row['id'], row['tfyc'], row['source'], row['layout'])
        need(h == unsigned(row['sum']), f"program {row['id']} was changed")
    for row in runs.values():
        h = add(xxh3(row['uuid']), row['id'], row['program'], row['root'], row['state'], row['started'], row['ended'],
                row['imported'])
        if row['origin']:
            h = add(h, row['origin'][:16], struct.unpack('>q', row['origin'][16:])[0])
        if row['parked']:
            h = add(h, row['parked'], row['parked_at'])
        if row['moved']:
            h = add(h, row['moved'])
        if row['base']:
            h = add(h, row['base'])
        if row['options']:
            h = add(h, row['options'])
        need(h == unsigned(row['sum']), f"run {row['id']} was changed")
    for row in tasks.values():
        h = add(0, row['tid'], row['run'], row['path'], row['program'], row['born'], row['head'], row['chain'],
                row['step'], row['state'], row['wait'])
        need(h == unsigned(row['sum']), f"task {row['tid']} was changed")


def first_link(task, runs):
    """Where a task's records begin: (prev, chain) before its first one."""
    start = task['born'] if '.' in task['path'].decode() else 0
    if task['base'] == start:  # else retention took its beginning, and base_chain is that of the last record that went
        uuid = runs[task['run']]['uuid'] if task['run'] else bytes(16)
        need(xxh3(task['path'], xxh3(uuid)) == unsigned(task['base_chain']), f"task {task['tid']} was changed")
    return task['base'], unsigned(task['base_chain'])


def chain_of(previous, row):
    columns = struct.pack('<QQQQIBB', previous, row['step'] & M64, row['ts'] & M64, len(row['payload']), row['point'],
                          row['v'], row['type'])
    return xxh3(row['payload'], xxh3(columns))


def check_records(db, meta, runs, tasks, dump):
    marks = list(rows(db, 'SELECT * FROM mark ORDER BY lsn'))
    lsn, chain = meta['base'], unsigned(meta['base_chain'])
    for mark in marks:
        chain = add(chain, mark['lsn'], mark['epoch'], mark['rows'], mark['sum'])
        need(chain == unsigned(mark['chain']) and mark['lsn'] - lsn == mark['rows'], f"the mark at {mark['lsn']} was changed")
        lsn = mark['lsn']
    need(marks and lsn == meta['mark'], 'the newest mark is missing')
    gaps = {row['lsn']: row for row in rows(db, 'SELECT * FROM gap')}
    heads, segment, count, total, seen, last = {}, 0, 0, 0, 0, meta['base']

    def close():
        mark = marks[segment]
        need(count == mark['rows'] - mark['gone_rows'], f"records up to {mark['lsn']} are missing")
        need(total == unsigned(mark['sum'] - mark['gone_sum']), f"records up to {mark['lsn']} are not those that were sealed")

    for row in rows(db, 'SELECT * FROM wal ORDER BY lsn'):
        while segment < len(marks) and row['lsn'] > marks[segment]['lsn']:
            close()
            last = max(last, marks[segment]['lsn'])
            segment, count, total = segment + 1, 0, 0
        if segment == len(marks):
            need(row['lsn'] == last + 1, f'record {last + 1} is missing')
        need(row['tid'] in tasks, f"record {row['lsn']} belongs to no task")
        prev, previous = heads.get(row['tid']) or first_link(tasks[row['tid']], runs)
        gap = gaps.pop(row['lsn'], None)
        if gap:  # retention took what stood before it
            need(gap['below'] == prev, f"the gap before record {row['lsn']} was changed")
            prev, previous = row['prev'], unsigned(gap['chain'])
        need(row['prev'] == prev, f"record {row['lsn']} does not follow its task's record before")
        need(chain_of(previous, row) == unsigned(row['chain']), f"record {row['lsn']} was changed")
        heads[row['tid']] = row['lsn'], unsigned(row['chain'])
        total = total + xxh3(struct.pack('<QQQQ', row['lsn'], row['tid'], row['prev'], unsigned(row['chain']))) & M64
        count, seen, last = count + 1, seen + 1, row['lsn']
        if dump:
            print(row['lsn'], tasks[row['tid']]['path'].decode() or '-', row['type'], row['step'], row['payload'].decode())
            json.loads(row['payload'])
    while segment < len(marks):
        close()
        segment, count, total = segment + 1, 0, 0
    need(not gaps, f'the log has gaps before records that are not there: {sorted(gaps)}')
    for task in tasks.values():  # a row is as old as the newest mark; the records say where its task stands now
        newest = heads.get(task['tid']) or first_link(task, runs)
        need(task['head'] <= newest[0], f"record {task['head']} is missing")
        need(task['head'] < newest[0] or unsigned(task['chain']) == newest[1], f"task {task['tid']} was changed")
    return seen, len(marks)


def check_texts(db, runs):
    """What models were sent: every Text has its digest, starts like one that is there, and is there before it is named."""
    tasks = {row['tid']: row['run'] for row in rows(db, 'SELECT tid, run FROM task')}
    texts = {run: {} for run in runs}
    for row in rows(db, 'SELECT * FROM wal WHERE type IN (2, 41) ORDER BY lsn'):
        run, payload = tasks[row['tid']], json.loads(row['payload'])
        known = texts[run]
        if row['type'] == 41:
            need(row['tid'] == runs[run]['root'], f"the Text {row['lsn']} is not in the first task's chain")
            need('of' not in payload or payload['of'] in known, f"the Text {row['lsn']} starts like one that is not there")
            begin = known[payload['of']][:payload['at']] if 'of' in payload else b''
            text = begin + payload['text'].encode()
            need(f'{xxh3(text):016x}' == payload['digest'], f"the Text {row['lsn']} has another digest")
            need(payload['digest'] not in known, f"the Text {row['lsn']} is there already")
            known[payload['digest']] = text
        for _, digest in payload.get('texts', []) if row['lsn'] > runs[run]['base'] else []:
            need(digest in known, f"record {row['lsn']} names a text that is not there")


def main(path, dump):
    pages = check_pages(path)
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.text_factory = bytes
    need(db.execute('PRAGMA application_id').fetchone()[0] == 1413896497, 'this is no tfy database')
    need(db.execute('PRAGMA user_version').fetchone()[0] == 1, 'this database has another format')
    db.execute('BEGIN')
    meta = next(rows(db, 'SELECT * FROM meta'))
    runs = {row['id']: row for row in rows(db, 'SELECT * FROM run')}
    tasks = {row['tid']: row for row in rows(db, 'SELECT * FROM task')}
    check_rows(db, meta, runs, tasks)
    records, marks = check_records(db, meta, runs, tasks, dump)
    check_texts(db, runs)
    for run in runs.values():  # a compacted run begins at a Snapshot
        base = db.execute('SELECT type FROM wal WHERE lsn=? AND tid=?', (run['base'], run['root'])).fetchone()
        need(not run['base'] or base == (33,), f"run {run['id']} lacks the snapshot that it begins at")
    print(f'{path} is sound: {records} records of {len(tasks) - 1} tasks in {len(runs)} runs, {marks} marks, {pages} pages')


if __name__ == '__main__':
    try:
        if sys.argv[1] == '--sum':  # XXH3-64 of a file, as an export's .run file says it
            sys.exit(print(f'{xxh3(open(sys.argv[2], "rb").read()):016x}'))
        main(sys.argv[1], '--dump' in sys.argv)
    except (Damaged, sqlite3.Error, UnicodeDecodeError, ValueError, struct.error, TypeError, KeyError, StopIteration) as error:
        sys.exit(f'{sys.argv[1]} is damaged: {error}')
