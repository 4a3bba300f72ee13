// views/machine.js: the states of a program's workflows as a picture: a box is a point where a workflow stops, a line a way that
// runs took. Of a program the figures are of all its runs; of one run they are its own, and boxes show where its tasks are.
import { html, useEffect, useMemo } from '../vendor/preact.js';
import { t, duration, number, plain } from '../text.js';
import { get, query as ask } from '../api.js';
import { listen } from '../live.js';
import { go, useLoad, useThrottle, ProblemBox, Skeleton, Empty } from '../ui.js';
import { layOut } from '../layout.js';

const POINTS_MOST = 400, CHARACTER = 7.9, LINE = 17, PAD = 10;
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** What stands below the name of a point. The log has nothing of a call itself. */
function figures(node) {
    if (!node.count) return node.here || node.kind === 'call' ? '' : t('machine.never');
    const times = node.p50 === null || node.p50 === undefined ? '' : ` · ${duration(node.p50)}${node.count > 1 ? ` / ${duration(node.p95)}` : ''}`;
    return `${number(node.count)}×${times}`;
}

/** Boxes and lines of a workflow, with places. */
function picture(workflow) {
    const boxes = [{ kind: 'start', width: 14, height: 14 }], places = new Map([[null, 0]]), edges = [];
    for (const node of workflow.nodes) {
        const name = cut(plain(node.label), 30), below = figures(node), more = [node.failed && t('machine.failed', { n: node.failed }), node.here && t('machine.here', { n: node.here })].filter(Boolean).join(' · ');
        const lines = [below, more].filter(Boolean), wide = Math.max(name.length + 1, ...lines.map((one) => one.length * 0.88));
        places.set(node.point, boxes.push({ kind: 'point', node, name, lines, width: Math.max(90, wide * CHARACTER + 2 * PAD), height: LINE * (1 + lines.length) + 12 }) - 1);
    }
    const end = boxes.push({ kind: 'end', width: 16, height: 16 }) - 1, started = new Map();
    const most = Math.max(1, ...workflow.edges.map((one) => one.count || 0));
    for (const edge of workflow.edges) {
        let to = edge.to === null ? end : places.get(edge.to);
        if (edge.starts) {
            const key = `${edge.label} ${edge.starts}`;
            if (!started.has(key)) started.set(key, boxes.push({ kind: 'starts', name: `${edge.label} ${cut(edge.starts, 24)}`, width: (key.length + 2) * CHARACTER, height: 24 }) - 1);
            to = started.get(key);
        }
        if (to === undefined || !places.has(edge.from)) continue;
        edges.push({ from: places.get(edge.from), to, error: edge.error, starts: Boolean(edge.starts), count: edge.count || 0, width: 1 + 3.5 * Math.sqrt((edge.count || 0) / most) });
    }
    return { boxes, edges, ...layOut(boxes, edges) };
}

/** A soft line through points; to the same box, a bow at its side. */
function pathOf(edge, boxes) {
    if (!edge.points) {
        const box = boxes[edge.from], x = box.x + box.width / 2, y = box.y;
        return `M${x},${y - 8} c24,-14 24,30 0,16`;
    }
    let path = `M${edge.points[0]}`;
    for (let i = 1; i < edge.points.length; i++) {
        const [ax, ay] = edge.points[i - 1], [bx, by] = edge.points[i], half = (ay + by) / 2;
        path += ` C${ax},${half} ${bx},${half} ${bx},${by}`;
    }
    return path;
}

function Box({ box, share, chosen, choose }) {
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    if (box.kind === 'start') return html`<circle cx=${box.x} cy=${box.y} r="7" class="start" />`;
    if (box.kind === 'end') return html`<g class="end"><circle cx=${box.x} cy=${box.y} r="7" /><circle cx=${box.x} cy=${box.y} r="3.5" class="start" /></g>`;
    if (box.kind === 'starts') return html`<g class="starts"><rect x=${x} y=${y} width=${box.width} height=${box.height} rx="12" /><text x=${box.x} y=${box.y + 5} text-anchor="middle">${box.name}</text></g>`;
    const { node } = box, select = () => choose(chosen ? '' : node.point);
    return html`<g class=${`point${node.failed ? ' failed' : ''}${node.here ? ' here' : ''}${chosen ? ' current' : ''}`} role="button" tabindex="0" aria-pressed=${Boolean(chosen)}
        onClick=${select} onKeyDown=${(event) => (event.key === 'Enter' || event.key === ' ') && (event.preventDefault(), select())}>
        <rect x=${x} y=${y} width=${box.width} height=${box.height} rx="6" class="ground" /><rect x=${x} y=${y} width=${box.width} height=${box.height} rx="6" class="heat" fill-opacity=${(0.5 * share).toFixed(3)} />
        <text x=${x + PAD} y=${y + LINE} class="name">${box.name}</text>${box.lines.map((line, i) => html`<text key=${i} x=${x + PAD} y=${y + LINE * (i + 2)} class=${i === 1 && node.failed ? 'bad' : 'figures'}>${line}</text>`)}</g>`;
}

function Workflow({ workflow, most, chosen, choose }) {
    const drawn = useMemo(() => picture(workflow), [workflow]), margin = 30;
    return html`<section aria-label=${workflow.name}><h2><bdi>${workflow.name}</bdi> <span class="faint">${t('line', { n: workflow.line })}</span></h2>
        <div class="wide machine" tabindex="0" role="region" aria-label=${t('machine.of', { name: workflow.name })}>
        <svg width=${drawn.width + 2 * margin} height=${drawn.height + 2 * margin} viewBox=${`${-margin} ${-margin} ${drawn.width + 2 * margin} ${drawn.height + 2 * margin}`}>
            <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" /></marker></defs>
            ${drawn.edges.map((edge, i) => html`<path key=${i} d=${pathOf(edge, drawn.boxes)} class=${edge.error ? 'way error' : edge.starts ? 'way starting' : 'way'} stroke-width=${edge.width.toFixed(2)} marker-end="url(#arrow)">
                ${edge.count > 0 && html`<title>${t('machine.way', { n: number(edge.count) })}</title>`}</path>`)}
            ${drawn.boxes.map((box, i) => html`<${Box} key=${i} box=${box} share=${box.node && box.node.ms ? Math.sqrt(box.node.ms / most) : 0} chosen=${box.node && box.node.point === chosen} choose=${choose} />`)}
        </svg></div></section>`;
}

function Legend({ here }) {
    return html`<p class="legend faint"><span class="heat-scale" aria-hidden="true"></span> ${t('machine.legend')} <span>${t('machine.lines')}</span>${here && html` <span>${t('machine.legend.here')}</span>`}</p>`;
}

/** All workflows; of a large program, the one that is chosen. */
export function Machine({ graph, chosen, choose, workflow, setWorkflow, here }) {
    const all = graph.workflows, points = all.reduce((sum, one) => sum + one.nodes.length, 0);
    const most = Math.max(1, ...all.flatMap((one) => one.nodes.map((node) => node.ms || 0)));
    const one = points > POINTS_MOST || workflow ? all.find((each) => each.name === workflow) || all[0] : null;
    if (!all.length) return html`<${Empty} title=${t('machine.none')} />`;
    return html`<div class="tools"><${Legend} here=${here} /><span class="room"></span>${all.length > 1 && html`<label>${t('runs.workflow')} <select value=${one ? one.name : ''} onChange=${(event) => setWorkflow(event.target.value)}>
            ${points <= POINTS_MOST && html`<option value="">${t('machine.all')}</option>`}${all.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select></label>`}</div>
        <div class="machines">${(one ? [one] : all).filter((each) => one || each.nodes.length).map((each) => html`<${Workflow} key=${each.name} workflow=${each} most=${most} chosen=${chosen} choose=${choose} />`)}</div>`;
}

const useGraph = (program, version) => useLoad((signal) => get(`/v1/programs/${encodeURIComponent(program)}/graph${ask({ version })}`, { signal }), [program, version]);

/** The point that is chosen, and below its figures what there is to see of it. */
function Chosen({ graph, point, below }) {
    const node = point && graph.workflows.flatMap((one) => one.nodes).find((one) => one.point === point);
    if (!node) return '';
    const facts = [[t('machine.count'), number(node.count || 0)], [t('state.failed'), number(node.failed || 0)], ...(node.count ? [[t('machine.sum'), duration(node.ms)], ['p50', duration(node.p50)], ['p95', duration(node.p95)]] : [])];
    return html`<section class="chosen" aria-label=${node.point}><h2><bdi>${plain(node.label)}</bdi> <span class="faint">${t('line', { n: node.line })}</span> <code class="faint">${node.point}</code></h2>
        <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>${below(node)}</section>`;
}

/** #/machine/PROGRAM?version=V&point=P */
export function MachineScreen({ path, query }) {
    const program = path[0], version = query.get('version') || '', point = query.get('point'), base = { version, workflow: query.get('workflow') };
    const { value, problem, loading, again } = useGraph(program, version);
    const soon = useThrottle(again, 3000);
    useEffect(() => listen((event) => event.kind === 'record' && event.data.program === program && soon()), [program]);
    const here = `machine/${encodeURIComponent(program)}`;
    return html`<h1>${t('machine.title', { name: program })} ${value && html`<code class="faint">${value.version}</code>`}</h1><${ProblemBox} problem=${problem} again=${again} />${loading && !value && html`<${Skeleton} />`}
        ${value && html`<${Machine} graph=${value} chosen=${point} choose=${(one) => go(here, { ...base, point: one }, true)} workflow=${base.workflow} setWorkflow=${(one) => go(here, { version, workflow: one }, true)} />`}
        ${value && html`<${Chosen} graph=${value} point=${point} below=${(node) => html`<p><a class="button" href=${`#/runs${ask({ program, state: node.failed ? 'failed' : '' })}`}>${t('machine.runs')}</a></p>`} />`}`;
}

// ---- one run ----

/** The quantile of sorted numbers. */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

/** The graph with the figures of one run: what its timeline shows, and where its tasks are. */
function ofRun(graph, { timeline, spans }, tasks) {
    const points = new Map(), ways = new Map(), last = new Map();
    const of = (id) => points.get(id) || points.set(id, { took: [], failed: 0, here: 0 }).get(id);
    for (let i = 0; i < spans.from.length; i++) {
        const id = timeline.points[spans.point[i]], task = spans.task[i];
        if (!id || timeline.kinds[spans.kind[i]] === 'run') continue;
        const one = of(id);
        one.took.push(spans.took[i]);
        one.failed += spans.failed[i];
        const before = last.get(task), way = `${before && before.split('/')[0] === id.split('/')[0] ? before : ''}\n${id}`;
        ways.set(way, (ways.get(way) || 0) + 1);
        last.set(task, id);
    }
    for (const task of tasks) if (task.point && !['completed', 'failed', 'cancelled'].includes(task.state)) of(task.point).here++;
    const workflows = graph.workflows.map((workflow) => ({ ...workflow,
        nodes: workflow.nodes.map((node) => {
            const { count, failed, ms, p50, p95, ...rest } = node, one = points.get(node.point);
            if (!one) return rest;
            const sorted = [...one.took].sort((a, b) => a - b);
            return { ...rest, here: one.here, count: sorted.length, failed: one.failed, ms: sorted.reduce((sum, took) => sum + took, 0), p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
        }),
        edges: workflow.edges.map((edge) => ({ ...edge, count: ways.get(`${edge.from || ''}\n${edge.to}`) || 0 })) }));
    return { ...graph, workflows };
}

function StepsAt({ data, point, id }) {
    const { spans, timeline } = data, at = [];
    for (const one of data.order) if (timeline.points[spans.point[one]] === point) at.push(one);
    return html`<ol class="places">${at.slice(0, 100).map((one) => {
        const task = timeline.tasks[spans.task[one]].task, step = spans.step[one];
        return html`<li key=${one}><a href=${`#/run/${id}?tab=steps&step=${task}/${step}`}>${t('step.title', { task, step })}</a> ${duration(spans.took[one])}${spans.failed[one] ? html` <span class="badge failed">${t('state.failed')}</span>` : ''}</li>`;
    })}</ol>${at.length > 100 && html`<p class="faint">${t('machine.more', { n: number(at.length - 100) })}</p>`}`;
}

export function RunMachine({ run, data, at, point, workflow, show }) {
    const graph = useGraph(run.program, run.version);
    const tasks = useLoad((signal) => get(`/v1/runs/${run.id}/tasks`, { signal }), [run.id, at]);
    const own = useMemo(() => graph.value && ofRun(graph.value, data, (tasks.value && tasks.value.tasks) || []), [graph.value, tasks.value, data]);
    if (!own) return html`<${ProblemBox} problem=${graph.problem} again=${graph.again} />${graph.loading && html`<${Skeleton} />`}`;
    return html`<${Machine} graph=${own} here=${!run.ended} chosen=${point} choose=${(one) => show({ point: one, workflow })} workflow=${workflow} setWorkflow=${(one) => show({ workflow: one })} />
        <${Chosen} graph=${own} point=${point} below=${(node) => html`<${StepsAt} data=${data} point=${node.point} id=${run.id} />`} />`;
}
