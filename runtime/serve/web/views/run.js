// views/run.js: one run: its head, and behind it what it did as a timeline, a list of steps, the records of its log, what it
// printed, where its tasks are, and the source of its program.
import { html, useState, useEffect, useMemo } from '../vendor/preact.js';
import { t, time, duration, money, number, plain, shortId } from '../text.js';
import { get, post, query as ask } from '../api.js';
import { listen } from '../live.js';
import { go, useLoad, useThrottle, useKeys, State, Time, Took, Labels, ProblemBox, Skeleton, Empty, Confirm, Value } from '../ui.js';
import { Timeline, Steps, prepare } from './timeline.js';
import { Travel } from './travel.js';
import { RunMachine } from './machine.js';

const tabs = ['timeline', 'steps', 'machine', 'travel', 'records', 'output', 'tasks', 'source'];

// ---- what can be done with it ----

function useActions(run, reload) {
    const [asks, setAsks] = useState(null);
    const close = () => setAsks(null), base = `/v1/runs/${run.id}`;
    const sure = (what, doIt, fields = '') => setAsks(html`<${Confirm} title=${t(`run.${what}`)} text=${t(`run.${what}.text`, { run: `${run.program}.${run.workflow} ${shortId(run.id)}` })}
        word=${t(`run.${what}`)} close=${close} doIt=${doIt}>${fields}</>`);
    const opens = async (answer) => go(`run/${(await answer).id}`);
    return {
        asks,
        signal: () => sure('signal', async (form) => {
            const text = form.get('value').trim();
            await post(`${base}/signals`, { name: form.get('name'), value: text ? JSON.parse(text) : null });
            reload();
        }, html`<label>${t('signal.name')} <input name="name" required /></label> <label>${t('signal.value')} <input name="value" placeholder="null" /></label>`),
        cancel: () => sure(run.difference ? 'force' : 'cancel', async () => {
            await post(`${base}/cancel`, run.difference ? { force: true } : undefined);
            reload();
        }),
        again: () => sure('again', () => opens(post(`${base}/again`))),
        fork: (step, task = '1') => sure('fork', (form) => {
            const text = form.get('value').trim();
            return opens(post(`${base}/fork`, { task, step: Number(form.get('step')), ...(text ? { value: JSON.parse(text) } : {}) }));
        }, html`<label>${t('fork.step')} <input name="step" type="number" min="0" defaultValue=${step || 0} required /></label> <label>${t('fork.value')} <input name="value" placeholder=${t('fork.same')} /></label>`),
    };
}

/** An error with its own fields. */
function Failure({ of }) {
    const { error, message, line, ...fields } = of;
    return html`<div class="problem"><strong><bdi>${error}</bdi></strong> ${line && html`<span class="faint">${t('line', { n: line })}</span>`}
        ${message && message !== error && html`<p><bdi>${plain(message)}</bdi></p>`}
        ${Object.entries(fields).map(([name, value]) => html`<p key=${name}><span class="faint">${name}</span> <bdi>${plain(typeof value === 'string' ? value : JSON.stringify(value))}</bdi></p>`)}</div>`;
}

function Head({ run, actions }) {
    const facts = [[t('runs.started'), html`<${Time} of=${run.started} />`], [t('runs.took'), html`<${Took} from=${run.started} to=${run.ended} />`],
        [t('runs.by'), html`<bdi>${run.by || '–'}</bdi>`], [t('run.version'), html`<code>${run.version}</code>`], [t('run.records'), number(run.records)], ...(run.place ? [[t('run.place'), number(run.place)]] : []),
        ...(run.tokens.in + run.tokens.out ? [[t('runs.tokens'), `${number(run.tokens.in)} + ${number(run.tokens.out)}`]] : []), ...(run.cost !== null ? [[t('runs.cost'), money(run.cost)]] : [])];
    return html`<div class="head"><h1><bdi>${run.program}.${run.workflow}</bdi> <code class="faint">${shortId(run.id)}</code></h1><${State} run=${run} />
        <span class="room"></span><span class="buttons">${!run.ended && html`<button onClick=${actions.signal}>${t('run.signal')}</button> <button onClick=${actions.cancel}>${t('run.cancel')}</button> `}
        <button onClick=${() => actions.fork(0)}>${t('run.fork')}</button> <button onClick=${actions.again}>${t('run.again')}</button></span></div>
        <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
        <p><${Labels} of=${run.labels} /></p>
        ${run.attention === 'question' && html`<p class="note"><a href="#/inbox?run=${run.id}">${t('run.asks')}</a></p>`}
        ${run.difference && html`<div class="problem"><strong>${t('run.differs')}</strong><p><bdi>${plain(run.difference)}</bdi></p></div>`}
        ${run.error && html`<${Failure} of=${run.error} />`}
        ${run.result !== undefined && run.result !== null && html`<details open=${JSON.stringify(run.result).length < 400}><summary>${t('run.result')}</summary><${Value} of=${typeof run.result === 'string' ? plain(run.result) : run.result} /></details>`}`;
}

// ---- a step ----

function StepRecord({ record }) {
    return html`<details class="record" open=${record.type !== 'StepStart'}><summary><strong>${record.type}</strong> <span class="faint">lsn ${record.lsn}, <${Time} of=${record.ts} /></span></summary>
        ${record.cut ? html`<a href=${record.href}>${t('record.whole')}</a>` : html`<${Value} of=${record.payload} />`}</details>`;
}

function Step({ id, data, chosen, actions, running }) {
    const { spans, timeline } = data, task = timeline.tasks[spans.task[chosen]].task, step = spans.step[chosen];
    const { value, problem, loading } = useLoad((signal) => (step ? get(`/v1/runs/${id}/records${ask({ task, step, limit: 50 })}`, { signal }) : Promise.resolve({ records: [] })), [id, task, step, running]);
    const records = value ? value.records : [], first = records.find((one) => one.point);
    return html`<section class="chosen" aria-label=${t('step.title', { task, step })}><h2>${t('step.title', { task, step })} <span class="faint"><bdi>${plain(spans.what[chosen])}</bdi></span></h2>
        <p>${t(`kind.${timeline.kinds[spans.kind[chosen]]}`)} · ${duration(spans.took[chosen])}${first && html` · <span>${t('line', { n: first.line })}</span> · <code>${first.point}</code>`}
            <span class="room"></span> ${first && html`<a class="button" href="#/run/${id}?tab=travel&at=${first.lsn}">${t('step.travel')}</a> `}${step > 0 && html`<button onClick=${() => actions.fork(step, task)}>${t('step.fork')}</button>`}</p>
        <${ProblemBox} problem=${problem} />${loading && !value && html`<${Skeleton} rows=${2} />`}
        ${records.map((record) => html`<${StepRecord} key=${record.lsn} record=${record} />`)}</section>`;
}

// ---- the other tabs ----

function Records({ id, at }) {
    const [type, setType] = useState(''), [pages, setPages] = useState({ of: '', list: [], next: null });
    const { problem, loading, value } = useLoad((signal) => get(`/v1/runs/${id}/records${ask({ type, limit: 200 })}`, { signal }), [id, type, at]);
    const shown = value ? [...value.records, ...(pages.of === type + id ? pages.list : [])] : [];
    const next = pages.of === type + id && pages.list.length ? pages.next : value && value.next;
    const more = async () => {
        const page = await get(`/v1/runs/${id}/records${ask({ type, limit: 500, after: next })}`);
        setPages((before) => ({ of: type + id, list: [...(before.of === type + id ? before.list : []), ...page.records], next: page.next }));
    };
    const types = ['InstructionStart', 'StepStart', 'ToolResult', 'LLMPlan', 'Approval', 'Signal', 'Retry', 'InDoubt', 'TaskSpawn', 'TaskExit', 'TaskAbort', 'Output'];
    return html`<p><select aria-label=${t('record.type')} value=${type} onChange=${(event) => setType(event.target.value)}><option value="">${t('record.all')}</option>${types.map((one) => html`<option key=${one}>${one}</option>`)}</select></p>
        <${ProblemBox} problem=${problem} />${loading && !value && html`<${Skeleton} />`}
        <div class="wide" tabindex="0" role="region" aria-label=${t('run.tab.records')}><table><thead><tr><th class="num">lsn</th><th>${t('record.time')}</th><th>${t('step.task')}</th><th class="num">${t('step.number')}</th><th>${t('record.type')}</th><th>${t('record.content')}</th></tr></thead>
        <tbody>${shown.map((one) => html`<tr key=${one.lsn}><td class="num"><a href="#/run/${id}?tab=travel&at=${one.lsn}">${one.lsn}</a></td><td><${Time} of=${one.ts} /></td><td>${one.task}</td><td class="num">${one.step || ''}</td><td>${one.type}</td>
            <td>${one.cut ? html`<a href=${one.href}>${t('record.whole')}</a>` : html`<code class="says"><bdi>${plain(JSON.stringify(one.payload)).slice(0, 160)}</bdi></code>`}</td></tr>`)}</tbody></table></div>
        ${next && html`<p><button onClick=${more}>${t('record.more')}</button></p>`}`;
}

function Output({ id, at }) {
    const { value, problem, loading } = useLoad((signal) => get(`/v1/runs/${id}/output${ask({ limit: 2000 })}`, { signal }), [id, at]);
    if (!value) return html`<${ProblemBox} problem=${problem} />${loading && html`<${Skeleton} />`}`;
    if (!value.output.length) return html`<${Empty} title=${t('output.none')} />`;
    return html`<ol class="output">${value.output.map((one) => html`<li key=${one.lsn}><span class="faint"><${Time} of=${one.ts} /> ${one.task}${one.to !== 'stdout' && ` ${one.level || one.stage || one.to}`}</span><pre><bdi>${plain((one.text || '').slice(0, 65536))}</bdi></pre></li>`)}</ol>
        ${value.next && html`<p class="faint">${t('output.more')}</p>`}`;
}

function Task({ task }) {
    const { path, state, workflow, waits, ...rest } = task;
    return html`<details><summary><strong>${path || task.task}</strong> <bdi>${workflow || ''}</bdi> <span class="faint">${state || ''}</span></summary><${Value} of=${rest} /></details>`;
}

function Tasks({ id, at }) {
    const { value, problem, loading } = useLoad((signal) => get(`/v1/runs/${id}/tasks`, { signal }), [id, at]);
    if (!value) return html`<${ProblemBox} problem=${problem} />${loading && html`<${Skeleton} />`}`;
    return html`${(value.tasks || []).map((one, i) => html`<${Task} key=${i} task=${one} />`)}`;
}

/** The tasks that are at each line: 12, or "lib/words.tfy:12" of another file than the main one. */
function tasksByLine(tasks, main) {
    const places = new Map();
    for (const { task, line } of tasks) {
        if (!line) continue;
        const place = typeof line === 'number' ? `${main}:${line}` : line;
        places.set(place, [...(places.get(place) || []), task]);
    }
    return places;
}

/** The source of its program, with the lines where its tasks are. */
function Source({ id, at }) {
    const source = useLoad((signal) => get(`/v1/runs/${id}/source`, { signal }), [id]), now = useLoad((signal) => get(`/v1/runs/${id}/tasks`, { signal }), [id, at]);
    if (!source.value) return html`<${ProblemBox} problem=${source.problem} />${source.loading && html`<${Skeleton} />`}`;
    const files = source.value.files, places = tasksByLine((now.value && now.value.tasks) || [], files[0].file);
    return files.map(({ file, text }) => html`<div key=${file}><h2><bdi>${file}</bdi></h2>
        <div class="wide" tabindex="0" role="region" aria-label=${file}><ol class="source">${text.replace(/\n$/, '').split('\n').map((line, i) => {
            const here = places.get(`${file}:${i + 1}`);
            return html`<li key=${i} class=${here ? 'here' : ''} aria-current=${here ? 'step' : undefined}><code><bdi>${plain(line) || ' '}</bdi></code>${here && html` <strong>← ${t('source.here', { tasks: here.join(', ') })}</strong>`}</li>`;
        })}</ol></div></div>`);
}

// ---- the whole ----

export function Run({ path, query }) {
    const id = path[0], tab = tabs.includes(query.get('tab')) ? query.get('tab') : 'timeline';
    const head = useLoad((signal) => get(`/v1/runs/${id}`, { signal }), [id]), run = head.value;
    const at = run ? run.records : 0;
    const line = useLoad((signal) => get(`/v1/runs/${id}/timeline`, { signal }), [id]);
    const data = useMemo(() => line.value && prepare(line.value), [line.value]);
    const soon = useThrottle(() => {
        head.again();
        line.again();
    }, Math.max(1000, at / 20)); // the server reads its whole history for it
    useEffect(() => listen(({ kind, data: of }) => {
        if ((kind === 'record' && of.run === id) || kind === 'gap' || kind === 'reset') soon();
    }), [id]);
    const actions = useActions(run || { id, program: '', workflow: '' }, head.again);
    const chosen = useMemo(() => {
        const [task, step] = (query.get('step') || '').split('/');
        if (!data || !step) return -1;
        return (data.rows[data.place.get(task)] || []).find((one) => String(data.spans.step[one]) === step) ?? -1;
    }, [data, query.get('step')]);
    const choose = (span) => go(`run/${id}`, { tab: tab === 'timeline' ? '' : tab, step: span >= 0 ? `${data.timeline.tasks[data.spans.task[span]].task}/${data.spans.step[span]}` : '' }, true);
    const show = (name) => go(`run/${id}`, { tab: name === 'timeline' ? '' : name, step: query.get('step') }, true);
    useKeys(Object.fromEntries(tabs.map((name, i) => [String(i + 1), () => show(name)])));
    if (!run) return html`<h1>${t('run.title')} <code class="faint">${id.slice(0, 36)}</code></h1>${head.loading && html`<${Skeleton} />`}${head.problem && html`<${ProblemBox} problem=${head.problem} again=${head.again} /><p><a href="#/runs">${t('run.back')}</a></p>`}`;
    const bodies = {
        timeline: () => data && html`<${Timeline} data=${data} chosen=${chosen} choose=${choose} />`,
        steps: () => data && html`<${Steps} data=${data} chosen=${chosen} choose=${choose} />`,
        machine: () => data && html`<${RunMachine} run=${run} data=${data} at=${at} point=${query.get('point')} workflow=${query.get('workflow') || ''} show=${(more) => go(`run/${id}`, { tab, ...more }, true)} />`,
        travel: () => html`<${Travel} id=${id} place=${query.get('at')} records=${at} />`,
        records: () => html`<${Records} id=${id} at=${at} />`,
        output: () => html`<${Output} id=${id} at=${at} />`,
        tasks: () => html`<${Tasks} id=${id} at=${at} />`,
        source: () => html`<${Source} id=${id} at=${at} />`,
    };
    return html`<${Head} run=${run} actions=${actions} />
        <div class="tabs" role="tablist">${tabs.map((name) => html`<button key=${name} role="tab" id=${`tab-${name}`} aria-selected=${name === tab} aria-controls="panel" onClick=${() => show(name)}>${t(`run.tab.${name}`)}</button>`)}</div>
        <div id="panel" role="tabpanel" aria-labelledby=${`tab-${tab}`}>
        ${['timeline', 'steps', 'machine'].includes(tab) && html`<${ProblemBox} problem=${line.problem} again=${line.again} />${line.loading && !line.value && html`<${Skeleton} />`}`}
        ${bodies[tab]()}</div>
        ${data && chosen >= 0 && (tab === 'timeline' || tab === 'steps') && html`<${Step} id=${id} data=${data} chosen=${chosen} actions=${actions} running=${!run.ended && at} />`}
        ${actions.asks}`;
}
