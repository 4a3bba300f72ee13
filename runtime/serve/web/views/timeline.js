// views/timeline.js: what each task of a run did when, on one canvas. Spans come as columns; a row is a task. What falls within
// one pixel is drawn once, so that a run of 100,000 steps is drawn in some milliseconds. Beside it the list of steps has the
// same for those who do not see a canvas.
import { html, useState, useEffect, useRef } from '../vendor/preact.js';
import { t, duration, plain } from '../text.js';

const ROW = 22, HEAD = 26, GUTTER = 84;

/** Spans of each task, and of all, in the order of time: numbers into the columns. */
export function prepare(timeline) {
    const spans = timeline.spans, rows = timeline.tasks.map(() => []), wait = timeline.kinds.map((kind) => kind === 'run');
    const place = new Map(timeline.tasks.map((one, i) => [one.task, i]));
    for (let i = 0; i < spans.from.length; i++) if (!wait[spans.kind[i]]) rows[spans.task[i]].push(i);
    for (const row of rows) row.sort((a, b) => spans.from[a] - spans.from[b]);
    const order = rows.flat().sort((a, b) => spans.from[a] - spans.from[b]);
    return { timeline, spans, rows, place, order, whole: Math.max(1, timeline.ms) };
}

function colours() {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
    return { tool: of('--tool'), sleep: of('--wait'), wait: of('--wait'), person: of('--person'), model: of('--model'), run: of('--faint'),
        failed: of('--bad'), text: of('--text'), faint: of('--faint'), line: of('--line'), mark: of('--text') };
}

/** The first span of a row that ends behind a time. Spans of a task do not overlap. */
function firstBehind(row, spans, ms) {
    let low = 0, high = row.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (spans.from[row[middle]] + spans.took[row[middle]] < ms) low = middle + 1;
        else high = middle;
    }
    return low;
}

function drawRow(context, data, row, y, view, width, colour) {
    const { spans, timeline } = data, scale = (width - GUTTER) / (view.to - view.from);
    let painted = -1, marked = -1; // up to which pixel spans are painted, and failed ones marked
    for (let i = firstBehind(row, spans, view.from); i < row.length; i++) {
        const at = row[i], from = spans.from[at];
        if (from > view.to) break;
        const x = Math.floor(Math.max(GUTTER, GUTTER + (from - view.from) * scale));
        const end = Math.max(x + 1, Math.round(Math.min(width, GUTTER + (from + spans.took[at] - view.from) * scale)));
        const failed = spans.failed[at], wide = end - x;
        if (end <= (failed ? marked : painted)) continue;
        context.fillStyle = failed ? colour.failed : colour[timeline.kinds[spans.kind[at]]] || colour.tool;
        context.fillRect(x, y + 4, wide, ROW - 8);
        if (failed) context.fillRect(x, y + 2, Math.max(2, wide), 3);
        painted = Math.max(painted, end);
        if (failed) marked = end;
        if (wide > 46) {
            context.fillStyle = '#fff';
            context.fillText(plain(spans.what[at]).slice(0, Math.floor(wide / 6.4)), x + 4, y + 15);
        }
    }
}

function drawScale(context, view, width, colour) {
    const span = view.to - view.from, raw = span / Math.max(2, (width - GUTTER) / 110), power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) || raw;
    context.fillStyle = colour.faint;
    context.strokeStyle = colour.line;
    context.beginPath();
    for (let ms = Math.ceil(view.from / step) * step; ms <= view.to; ms += step) {
        const x = Math.round(GUTTER + (ms - view.from) / span * (width - GUTTER)) + 0.5;
        context.moveTo(x, HEAD - 6);
        context.lineTo(x, 100000);
        context.fillText(duration(ms), x + 3, 14);
    }
    context.stroke();
}

export function draw(canvas, data, view, top, chosen) {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight, context = canvas.getContext('2d');
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    const colour = colours();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '11px system-ui, sans-serif';
    drawScale(context, view, width, colour);
    const first = Math.floor(top / ROW), last = Math.min(data.rows.length, first + Math.ceil((height - HEAD) / ROW) + 1);
    for (let i = first; i < last; i++) {
        const y = HEAD + i * ROW - top;
        context.fillStyle = colour.text;
        context.fillText(data.timeline.tasks[i].task, 6, y + 15);
        drawRow(context, data, data.rows[i], y, view, width, colour);
    }
    if (chosen < 0) return;
    const i = data.spans.task[chosen], scale = (width - GUTTER) / (view.to - view.from);
    context.strokeStyle = colour.mark;
    context.lineWidth = 2;
    context.strokeRect(GUTTER + (data.spans.from[chosen] - view.from) * scale - 1, HEAD + i * ROW - top + 3, Math.max(3, data.spans.took[chosen] * scale) + 2, ROW - 6);
    context.lineWidth = 1;
}

/** The span at a place of the canvas; -1: none. The nearest within three pixels. */
function find(data, view, top, width, x, y) {
    const row = data.rows[Math.floor((y - HEAD + top) / ROW)];
    if (!row || x < GUTTER) return -1;
    const scale = (view.to - view.from) / (width - GUTTER), ms = view.from + (x - GUTTER) * scale;
    let best = -1, near = 3 * scale;
    for (let i = firstBehind(row, data.spans, ms - near); i < row.length; i++) {
        const from = data.spans.from[row[i]], to = from + data.spans.took[row[i]];
        if (from > ms + near) break;
        const away = ms < from ? from - ms : ms > to ? ms - to : 0;
        if (away <= near) [best, near] = [row[i], away];
    }
    return best;
}

export function Timeline({ data, chosen, choose }) {
    const canvas = useRef(null), drag = useRef(null);
    const [view, setView] = useState({ from: 0, to: data.whole }), [top, setTop] = useState(0);
    const height = Math.min(480, HEAD + data.rows.length * ROW + 8), most = Math.max(0, HEAD + data.rows.length * ROW + 8 - height);
    const clamp = (from, to) => {
        const span = Math.max(1e-3, Math.min(to - from, data.whole));
        const begin = Math.max(0, Math.min(from, data.whole - span));
        return { from: begin, to: begin + span };
    };
    const zoom = (by, at = 0.5) => setView((now) => {
        const span = (now.to - now.from) * by, fixed = now.from + (now.to - now.from) * at;
        return clamp(fixed - span * at, fixed + span * (1 - at));
    });
    const pan = (by) => setView((now) => clamp(now.from + by * (now.to - now.from), now.to + by * (now.to - now.from)));
    useEffect(() => setView((now) => (now.from === 0 ? clamp(0, data.whole) : now)), [data.whole]);
    useEffect(() => {
        const paint = () => canvas.current && draw(canvas.current, data, view, top, chosen);
        paint();
        const sizes = new ResizeObserver(paint), dark = matchMedia('(prefers-color-scheme: dark)');
        sizes.observe(canvas.current);
        dark.addEventListener('change', paint);
        return () => {
            sizes.disconnect();
            dark.removeEventListener('change', paint);
        };
    }, [data, view, top, chosen]);
    useEffect(() => {
        const wheel = (event) => {
            const box = canvas.current.getBoundingClientRect();
            if (event.ctrlKey || event.shiftKey || Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
                if (!event.ctrlKey && !event.shiftKey && most > 0) {
                    setTop((now) => Math.max(0, Math.min(most, now + event.deltaY)));
                } else {
                    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, (event.clientX - box.left - GUTTER) / (box.width - GUTTER)));
                }
            } else {
                pan(event.deltaX / box.width);
            }
            event.preventDefault();
        };
        canvas.current.addEventListener('wheel', wheel, { passive: false });
        return () => canvas.current && canvas.current.removeEventListener('wheel', wheel);
    }, [most, data]);
    const { order } = data;
    const keys = (event) => {
        const at = order.indexOf(chosen);
        const acts = { '+': () => zoom(0.7), '-': () => zoom(1.4), 0: () => setView({ from: 0, to: data.whole }), ArrowLeft: () => choose(order[Math.max(0, at - 1)]),
            ArrowRight: () => choose(order[Math.min(order.length - 1, at + 1)]), Home: () => choose(order[0]), End: () => choose(order[order.length - 1]) };
        const act = acts[event.key === '=' ? '+' : event.key];
        if (!act) return;
        event.preventDefault();
        act();
    };
    const position = (event) => {
        const box = canvas.current.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top, box.width];
    };
    return html`<div class="timeline">
        <div class="legend">${['tool', 'model', 'person', 'wait', 'failed'].map((kind) => html`<span key=${kind}><i class="key ${kind}" aria-hidden="true"></i>${t(`kind.${kind}`)}</span>`)}
            <span class="room"></span><button onClick=${() => zoom(0.7)} aria-label=${t('timeline.in')}>+</button><button onClick=${() => zoom(1.4)} aria-label=${t('timeline.out')}>−</button><button onClick=${() => setView({ from: 0, to: data.whole })}>${t('timeline.whole')}</button></div>
        <canvas ref=${canvas} tabindex="0" role="img" aria-label=${t('timeline.label', { tasks: data.rows.length, steps: order.length })} style=${{ height: `${height}px` }} onKeyDown=${keys}
            onPointerDown=${(event) => {
        drag.current = { x: event.clientX, moved: false };
        canvas.current.setPointerCapture(event.pointerId);
    }}
            onPointerMove=${(event) => {
        if (!drag.current) return;
        const by = drag.current.x - event.clientX;
        if (Math.abs(by) < 3 && !drag.current.moved) return;
        drag.current = { x: event.clientX, moved: true };
        pan(by / canvas.current.clientWidth);
    }}
            onPointerUp=${(event) => {
        if (drag.current && !drag.current.moved) {
            const [x, y, width] = position(event);
            choose(find(data, view, top, width, x, y));
        }
        drag.current = null;
    }}></canvas></div>`;
}

/** All steps as a list of which only what is seen is in the page. */
export function Steps({ data, chosen, choose }) {
    const box = useRef(null), [top, setTop] = useState(0), HEIGHT = 30, seen = 20;
    const { spans, timeline, order } = data;
    const first = Math.max(0, Math.floor(top / HEIGHT) - 10), last = Math.min(order.length, first + seen + 30);
    useEffect(() => {
        const at = order.indexOf(chosen);
        if (at < 0 || !box.current) return;
        if (at * HEIGHT < box.current.scrollTop || (at + 2) * HEIGHT > box.current.scrollTop + box.current.clientHeight) box.current.scrollTop = Math.max(0, (at - 4) * HEIGHT);
    }, [chosen]);
    const keys = (event) => {
        const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 15, PageUp: -15 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        choose(order[Math.max(0, Math.min(order.length - 1, order.indexOf(chosen) + by))]);
    };
    return html`<div class="steps" role="grid" aria-rowcount=${order.length + 1} aria-label=${t('run.steps')}>
        <div class="step head" role="row"><span role="columnheader">${t('step.task')}</span><span role="columnheader" class="num">${t('step.number')}</span><span role="columnheader">${t('step.kind')}</span><span role="columnheader">${t('step.what')}</span><span role="columnheader" class="num">${t('step.at')}</span><span role="columnheader" class="num">${t('runs.took')}</span></div>
        <div class="steps-box" ref=${box} tabindex="0" onScroll=${(event) => setTop(event.target.scrollTop)} onKeyDown=${keys} role="rowgroup" aria-label=${t('run.steps')}>
        <div style=${{ height: `${order.length * HEIGHT}px` }} role="presentation"><div style=${{ transform: `translateY(${first * HEIGHT}px)` }} role="presentation">
        ${order.slice(first, last).map((at, i) => html`<div key=${at} class="step ${at === chosen ? 'current' : ''}" role="row" aria-rowindex=${first + i + 2} aria-selected=${at === chosen} onClick=${() => choose(at)}>
            <span role="gridcell">${timeline.tasks[spans.task[at]].task}</span><span role="gridcell" class="num">${spans.step[at] || ''}</span>
            <span role="gridcell"><i class="key ${spans.failed[at] ? 'failed' : timeline.kinds[spans.kind[at]]}" aria-hidden="true"></i>${spans.failed[at] ? '✗ ' : ''}${t(`kind.${timeline.kinds[spans.kind[at]]}`)}</span>
            <span role="gridcell"><bdi>${plain(spans.what[at])}</bdi></span><span role="gridcell" class="num">${duration(spans.from[at])}</span><span role="gridcell" class="num">${duration(spans.took[at])}</span></div>`)}
        </div></div></div></div>`;
}
