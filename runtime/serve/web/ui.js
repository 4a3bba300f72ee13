// ui.js: what the screens share: the address as state, loading, badges, times, dialogs, and a voice for people who do not see.
import { html, useState, useEffect, useRef, useCallback } from './vendor/preact.js';
import { t, time, duration, number } from './text.js';

// ---- the address ----

/** @returns {{path: string[], query: URLSearchParams}} */
export function route() {
    const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
    return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function useRoute() {
    const [now, set] = useState(route());
    useEffect(() => {
        const change = () => set(route());
        addEventListener('hashchange', change);
        return () => removeEventListener('hashchange', change);
    }, []);
    return now;
}

/** Changes parameters of the address; an empty value takes one away. */
export function go(path, values = {}, replace = false) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
    const text = query.toString(), hash = `#/${path}${text ? `?${text}` : ''}`;
    if (replace) {
        history.replaceState(null, '', hash);
        dispatchEvent(new Event('hashchange'));
    } else {
        location.hash = hash;
    }
}

/**
 * A field whose text is handed to `change` when it is complete. What is being typed stays when the screen is drawn again
 * beside it; a new `value` replaces it.
 */
export function TextField({ value, change, ...rest }) {
    const [text, set] = useState(value);
    useEffect(() => set(value), [value]);
    return html`<input ...${rest} value=${text} onInput=${(event) => set(event.target.value)} onChange=${(event) => change(event.target.value.trim())} />`;
}

// ---- loading ----

/** Loads, again when `keys` change. What was there stays until the new is there. */
export function useLoad(load, keys) {
    const [state, set] = useState({ value: null, problem: null, loading: true });
    const running = useRef(null);
    const again = useCallback(async () => {
        if (running.current) running.current.abort();
        const abort = running.current = new AbortController();
        set((before) => (before.loading ? before : { ...before, loading: true }));
        try {
            const value = await load(abort.signal);
            if (!abort.signal.aborted) set({ value, problem: null, loading: false });
        } catch (problem) {
            if (problem.name !== 'AbortError') set((before) => ({ ...before, problem, loading: false }));
        }
    }, keys);
    useEffect(() => {
        again();
        return () => running.current && running.current.abort();
    }, keys);
    /** Asks no more for what is not there yet. */
    const stop = useCallback(() => {
        if (running.current) running.current.abort();
        set((before) => ({ ...before, loading: false }));
    }, []);
    return { ...state, again, stop };
}

/** Calls at once, then at most once in `ms`. */
export function useThrottle(call, ms) {
    const state = useRef({ timer: 0, at: 0 });
    const newest = useRef(null);
    newest.current = { call, ms };
    useEffect(() => () => clearTimeout(state.current.timer), []);
    return useCallback(() => {
        const now = state.current;
        if (now.timer) return;
        now.timer = setTimeout(() => {
            now.timer = 0;
            now.at = Date.now();
            newest.current.call();
        }, Math.max(0, now.at + newest.current.ms - Date.now()));
    }, []);
}

// ---- pieces ----

const stateMarks = { running: '▸', completed: '✓', failed: '✗', cancelled: '⊘', queued: '…' };

export function State({ run }) {
    const asks = run.attention && html` <span class="badge attention">${t(`attention.${run.attention}`)}</span>`;
    return html`<span class="badge ${run.state}"><span aria-hidden="true">${stateMarks[run.state] || '·'}</span> ${t(`state.${run.state}`)}</span>${asks}`;
}

export function Time({ of }) {
    return of ? html`<time datetime=${of} title=${of}>${time(of)}</time>` : '';
}

/** How long something took, or takes since. */
export function Took({ from, to }) {
    const [now, set] = useState(Date.now());
    useEffect(() => {
        if (to) return undefined;
        const timer = setInterval(() => set(Date.now()), 1000);
        return () => clearInterval(timer);
    }, [to]);
    return html`<span class="num">${duration(Math.max(0, (to ? Date.parse(to) : now) - Date.parse(from)))}</span>`;
}

export function Labels({ of }) {
    return html`${Object.entries(of || {}).map(([name, value]) => html`<span class="label" key=${name}><bdi>${name}=${value}</bdi></span> `)}`;
}

export function ProblemBox({ problem, again }) {
    if (!problem) return '';
    return html`<div class="problem" role="alert"><strong>${problem.status === 0 ? t('problem.offline') : problem.title || t('problem.title')}</strong>
        <p><bdi>${problem.message}</bdi></p>
        ${(problem.body && problem.body.errors || []).map((one) => html`<p><code>${one.path}</code> <bdi>${one.detail}</bdi></p>`)}
        ${problem.request && html`<p class="faint">${t('problem.request', { id: problem.request })}</p>`}
        ${again && html`<button onClick=${again}>${t('problem.again')}</button>`}</div>`;
}

/** What a list lacks while its index follows the log, and asks again until it has it. */
export function Behind({ list, again }) {
    const lacks = (list && list.behind) || 0;
    useEffect(() => {
        if (!lacks) return undefined;
        const timer = setTimeout(again, 2000);
        return () => clearTimeout(timer);
    }, [list]);
    return lacks ? html`<p class="note" role="status">${t('behind', { n: number(lacks) })}</p>` : '';
}

/** Grey rows, after a moment. */
export function Skeleton({ rows = 6 }) {
    const [late, set] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => set(true), 150);
        return () => clearTimeout(timer);
    }, []);
    return late ? html`<div class="skeleton" role="status" aria-label=${t('loading')}>${Array.from({ length: rows }, (_, i) => html`<div key=${i}></div>`)}</div>` : '';
}

export function Empty({ title, children }) {
    return html`<div class="empty"><p class="big">${title}</p>${children}</div>`;
}

/** A value of a program as text, whole only when it is asked for. */
export function Value({ of, most = 2000 }) {
    const [whole, set] = useState(false);
    const text = typeof of === 'string' ? of : JSON.stringify(of, null, 2);
    const cut = !whole && text !== undefined && text.length > most;
    return html`<pre class="value" tabindex="0"><bdi>${cut ? text.slice(0, most) : text}</bdi>${cut && html` <button class="link" onClick=${() => set(true)}>${t('all', { n: text.length })}</button>`}</pre>`;
}

/** A dialog over the page; Escape and a click beside it close it. */
export function Dialog({ title, close, children }) {
    const box = useRef(null);
    useEffect(() => {
        const before = document.activeElement;
        box.current.showModal();
        return () => before && before.focus && before.focus();
    }, []);
    return html`<dialog ref=${box} aria-label=${title} onClose=${close} onClick=${(event) => event.target === box.current && close()}>
        <div class="dialog"><h2>${title}</h2>${children}</div></dialog>`;
}

/** Says what will be hit, and asks again. */
export function Confirm({ title, text, doIt, word, close, children }) {
    const [problem, set] = useState(null), [busy, setBusy] = useState(false);
    const confirm = async (event) => {
        event.preventDefault();
        setBusy(true);
        try {
            await doIt(new FormData(event.target));
            close();
        } catch (error) {
            set(error);
            setBusy(false);
        }
    };
    return html`<${Dialog} title=${title} close=${close}><form onSubmit=${confirm}>
        ${text && html`<p>${text}</p>`}${children}
        <${ProblemBox} problem=${problem} />
        <p class="buttons"><button type="button" onClick=${close}>${t('cancel')}</button> <button class="primary" disabled=${busy}>${word}</button></p>
    </form></>`;
}

// ---- for ears ----

let voice = null, spokenAt = 0, waiting = null;

export function Voice() {
    const [text, set] = useState('');
    voice = set;
    return html`<div class="unseen" aria-live="polite">${text}</div>`;
}

/** Says something, one thing a second at most: of what comes faster, the newest. */
export function say(text) {
    const wait = spokenAt + 1000 - Date.now();
    clearTimeout(waiting);
    waiting = setTimeout(() => {
        spokenAt = Date.now();
        if (voice) voice(text);
    }, Math.max(0, wait));
}

// ---- keys ----

const keys = new Map();

/** @param {Record<string, () => void>} of functions by key, while the component is there; "g r" is g, then r */
export function useKeys(of) {
    const newest = useRef(of);
    newest.current = of;
    useEffect(() => {
        const names = Object.keys(newest.current);
        for (const name of names) keys.set(name, () => newest.current[name]());
        return () => names.forEach((name) => keys.delete(name));
    }, [Object.keys(of).join()]);
}

let before = '', beforeAt = 0;
addEventListener('keydown', (event) => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
    if (document.querySelector('dialog[open]')) return;
    const two = Date.now() - beforeAt < 1200 ? `${before} ${event.key}` : '';
    const call = keys.get(two) || keys.get(event.key);
    [before, beforeAt] = [event.key, Date.now()];
    if (!call) return;
    event.preventDefault();
    call();
});
