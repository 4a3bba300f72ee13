// main.js: the frame around the screens.
import { html, render, useState, useEffect } from './vendor/preact.js';
import { loadTexts, chooseLanguage, language, t, time, isUtc, setUtc } from './text.js';
import { get, post, onLoggedOut, learn, isShared } from './api.js';
import { startStream, watchStream, listen, touchesQuestions } from './live.js';
import { useRoute, go, useLoad, useThrottle, useKeys, Voice, Dialog, ProblemBox, say } from './ui.js';
import { Runs } from './views/runs.js';
import { Run } from './views/run.js';
import { Inbox } from './views/inbox.js';
import { Programs } from './views/programs.js';
import { Compare } from './views/compare.js';
import { MachineScreen } from './views/machine.js';
import { Overview } from './views/overview.js';
import { Schedules } from './views/schedules.js';
import { Cluster } from './views/cluster.js';

const screens = { runs: Runs, run: Run, inbox: Inbox, programs: Programs, compare: Compare, machine: MachineScreen, schedules: Schedules, overview: Overview, cluster: Cluster };
/** Screens that are part of another one. */
const parents = { run: 'runs', compare: 'runs', machine: 'programs' };

/** How many questions wait. */
function useQuestions() {
    const { value, again } = useLoad((signal) => get('/v1/questions?limit=200', { signal }), []);
    const soon = useThrottle(again, 1000);
    useEffect(() => listen((event) => touchesQuestions(event) && soon()), []);
    const count = value ? value.questions.length : 0;
    useEffect(() => {
        document.title = count ? `(${count}) tfy` : 'tfy';
    }, [count]);
    return { count, more: Boolean(value && value.next) };
}

function StreamState() {
    const [state, set] = useState({ connected: true, at: 0 });
    useEffect(() => watchStream(set), []);
    if (state.connected || !state.at) return '';
    return html`<div class="offline" role="status">${t('offline', { time: time(new Date(state.at).toISOString()) })}</div>`;
}

const keyHelp = [['/', 'key.search'], ['j k', 'key.rows'], ['Enter', 'key.open'], ['x', 'key.choose'], ['g r', 'runs.title'],
    ['g i', 'inbox.title'], ['g p', 'programs.title'], ['g s', 'schedules.title'], ['g o', 'overview.title'], [', .', 'key.travel'], ['?', 'key.help']];

function Help({ close }) {
    return html`<${Dialog} title=${t('key.title')} close=${close}><dl class="keys">${keyHelp.map(([key, text]) =>
        html`<div key=${key}><dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${t(text)}</dd></div>`)}</dl>
        <p class="buttons"><button onClick=${close}>${t('close')}</button></p></>`;
}

/** Over the page, so that nothing typed below is lost. */
function Login({ done }) {
    const [problem, set] = useState(null);
    const login = async (event) => {
        event.preventDefault();
        try {
            const shown = new FormData(event.target).get('code').trim();
            await post('/v1/session', shown.startsWith('tfy_') ? { token: shown } : { code: shown });
            done();
        } catch (error) {
            set(error);
        }
    };
    return html`<${Dialog} title=${t('login.title')} close=${() => {}}><form onSubmit=${login}><p>${t('login.text')}</p>
        <label>${t('login.code')} <input name="code" required autocomplete="off" autofocus /></label>
        <${ProblemBox} problem=${problem} /><p class="buttons"><button class="primary">${t('login.do')}</button></p></form></>`;
}

function Frame() {
    const { path, query } = useRoute();
    const [help, setHelp] = useState(false), [out, setOut] = useState(false), [, redraw] = useState(0);
    const { count, more } = useQuestions();
    const name = screens[path[0]] ? path[0] : 'runs', Screen = screens[name];
    useEffect(() => onLoggedOut(() => setOut(true)), []);
    useEffect(() => {
        if (count) say(t('inbox.waiting', { n: count }));
    }, [count]);
    useKeys({ '?': () => setHelp(true), 'g r': () => go('runs'), 'g i': () => go('inbox'), 'g p': () => go('programs'), 'g s': () => isShared() || go('schedules'), 'g o': () => go(isShared() ? 'cluster' : 'overview') });
    const choose = async (event) => {
        await chooseLanguage(event.target.value);
        redraw((n) => n + 1);
    };
    const link = (to, text) => html`<a href="#/${to}" aria-current=${(parents[name] || name) === to ? 'page' : null}>${text}</a>`;
    return html`<a class="skip" href="#main" onClick=${(event) => {
        event.preventDefault();
        document.getElementById('main').focus();
    }}>${t('skip')}</a>
    <header class="top"><a class="brand" href="#/runs"><img src="/web/icon.svg" alt="" width="24" height="24" />tfy</a>
        <nav aria-label=${t('nav')}>${link('runs', t('runs.title'))}
            ${link('inbox', html`${t('inbox.title')}${count > 0 && html` <span class="count">${count}${more ? '+' : ''}</span>`}`)}
            ${link('programs', t('programs.title'))}${isShared() ? link('cluster', t('cluster.title')) :
        html`${link('schedules', t('schedules.title'))}${link('overview', t('overview.title'))}`}</nav>
        <span class="room"></span>
        <label class="small"><input type="checkbox" checked=${isUtc()} onChange=${(event) => {
        setUtc(event.target.checked);
        redraw((n) => n + 1);
    }} /> UTC</label>
        <select class="small" aria-label=${t('language')} value=${language} onChange=${choose}><option value="en">English</option><option value="de">Deutsch</option></select>
        <button class="small" onClick=${() => setHelp(true)} aria-label=${t('key.title')}>?</button>
    </header>
    <${StreamState} />
    <main id="main" tabindex="-1"><${Screen} key=${name + (path[1] || '')} path=${path.slice(1)} query=${query} /></main>
    <${Voice} />${help && html`<${Help} close=${() => setHelp(false)} />`}
    ${out && html`<${Login} done=${() => {
        setOut(false);
        location.reload();
    }} />`}`;
}

/** "#login=CODE" of the address that the server prints: the code becomes a cookie, and leaves the address. */
async function useCode() {
    const code = /^#login=([\w-]+)$/.exec(location.hash);
    if (!code) return;
    history.replaceState(null, '', '#/runs');
    await post('/v1/session', { code: code[1] }).catch(() => {});
}

await loadTexts();
await useCode();
await learn();
startStream();
render(html`<${Frame} />`, document.getElementById('app'));
