// views/schedules.js: what starts at times: when it starts next, what came of the last time, and whether it is paused.
import { html, useState, useEffect } from '../vendor/preact.js';
import { t } from '../text.js';
import { get, post, query as ask } from '../api.js';
import { listen } from '../live.js';
import { useLoad, useThrottle, Time, ProblemBox, Skeleton, Empty, Confirm, say } from '../ui.js';

/** On, paused, or off, with the reason. */
function Mark({ of }) {
    if (of.off) return html`<span class="badge failed"><span aria-hidden="true">✗</span> ${t('schedules.off')}</span> <bdi class="faint">${of.off}</bdi>`;
    return of.paused ? html`<span class="badge queued"><span aria-hidden="true">⏸</span> ${t('schedules.paused')}</span>` :
        html`<span class="badge running"><span aria-hidden="true">▸</span> ${t('schedules.on')}</span>`;
}

function Last({ of }) {
    if (!of) return '';
    return of.run ? html`<a href="#/run/${of.run}"><${Time} of=${of.time} /></a>` :
        html`<${Time} of=${of.time} /> <span class="faint"><bdi>${of.skipped || t('schedules.skipped')}</bdi></span>`;
}

function Row({ of, act }) {
    const [program, workflow] = of.start.split('.');
    return html`<tr><td><strong><bdi>${of.name}</bdi></strong></td><td><${Mark} of=${of} /></td>
        <td><a href=${`#/runs${ask({ program, workflow, label: `tfy.schedule=${of.name}` })}`}><bdi>${of.start}</bdi></a></td>
        <td><code>${of.cron}</code> <span class="faint"><bdi>${of.zone}</bdi></span></td>
        <td>${of.next && !of.paused && !of.off && html`<${Time} of=${of.next} />`}</td><td><${Last} of=${of.last} /></td>
        <td class="act"><button class="small" disabled=${Boolean(of.off)} onClick=${() => act('trigger')}>${t('schedules.trigger')}</button>
            ${' '}<button class="small" onClick=${() => act(of.paused ? 'unpause' : 'pause')}>${t(of.paused ? 'schedules.unpause' : 'schedules.pause')}</button></td></tr>`;
}

export function Schedules() {
    const { value, problem, loading, again } = useLoad((signal) => get('/v1/schedules', { signal }), []);
    const [asks, setAsks] = useState(null);
    const soon = useThrottle(again, 2000);
    useEffect(() => listen(({ kind, data }) => kind === 'record' && ['InstructionStart', 'Admin'].includes(data.type) && soon()), []);
    const act = (of, what) => setAsks(html`<${Confirm} title=${t(`schedules.${what}`)} text=${t(`schedules.${what}.text`, { name: of.name, start: of.start })}
        word=${t(`schedules.${what}`)} close=${() => setAsks(null)} doIt=${async () => {
    await post(`/v1/schedules/${of.name}/${what}`);
    say(t('schedules.done'));
    again();
}} />`);
    const schedules = value ? value.schedules : [], head = ['name', 'state', 'start', 'cron', 'next', 'last'];
    return html`<h1>${t('schedules.title')}</h1><${ProblemBox} problem=${problem} again=${again} />${loading && !value && html`<${Skeleton} rows=${3} />`}
        ${value && !schedules.length && html`<${Empty} title=${t('schedules.none')}><p class="faint">${t('schedules.none.text')}</p>
            <pre>"schedules": {"nightly": {"cron": "30 2 * * *", "zone": "Europe/Berlin", "start": "PROGRAM.WORKFLOW"}}</pre></>`}
        ${schedules.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label=${t('schedules.title')}><table><thead><tr>${head.map((one) =>
        html`<th key=${one}>${t(`schedules.${one}`)}</th>`)}<th><span class="unseen">${t('schedules.do')}</span></th></tr></thead>
            <tbody>${schedules.map((one) => html`<${Row} key=${one.name} of=${one} act=${(what) => act(one, what)} />`)}</tbody></table></div>`}
        ${asks}`;
}
