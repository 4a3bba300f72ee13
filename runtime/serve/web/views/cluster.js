// views/cluster.js: who executes runs of a shared database, what waits there, and which workers ended otherwise than in order. It is what `tfy cluster`
// shows, read again every few seconds.
import { html, useEffect } from '../vendor/preact.js';
import { t, duration, number, plain } from '../text.js';
import { get, query as ask } from '../api.js';
import { useLoad, ProblemBox, Skeleton, Empty } from '../ui.js';

const EVERY = 5000;
const HASH = 12;

const version = (one) => html`<code class="faint">${(one.version || '').slice(0, HASH)}</code>`;
const span = (ms) => (ms === null || ms === undefined ? '' : duration(ms));
const count = (n) => (n === null || n === undefined ? '' : number(n));
const named = (name) => (name ? html`<bdi>${plain(name)}</bdi>` : '');

/** A column is {name, of, num}; one that no row has anything in is left out. */
function Table({ title, id, columns, rows }) {
    const shown = columns.filter((column) => rows.some((row) => column.of(row) !== ''));
    return html`<h2>${title}</h2><div class="wide" tabindex="0" role="region" aria-label=${title}><table id=${id}><thead><tr>
        ${shown.map((column) => html`<th key=${column.name} class=${column.num ? 'num' : ''}>${t(`cluster.${column.name}`)}</th>`)}</tr></thead>
        <tbody>${rows.map((row, i) => html`<tr key=${i}>${shown.map((column) => html`<td key=${column.name} class=${column.num ? 'num' : ''}>${column.of(row)}</td>`)}</tr>`)}</tbody></table></div>`;
}

const workerColumns = [{ name: 'worker', of: (one) => named(one.worker) }, { name: 'program', of: (one) => named(one.program) }, { name: 'version', of: version },
    { name: 'pool', of: (one) => named(one.pool) }, { name: 'place', of: (one) => named(one.place) }, { name: 'session', of: (one) => count(one.session), num: true }, { name: 'runs', of: (one) => count(one.runs), num: true },
    { name: 'room', of: (one) => count(one.capacity), num: true }, { name: 'age', of: (one) => span(one.age_ms), num: true }, { name: 'silent', of: (one) => span(one.silent_ms), num: true }];

const runsOf = (one, state, n) => (n ? html`<a href=${`#/runs${ask({ program: one.program, state })}`}>${number(n)}</a>` : count(n));
const queueColumns = [{ name: 'pool', of: (one) => html`${named(one.pool)}${one.paused && html` <span class="badge queued"><span aria-hidden="true">⏸</span> ${t('cluster.paused')}</span>`}` }, { name: 'program', of: (one) => named(one.program) },
    { name: 'version', of: version }, { name: 'ready', of: (one) => count(one.ready), num: true }, { name: 'oldest', of: (one) => span(one.oldest_ms), num: true }, { name: 'owned', of: (one) => runsOf(one, 'running', one.owned), num: true },
    { name: 'waiting', of: (one) => count(one.waiting), num: true }, { name: 'held', of: (one) => count(one.held), num: true }, { name: 'doubt', of: (one) => count(one.in_doubt), num: true }, { name: 'workers', of: (one) => count(one.workers), num: true }];

const placeColumns = [{ name: 'place', of: (one) => named(one.place) }, { name: 'runs', of: (one) => count(one.runs), num: true }, { name: 'workers', of: (one) => count(one.workers), num: true }];

const takeoverColumns = [{ name: 'worker', of: (one) => named(one.worker) }, { name: 'program', of: (one) => named(one.program) }, { name: 'version', of: version }, { name: 'session', of: (one) => count(one.session), num: true },
    { name: 'ago', of: (one) => span(one.ago_ms), num: true }, { name: 'endedBy', of: (one) => named(one.ended_by) }, { name: 'why', of: (one) => named(one.why) }];

/** Runs that no worker would take. */
function Warnings({ queues }) {
    const lost = queues.filter((one) => !one.workers && one.ready + one.owned + one.waiting + one.held > 0);
    return lost.map((one, i) => html`<p class="note" key=${i}>${t(one.pool_workers ? 'cluster.noVersion' : 'cluster.noWorker',
        { pool: one.pool, program: one.program, version: (one.version || '').slice(0, HASH), n: number(one.ready + one.owned + one.waiting + one.held) })}</p>`);
}

export function Cluster() {
    const { value, problem, loading, again } = useLoad((signal) => get('/v1/cluster', { signal }), []);
    useEffect(() => {
        const timer = setInterval(() => document.hidden || again(), EVERY);
        return () => clearInterval(timer);
    }, []);
    const head = html`<h1>${t('cluster.title')}</h1><${ProblemBox} problem=${problem} again=${again} />`;
    if (!value) return html`${head}${loading && html`<${Skeleton} />`}`;
    const { workers, queues, takeovers, places = [] } = value;
    return html`${head}<${Warnings} queues=${queues} />
        ${workers.length ? html`<${Table} id="workers" title=${t('cluster.workers')} columns=${workerColumns} rows=${workers} />` :
        html`<${Empty} title=${t('cluster.none')}><pre>tfy worker PROGRAM.tfy --db postgresql://…</pre></>`}
        ${queues.length > 0 && html`<${Table} id="queues" title=${t('cluster.queues')} columns=${queueColumns} rows=${queues} />`}
        ${places.length > 0 && html`<${Table} id="places" title=${t('cluster.places')} columns=${placeColumns} rows=${places} />`}
        ${takeovers.length > 0 && html`<${Table} id="takeovers" title=${t('cluster.takeovers')} columns=${takeoverColumns} rows=${takeovers} />`}`;
}
