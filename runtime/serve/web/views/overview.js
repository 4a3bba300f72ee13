// views/overview.js: how it goes: runs by the hour or the day, and what workflows and models took and cost.
import { html, useEffect } from '../vendor/preact.js';
import { t, language, duration, money, number, plain, short, isUtc } from '../text.js';
import { get, query as ask } from '../api.js';
import { listen } from '../live.js';
import { go, useLoad, useThrottle, Time, ProblemBox, Skeleton, Empty } from '../ui.js';
import { FirstStart } from './programs.js';

const HOUR = 3600000, spans = { '24h': { ms: 24 * HOUR, each: HOUR, by: 'hour' }, '7d': { ms: 168 * HOUR, each: 24 * HOUR, by: 'day' }, '30d': { ms: 720 * HOUR, each: 24 * HOUR, by: 'day' } };
const WIDTH = 960, HEIGHT = 150, FOOT = 20;

const sum = (rows, of) => rows.reduce((all, one) => all + of(one), 0);

/** One bar for each hour or day, also for those in which nothing happened. */
function fill(rows, begins, span) {
    const by = new Map(rows.map((one) => [Date.parse(one.begins), one])), out = [];
    for (let at = begins; at <= Date.now(); at += span.each)
        out.push({ at, started: 0, count: 0, failed: 0, cancelled: 0, ...by.get(at) });
    return out;
}

function labelOf(at, span) {
    const zone = span.by === 'day' || isUtc() ? { timeZone: 'UTC' } : {};
    return new Intl.DateTimeFormat(language, span.by === 'hour' ? { hour: '2-digit', minute: '2-digit', ...zone } : { day: 'numeric', month: 'short', ...zone }).format(new Date(at));
}

/** Stacked: completed, cancelled, failed; failed runs are never thinner than a line. */
function Bars({ rows, span }) {
    const most = Math.max(1, ...rows.map((one) => Math.max(one.count, one.started))), wide = WIDTH / rows.length, scale = (n) => (n ? Math.max(2, n / most * HEIGHT) : 0);
    const every = Math.max(1, Math.ceil(rows.length / 8));
    return html`<svg class="bars" viewBox=${`0 0 ${WIDTH} ${HEIGHT + FOOT}`} role="img" aria-label=${t('overview.chart', { n: number(sum(rows, (one) => one.count)), failed: number(sum(rows, (one) => one.failed)) })}>
        <text x="0" y="12" class="figures">${number(most)}</text><path d=${`M0,${HEIGHT} H${WIDTH}`} class="axis" />
        ${rows.map((one, i) => {
        const failed = scale(one.failed), cancelled = scale(one.cancelled), good = scale(one.count - one.failed - one.cancelled), x = i * wide + wide * 0.12, width = wide * 0.76;
        return html`<g key=${one.at}><title>${`${labelOf(one.at, span)}: ${t('overview.bar', { started: number(one.started), ended: number(one.count), failed: number(one.failed) })}`}</title>
            <rect x=${i * wide} y="0" width=${wide} height=${HEIGHT} class="nothing" />
            <rect x=${x} y=${HEIGHT - good} width=${width} height=${good} class="completed" /><rect x=${x} y=${HEIGHT - good - cancelled} width=${width} height=${cancelled} class="cancelled" />
            <rect x=${x} y=${HEIGHT - good - cancelled - failed} width=${width} height=${failed} class="failed" />${i % every === 0 && i < rows.length - 1 && html`<text x=${i * wide} y=${HEIGHT + FOOT - 5} class="figures">${labelOf(one.at, span)}</text>`}</g>`;
    })}</svg>`;
}

function Table({ title, head, rows }) {
    return html`<h2>${title}</h2><div class="wide" tabindex="0" role="region" aria-label=${title}><table><thead><tr>${head.map((one, i) => html`<th key=${one} class=${i ? 'num' : ''}>${one}</th>`)}</tr></thead>
        <tbody>${rows.map((row, i) => html`<tr key=${i}>${row.map((cell, j) => html`<td key=${j} class=${j ? 'num' : ''}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** The samples of a figure in Prometheus' text format: [labels as text, number]. */
function samples(text, name) {
    return [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))].map(([, labels, value]) => [labels || '', Number(value)]);
}

/** How it stands: what waits, how far lists and followers have come. */
function Now() {
    const { value, problem, again } = useLoad(async (signal) => {
        const [figures, followers] = await Promise.all([get('/metrics', { signal, plain: true }), get('/v1/followers', { signal })]);
        return { figures, followers: followers.followers };
    }, []);
    useEffect(() => {
        const timer = setInterval(() => document.hidden || again(), 5000);
        return () => clearInterval(timer);
    }, []);
    if (!value) return html`<${ProblemBox} problem=${problem} again=${again} />`;
    const one = (name) => (samples(value.figures, name)[0] || ['', 0])[1], queues = samples(value.figures, 'tfy_queue_length').filter(([, n]) => n);
    const facts = [[t('overview.queued'), number(sum(queues, ([, n]) => n))], [t('overview.questions'), number(one('tfy_questions_open'))],
        [t('overview.oldest'), duration(1000 * one('tfy_question_oldest_seconds'))], [t('overview.doubts'), number(one('tfy_in_doubt'))], [t('overview.diverged'), number(one('tfy_runs_diverged'))], [t('overview.behind'), number(one('tfy_index_lag_records'))]];
    return html`<${ProblemBox} problem=${problem} again=${again} /><h2>${t('overview.now')}</h2><dl class="facts large now">${facts.map(([what, of]) => html`<div key=${what}><dt>${what}</dt><dd>${of}</dd></div>`)}</dl>
        ${queues.length > 0 && html`<${Table} title=${t('overview.queue')} head=${[t('runs.workflow'), t('overview.queued')]} rows=${queues.map(([labels, n]) => {
        const [, program, workflow] = /workflow="([^".]*)\.([^"]*)"/.exec(labels) || ['', '', labels];
        return [html`<a href=${`#/runs${ask({ program, workflow, state: 'queued' })}`}><bdi>${program}.${workflow}</bdi></a>`, number(n)];
    })} />`}
        ${value.followers.length > 0 && html`<${Table} title=${t('overview.followers')} head=${[t('overview.follower'), t('overview.lag'), t('overview.missed'), t('overview.error')]} rows=${value.followers.map((of) =>
        [html`<bdi>${of.name}</bdi> <span class="faint"><bdi>${of.to}</bdi></span> ${!of.works && html`<span class="badge failed"><span aria-hidden="true">✗</span> ${t('overview.stopped')}</span>`}`,
            number(of.lag), number(of.missed + of.dropped), of.error && html`<bdi>${plain(of.error)}</bdi> ${of.error_time && html`<span class="faint"><${Time} of=${of.error_time} /></span>`}`])} />`}`;
}

const share = (part, whole) => (whole ? `${number(part)} (${number(100 * part / whole, 1)} %)` : '0');
const cost = (one) => (one.cost ? money(one.cost) : '');

export function Overview({ query }) {
    const name = spans[query.get('since')] ? query.get('since') : '24h', span = spans[name];
    const { value, problem, loading, again } = useLoad(async (signal) => {
        const begins = Math.floor((Date.now() - span.ms) / span.each) * span.each, after = new Date(begins).toISOString();
        const [bars, workflows, models] = await Promise.all([span.by, 'workflow', 'model'].map((by) => get(`/v1/stats${ask({ by, after })}`, { signal })));
        return { begins, span, bars: bars.stats, workflows: workflows.stats, models: models.stats };
    }, [name]);
    const soon = useThrottle(again, 5000);
    useEffect(() => listen(({ kind, data }) => kind === 'record' && ['InstructionStart', 'TaskComplete', 'LLMPlan'].includes(data.type) && soon()), []);
    const head = html`<div class="head"><h1>${t('overview.title')}</h1><span class="room"></span><label>${t('runs.since')} <select value=${name} onChange=${(event) => go('overview', { since: event.target.value === '24h' ? '' : event.target.value })}>
        ${Object.keys(spans).map((one) => html`<option key=${one} value=${one}>${t(`since.${one}`)}</option>`)}</select></label></div>`;
    if (!value) return html`${head}<${ProblemBox} problem=${problem} again=${again} />${loading && html`<${Skeleton} />`}`;
    const { bars, workflows, models } = value, ended = sum(bars, (one) => one.count);
    if (!workflows.length) return html`${head}<${Empty} title=${t('overview.none')}><${FirstStart} /></><${Now} />`;
    const facts = [[t('overview.started'), number(sum(bars, (one) => one.started))], [t('overview.ended'), number(ended)], [t('state.failed'), share(sum(bars, (one) => one.failed), ended)],
        [t('runs.tokens'), `${short(sum(bars, (one) => one.tokens.in))} + ${short(sum(bars, (one) => one.tokens.out))}`], [t('runs.cost'), money(sum(bars, (one) => one.cost))]];
    return html`${head}<${ProblemBox} problem=${problem} again=${again} /><dl class="facts large">${facts.map(([what, of]) => html`<div key=${what}><dt>${what}</dt><dd>${of}</dd></div>`)}</dl>
        <${Bars} rows=${fill(bars, value.begins, value.span)} span=${value.span} /><p class="legend faint">${['completed', 'cancelled', 'failed'].map((one) => html`<span key=${one}><span class=${`key ${one}`} aria-hidden="true"></span>${t(`state.${one}`)}</span>`)}</p><${Now} />
        <${Table} title=${t('overview.workflows')} head=${[t('runs.workflow'), t('overview.started'), t('overview.ended'), t('state.failed'), 'p50', 'p95', t('runs.tokens'), t('runs.cost')]}
            rows=${workflows.map((one) => [html`<a href=${`#/runs${ask({ program: one.program, workflow: one.workflow })}`}><bdi>${one.program}.${one.workflow}</bdi></a>`, number(one.started), number(one.count), share(one.failed, one.count), duration(one.p50), duration(one.p95), short(one.tokens.in + one.tokens.out), cost(one)])} />
        ${models.length > 0 && html`<${Table} title=${t('overview.models')} head=${[t('overview.model'), t('overview.answers'), t('state.failed'), 'p50', 'p95', t('overview.in'), t('overview.out'), t('runs.cost')]}
            rows=${models.map((one) => [html`<bdi>${one.model}</bdi>`, number(one.count), share(one.failed, one.count), duration(one.p50), duration(one.p95), short(one.tokens.in), short(one.tokens.out), cost(one)])} />`}`;
}
