#!/usr/bin/env python3
"""forge.py FILE.run OLD NEW [LSN MS]: changes an exported run of one task as if it had been recorded so.

Every OLD in its records becomes NEW, records from LSN on are later by MS, and the chain is made anew: what an older tfy recorded, or another clock.
"""
import calendar
import json
import sys
import time

sys.dont_write_bytecode = True
from read_log import chain_of, xxh3

KINDS = {'InstructionStart': 1, 'StepStart': 3, 'TaskComplete': 7, 'TaskExit': 11, 'TaskYield': 14, 'TimerFired': 15, 'Output': 28,
         'InDoubt': 30, 'Resolved': 31}


def time_of(text):
    seconds, ms = text[:-1].split('.')
    return calendar.timegm(time.strptime(seconds, '%Y-%m-%dT%H:%M:%S')) * 1000 + int(ms)


def text_of(ms):
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000)) + '.%03dZ' % (ms % 1000)


def main(path, old, new, since='0', shift='0'):
    run = json.load(open(path))
    lines, chain = [], xxh3(b'1', xxh3(bytes.fromhex(run['run'].replace('-', ''))))
    for text in open(path[:-3] + 'wal').read().replace(old, new).splitlines(True):
        line = json.loads(text)
        ts = time_of(line['ts'])
        if int(since) and line['lsn'] >= int(since):
            ts += int(shift)
            text = text.replace(line['ts'], text_of(ts), 1)
        payload = '{' + text.rstrip('\n').split('"point":%d,' % line['point'], 1)[1] if text.count(',') > 6 else '{}'
        chain = chain_of(chain, {'step': line['step'], 'ts': ts, 'point': line['point'], 'v': 1,
                                 'type': KINDS[line['type']], 'payload': payload.encode()})
        lines.append(text)
    run['tasks'][0]['chain'] = '%016x' % chain
    if run['ended']:
        run['ended'] += int(shift)
    open(path[:-3] + 'wal', 'w').writelines(lines)
    json.dump(run, open(path, 'w'))


main(*sys.argv[1:])
