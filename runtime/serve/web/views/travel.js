// views/travel.js: a run as it was at any of its records: where it stood, what its variables had, what it asked for. The server
// replays the history up to there.
import { html, useState, useEffect } from '../vendor/preact.js';
import { t, number, plain } from '../text.js';
import { get } from '../api.js';
import { go, useLoad, useKeys, Time, ProblemBox, Value } from '../ui.js';

function Variables({ of, before }) {
    const was = new Map((before || []).map((one) => [one.name, JSON.stringify(one.value)]));
    return html`<div class="wide" tabindex="0" role="region" aria-label=${t('travel.variables')}><table class="variables"><thead><tr><th>${t('travel.name')}</th><th>${t('travel.type')}</th><th>${t('travel.value')}</th></tr></thead><tbody>${of.map((one) => {
        const text = typeof one.value === 'string' ? one.value : JSON.stringify(one.value);
        const changed = before && was.get(one.name) !== JSON.stringify(one.value);
        return html`<tr key=${one.name} class=${changed ? 'changed' : ''}><th scope="row"><bdi>${one.name}</bdi>${changed && html` <span title=${t('travel.changed')}>•</span>`}</th><td class="faint"><code>${one.type}</code></td><td><code><bdi>${plain(text === undefined ? '' : text).slice(0, 2000)}</bdi></code></td></tr>`;
    })}</tbody></table></div>`;
}

function Frame({ of, before, first }) {
    return html`<section class="frame"><h2><bdi>${of.workflow}</bdi>, ${t('line', { n: of.line })} ${of.file && html`<span class="faint">${of.file}</span>`}</h2>
        <pre class="here">${first ? '▸ ' : '  '}<bdi>${of.source || ''}</bdi></pre>${of.locals && of.locals.length > 0 && html`<${Variables} of=${of.locals} before=${before} />`}</section>`;
}

/** What the step at this place asked for. */
function Asked({ of }) {
    if (!of) return '';
    return html`<section class="frame"><h2>${t('travel.asked', { tool: of.tool })}</h2><${Value} of=${of.request || of.args} /></section>`;
}

/** What the server is about, once it takes a while, and a button that ends it. */
function Replaying({ record, of, stop }) {
    const [late, set] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => set(true), 150);
        return () => clearTimeout(timer);
    }, []);
    return late ? html`<p class="replaying"><span class="faint" role="status">${t('travel.replaying', { n: number(record), of: number(of) })}</span> <button class="small" onClick=${stop}>${t('travel.stop')}</button></p>` : '';
}

export function Travel({ id, place, records }) {
    const at = place || 'end', [frames, setFrames] = useState({ of: null, before: null });
    const [stopped, setStopped] = useState(false);
    const { value, problem, loading, again, stop } = useLoad((signal) => get(`/v1/runs/${id}/at/${at}`, { signal }), [id, at, at === 'end' ? records : 0]);
    useEffect(() => {
        if (value) setFrames((was) => (was.of === value ? was : { of: value, before: was.of }));
    }, [value]);
    const here = value ? Math.min(value.record, value.of) : 0, of = value ? value.of : 0;
    const target = Number((/^record-(\d+)$/.exec(at) || [0, records])[1]);
    useEffect(() => setStopped(false), [id, at]);
    const to = (record) => go(`run/${id}`, { tab: 'travel', at: record === 'failure' || record === 'end' ? record : `record-${Math.max(1, Math.min(of, record))}` }, true);
    useKeys({ ',': () => to(here - 1), '.': () => to(here + 1) });
    const same = frames.before && value && frames.before.task === value.task && value.frames && frames.before.frames;
    return html`<div class="tools"><button onClick=${() => to(1)} aria-label=${t('travel.first')}>|‹</button><button onClick=${() => to(here - 1)} disabled=${here <= 1}>‹ ${t('travel.back')}</button>
        <button onClick=${() => to(here + 1)} disabled=${here >= of}>${t('travel.next')} ›</button><button onClick=${() => to('end')} aria-label=${t('travel.end')}>›|</button><button onClick=${() => to('failure')}>${t('travel.failure')}</button>
        <label class="room">${t('travel.record', { n: number(here), of: number(of) })} <input type="range" class="travel" min="1" max=${Math.max(1, of)} value=${here} aria-label=${t('travel.place')} onChange=${(event) => to(Number(event.target.value))} /></label></div>
        <${ProblemBox} problem=${problem} again=${again} />${loading && html`<${Replaying} key=${at} record=${target} of=${records} stop=${() => {
        stop();
        setStopped(true);
    }} />`}
        ${stopped && !loading && html`<p role="status">${t('travel.stopped', { n: number(target) })} <button class="small" onClick=${() => {
        setStopped(false);
        again();
    }}>${t('problem.again')}</button></p>`}
        ${value && html`<div class=${loading ? 'stale' : ''}><p>${value.lsn && html`<strong>${value.type}</strong> <span class="faint">lsn ${value.lsn}, <${Time} of=${value.time} />, ${t('step.title', { task: value.task, step: value.step || 0 })}</span>`}</p>
            ${(value.frames || []).map((frame, i) => html`<${Frame} key=${i} of=${frame} first=${i === 0} before=${same && frames.before.frames[i] ? frames.before.frames[i].locals : null} />`)}
            ${value.raising && html`<div class="problem"><strong><bdi>${value.raising.error}</bdi></strong><p><bdi>${plain(value.raising.message || '')}</bdi></p></div>`}
            <${Asked} of=${value.asked} />
            <section class="frame"><h2>${t('run.tab.tasks')}</h2><div class="wide" tabindex="0" role="region" aria-label=${t('run.tab.tasks')}><table><tbody>${(value.tasks || []).slice(0, 200).map((task) => html`<tr key=${task.task}><th scope="row">${task.task}</th><td><bdi>${task.workflow}</bdi></td><td>${task.state}</td><td>${task.line ? t('line', { n: task.line }) : ''}</td><td><bdi>${plain(task.waits || '')}</bdi></td></tr>`)}</tbody></table></div></section></div>`}`;
}
