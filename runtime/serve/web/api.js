// api.js: requests to the server. A change makes later reads wait until the lists have it, so people read what they wrote.

let written = '', writtenAt = 0;

/** Why a request was refused (RFC 9457). */
export class Problem extends Error {
    constructor(status, body) {
        super(body.detail || body.title || `HTTP ${status}`);
        this.status = status;
        this.kind = (body.type || '').replace('/problems/', '');
        this.title = body.title || '';
        this.request = body.request || '';
        this.body = body;
    }
}

const loggedOut = new Set();

/** Has the function called when the server does not know who asks. */
export function onLoggedOut(call) {
    loggedOut.add(call);
    return () => loggedOut.delete(call);
}

async function call(method, path, { body, headers = {}, signal, plain = false } = {}) {
    const all = { Accept: 'application/json', ...headers };
    if (body !== undefined) all['Content-Type'] = 'application/json';
    if (method !== 'GET') all['Tfy-Request'] = '1';
    if (method === 'GET' && written && Date.now() - writtenAt < 10000) all['Tfy-After'] = written;
    let answer;
    try {
        answer = await fetch(path, { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), signal });
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new Problem(0, { type: '/problems/offline', detail: error.message });
    }
    const lsn = answer.headers.get('Tfy-Lsn');
    if (lsn) [written, writtenAt] = [lsn, Date.now()];
    const text = await answer.text();
    if (plain && answer.ok) return text;
    let json = {};
    try {
        json = text ? JSON.parse(text) : {};
    } catch {
        throw new Problem(answer.status, { detail: text.slice(0, 200) });
    }
    if (answer.status === 401) for (const each of loggedOut) each();
    if (!answer.ok) throw new Problem(answer.status, json);
    return json;
}

let shared = false;

/** Whether the server's database is one of PostgreSQL, whose workers execute runs; learn() asks. */
export const isShared = () => shared;

export async function learn() {
    const me = await call('GET', '/v1/me').catch(() => ({}));
    shared = me.database === 'postgresql';
}

export const get = (path, options) => call('GET', path, options);
export const post = (path, body = {}, options = {}) => call('POST', path, { ...options, body });
export const remove = (path, options) => call('DELETE', path, options);

/** "a=1&b=2" of what is there. */
export function query(values) {
    const out = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) if (value !== '' && value !== null && value !== undefined) out.set(name, value);
    const text = out.toString();
    return text ? `?${text}` : '';
}
