// views/runs.js: the list of runs. Its filters are its address. What is new is said, and shown when the reader wants it.
import { html, useState, useEffect, useRef } from '../vendor/preact.js';
import { t, time, short, money, plain, shortId } from '../text.js';
import { get, post, query as ask, isShared } from '../api.js';
import { listen } from '../live.js';
import { FirstStart } from './programs.js';
import { go, useLoad, useThrottle, useKeys, State, Time, Took, Labels, Behind, ProblemBox, Skeleton, Empty, Confirm, TextField, say } from '../ui.js';

const filters = ['q', 'state', 'attention', 'program', 'workflow', 'by', 'label', 'since', 'sort'];
const spans = { '1h': 3600e3, '24h': 864e5, '7d': 6048e5, '30d': 2592e6 };

/** The filters of the address as the interface has them. */
function wanted(query) {
    const out = { limit: 50 };
    for (const name of ['q', 'state', 'attention', 'program', 'workflow', 'by', 'sort', 'cursor']) out[name] = query.get(name);
    const [name, value] = (query.get('label') || '').split('=');
    if (value !== undefined) out[`label.${name}`] = value;
    const since = spans[query.get('since')];
    if (since) out.after = new Date(Date.now() - since).toISOString().replace(/\.\d+Z/, 'Z');
    return out;
}

/** What a run says: what it asks, its error, or its result. */
function Says({ run }) {
    if (run.attention === 'question') return html`<a href="#/inbox?run=${run.id}">${t('runs.asks')}</a>`;
    if (run.held) return html`<span class="says">${t(`held.${run.held}`)}</span>`;
    const text = run.difference || (run.error ? `${run.error.error}: ${run.error.message || ''}` : run.result === undefined ? '' :
        typeof run.result === 'string' ? run.result : JSON.stringify(run.result));
    const shown = plain(text);
    return html`<span class="says" title=${shown.slice(0, 300)}><bdi>${shown.slice(0, 120)}</bdi></span>`;
}

function Filters({ query, programs }) {
    const value = (name) => query.get(name) || '';
    const set = (changed) => {
        const all = {};
        for (const name of filters) all[name] = name in changed ? changed[name] : value(name);
        go('runs', all);
    };
    const select = (name, choices, label) => html`<select aria-label=${label} value=${value(name)} onChange=${(event) => set({ [name]: event.target.value })}>
        <option value="">${label}</option>${choices.map(([of, text]) => html`<option key=${of} value=${of}>${text}</option>`)}</select>`;
    const input = (name, label, size) => html`<${TextField} type=${name === 'q' ? 'search' : 'text'} id=${`filter-${name}`} aria-label=${label} placeholder=${label} size=${size}
        value=${value(name)} change=${(text) => set({ [name]: text })} />`;
    const workflows = [...new Set(programs.flatMap((one) => one.workflows))].sort();
    return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
        ${!isShared() && input('q', t('runs.search'), 24)}
        ${select('state', ['queued', 'running', 'completed', 'failed', 'cancelled'].map((one) => [one, t(`state.${one}`)]), t('runs.state'))}
        ${select('attention', ['any', 'question', 'in_doubt', ...(isShared() ? ['held'] : ['deadlock', 'diverged'])].map((one) => [one, t(`attention.${one}`)]), t('runs.attention'))}
        ${select('program', programs.map((one) => [one.name, one.name]), t('runs.program'))}
        ${select('workflow', workflows.map((one) => [one, one]), t('runs.workflow'))}
        ${select('since', Object.keys(spans).map((one) => [one, t(`since.${one}`)]), t('runs.since'))}
        ${input('by', t('runs.by'), 8)}${input('label', t('runs.label'), 12)}
        ${filters.some(value) && html`<button type="button" class="link" onClick=${() => go('runs')}>${t('runs.all')}</button>`}</form>`;
}

/** The head of a column that orders the list: the greatest first, then the least first. */
function Head({ name, text, query, className }) {
    if (isShared()) return html`<th class=${className || ''}>${text}</th>`;
    const now = query.get('sort') || '-started', down = now === `-${name}`, up = now === name;
    const all = Object.fromEntries(filters.map((one) => [one, query.get(one)])), next = down ? name : `-${name}`;
    return html`<th class=${className || ''} aria-sort=${down ? 'descending' : up ? 'ascending' : 'none'}>
        <button class="order" onClick=${() => go('runs', { ...all, sort: next === '-started' ? '' : next })}>${text}${(down || up) && html` <span aria-hidden="true">${down ? '▾' : '▴'}</span>`}</button></th>`;
}

function Row({ run, chosen, choose, current, isNew }) {
    return html`<tr class="${isNew ? 'new' : ''} ${current ? 'current' : ''}" aria-selected=${chosen}>
        <td><input type="checkbox" checked=${chosen} onChange=${choose} aria-label=${t('runs.choose', { id: shortId(run.id) })} /></td>
        <td><${State} run=${run} /></td>
        <td><a class="row" href="#/run/${run.id}"><bdi>${run.program}.${run.workflow}</bdi></a> <code class="faint">${shortId(run.id)}</code></td>
        <td><${Time} of=${run.started} /></td>
        <td class="num"><${Took} from=${run.started} to=${run.ended} /></td>
        <td class="num">${run.tokens.in + run.tokens.out ? short(run.tokens.in + run.tokens.out) : ''}</td>
        <td class="num">${money(run.cost)}</td>
        <td><${Labels} of=${run.labels} /></td>
        <td><${Says} run=${run} /></td></tr>`;
}

/** Asks for all of the chosen runs at once, and says how many were refused. */
async function forAll(ids, what) {
    const { refused } = await post('/v1/bulk', { do: what, runs: ids });
    if (refused.length) throw new Error(t('runs.refused', { n: refused.length, why: refused[0].detail }));
}

export function Runs({ query }) {
    const key = query.toString();
    const { value, problem, loading, again } = useLoad((signal) => get(`/v1/runs${ask(wanted(query))}`, { signal }), [key]);
    const programs = useLoad((signal) => get('/v1/programs', { signal }), []);
    const [chosen, setChosen] = useState(new Set()), [at, setAt] = useState(-1), [asks, setAsks] = useState(null), [fresh, setFresh] = useState(0);
    const runs = value ? value.runs : [], ids = useRef(new Set());
    ids.current = new Set(runs.map((run) => run.id));
    const reload = useThrottle(again, 1000);
    useEffect(() => {
        setFresh(0);
        setChosen(new Set());
        setAt(-1);
    }, [key]);
    useEffect(() => listen(({ kind, data }) => {
        if (kind !== 'record') return kind === 'gap' || kind === 'reset' ? reload() : undefined;
        if (data.type === 'InstructionStart' && data.task === '1' && !ids.current.has(data.run)) setFresh((n) => n + 1);
        else if (ids.current.has(data.run)) reload();
        return undefined;
    }), []);
    useEffect(() => {
        if (fresh) say(t('runs.fresh', { n: fresh }));
    }, [fresh]);
    const toggle = (id) => setChosen((before) => {
        const after = new Set(before);
        if (!after.delete(id)) after.add(id);
        return after;
    });
    const move = (by) => {
        const to = Math.max(0, Math.min(runs.length - 1, at + by));
        setAt(to);
        const row = document.querySelectorAll('a.row')[to];
        if (row) row.focus();
    };
    useKeys({
        '/': () => document.getElementById('filter-q').focus(), j: () => move(1), k: () => move(-1),
        x: () => runs[at] && toggle(runs[at].id),
    });
    const page = (cursor) => {
        const all = Object.fromEntries(filters.map((name) => [name, query.get(name)]));
        go('runs', { ...all, cursor });
    };
    const act = (what) => setAsks(html`<${Confirm} title=${t(`runs.${what}`)} text=${t(`runs.${what}.text`, { n: chosen.size })} word=${t(`runs.${what}`)}
        close=${() => setAsks(null)} doIt=${async () => {
    await forAll([...chosen], what);
    setChosen(new Set());
    again();
}}><ul class="ids">${[...chosen].slice(0, 10).map((id) => html`<li><code>${id}</code></li>`)}</ul></>`);
    const filtered = filters.some((name) => query.get(name));
    return html`<h1>${t('runs.title')}</h1>
        <${Filters} query=${query} programs=${programs.value ? programs.value.programs : []} />
        <div class="tools">${chosen.size > 0 && html`<span>${t('runs.chosen', { n: chosen.size })}</span>
            <button onClick=${() => act('cancel')}>${t('runs.cancel')}</button> <button onClick=${() => act('again')}>${t('runs.again')}</button>
            ${chosen.size === 2 && html`<button onClick=${() => go('compare', { a: [...chosen][0], b: [...chosen][1] })}>${t('compare.do')}</button>`}`}
            <span class="room"></span>
            ${fresh > 0 && html`<button class="fresh" onClick=${() => {
        setFresh(0);
        if (query.get('cursor')) page('');
        else again();
    }}>${t('runs.fresh', { n: fresh })}</button>`}
            ${query.get('cursor') && html`<button onClick=${() => page('')}>${t(query.get('sort') ? 'runs.first' : 'runs.newest')}</button>`}
            <button disabled=${!value || !value.next} onClick=${() => page(value.next)}>${t(query.get('sort') ? 'runs.more' : 'runs.older')}</button></div>
        <${Behind} list=${value} again=${again} /><${ProblemBox} problem=${problem} again=${again} />
        ${loading && !value && html`<${Skeleton} />`}
        ${value && runs.length === 0 && (filtered ? html`<${Empty} title=${t('runs.none')}><p>${filters.filter((name) => query.get(name)).map((name) =>
        html`<span class="label" key=${name}><bdi>${name}: ${query.get(name)}</bdi></span> `)}</p><button onClick=${() => go('runs')}>${t('runs.all')}</button></>` :
        html`<${Empty} title=${t('runs.empty')}><${FirstStart} /></>`)}
        ${runs.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label=${t('runs.title')}><table class="runs"><thead><tr><th><span class="unseen">${t('runs.choose.head')}</span></th><th>${t('runs.state')}</th><th>${t('runs.workflow')}</th>
            <${Head} name="started" text=${t('runs.started')} query=${query} />${['took', 'tokens', 'cost'].map((name) => html`<${Head} key=${name} name=${name} text=${t(`runs.${name}`)} query=${query} className="num" />`)}<th>${t('runs.labels')}</th><th>${t('runs.says')}</th></tr></thead>
            <tbody>${runs.map((run, i) => html`<${Row} key=${run.id} run=${run} current=${i === at} chosen=${chosen.has(run.id)} choose=${() => toggle(run.id)} />`)}</tbody></table></div>`}
        ${asks}`;
}
