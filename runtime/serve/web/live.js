// live.js: the stream of events. Of all tabs of a browser one has it, and hands its events to the others: with a stream for
// each, the seventh tab would block every request of the browser. When that tab closes, another one goes on at the id that
// it got last.

import { isShared } from './api.js';

const LOOK = 4000;
const listeners = new Set(), watchers = new Set();
const channel = 'BroadcastChannel' in self ? new BroadcastChannel('tfy-events') : null;
const state = { connected: false, at: 0 };
let last = '', source = null;

/** @param {(event: {kind: string, data: object}) => void} call @returns {() => void} ends it */
export function listen(call) {
    listeners.add(call);
    return () => listeners.delete(call);
}

/** Whether an event may change which questions are open. */
export function touchesQuestions({ kind, data }) {
    return kind !== 'live' && (kind !== 'record' || ['StepStart', 'Approval', 'TaskAbort', 'TaskComplete', 'TaskCancel'].includes(data.type));
}

/** @param {(state: {connected: boolean, at: number}) => void} call told whether events come, and when the last one did */
export function watchStream(call) {
    watchers.add(call);
    call({ ...state });
    return () => watchers.delete(call);
}

function told(message) {
    if (message.id) last = message.id;
    state.connected = message.kind !== 'offline';
    if (state.connected) state.at = Date.now();
    for (const call of watchers) call({ ...state });
    if (message.data) for (const call of listeners) call({ kind: message.kind, data: message.data });
}

function pass(message) {
    told(message);
    if (channel) channel.postMessage(message);
}

function open() {
    source = new EventSource(`/v1/events?live=1${last ? `&after=${last}` : ''}`);
    for (const kind of ['hello', 'record', 'live', 'gap', 'reset', 'bye'])
        source.addEventListener(kind, (event) => pass({ kind, id: event.lastEventId, data: JSON.parse(event.data) }));
    source.onerror = () => {
        pass({ kind: 'offline' });
        if (source.readyState !== EventSource.CLOSED) return; // it comes again by itself
        source.close();
        setTimeout(open, 3000);
    };
}

/** A shared database has no stream of everything, so the screens look again every few seconds. */
function look() {
    setInterval(() => document.hidden || told({ kind: 'reset', data: {} }), LOOK);
}

export function startStream() {
    if (isShared()) {
        look();
        return;
    }
    if (source) return;
    if (channel) channel.onmessage = (event) => told(event.data);
    if (navigator.locks && channel) navigator.locks.request('tfy-events', () => new Promise(open));
    else open();
}
