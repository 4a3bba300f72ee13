// views/inbox.js: the questions that runs ask, the oldest first, with the call behind each; and their answers.
import { html, useState, useEffect } from '../vendor/preact.js';
import { t, plain, shortId } from '../text.js';
import { get, post, query as ask } from '../api.js';
import { listen, touchesQuestions } from '../live.js';
import { useLoad, useThrottle, Time, Took, Behind, ProblemBox, Skeleton, Empty, say } from '../ui.js';

/** The rows of a call, as it will run: a name, then the words. */
function Call({ of }) {
    if (!Array.isArray(of)) return '';
    return html`<table class="call"><tbody>${of.map(([name, ...words], i) => html`<tr key=${i}><th scope="row">${name}</th><td>${words.map((word, n) => html`<code key=${n}><bdi>${plain(word)}</bdi></code> `)}</td></tr>`)}</tbody></table>`;
}

function Origins({ of }) {
    if (!Array.isArray(of) || !of.length) return '';
    return html`<p class="note">${t('inbox.untrusted')}</p><ul>${of.map(([name, text], i) => html`<li key=${i}><code>${name}</code> <bdi>${plain(text)}</bdi></li>`)}</ul>`;
}

/** A patch as people read it. */
function Details({ text }) {
    const lines = plain(text.slice(0, 65536)).split('\n');
    const kind = (line) => (line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'place' : '');
    return html`<details open=${lines.length < 40}><summary>${t('inbox.details')}</summary><pre class="diff">${lines.map((line, i) => html`<span key=${i} class=${kind(line)}><bdi>${line}</bdi>${'\n'}</span>`)}</pre></details>`;
}

/** Who answered before, or what is asked now. */
function Late({ problem }) {
    const { answer, question } = problem.body || {};
    if (problem.status === 409 && answer) return html`<p class="note">${t('inbox.answered', { by: answer.by || '?', answer: JSON.stringify(answer.answer) })}</p>`;
    if (problem.status === 412 && question) return html`<p class="note">${t('inbox.changed')}</p>`;
    return html`<${ProblemBox} problem=${problem} />`;
}

function Question({ of, reload }) {
    const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false), [text, setText] = useState(''), [why, setWhy] = useState('');
    const answer = async (value) => {
        setBusy(true);
        setProblem(null);
        try {
            await post(`/v1/questions/${of.run}/${of.task}/${of.step}/answer`, { answer: value, ...(why && value === 'no' ? { why } : {}) }, { headers: { 'If-Match': `"${of.digest}"` } });
            say(t('inbox.done'));
        } catch (error) {
            setProblem(error);
        }
        setBusy(false);
        reload();
    };
    const yesNo = of.answers && of.answers.length === 2 && of.answers[0] === 'yes';
    return html`<article class="question" aria-label=${plain(of.question)}><h2><bdi>${plain(of.question)}</bdi></h2>
        <p class="faint"><a href="#/run/${of.run}?step=${of.task}/${of.step}"><bdi>${of.program}.${of.workflow}</bdi> ${shortId(of.run)}</a> · ${of.task}/${of.step} · <${Time} of=${of.asked} /> (<${Took} from=${of.asked} />) · ${t('runs.by')} <bdi>${of.by || '–'}</bdi></p>
        <${Call} of=${of.call} /><${Origins} of=${of.origins} />${of.details && html`<${Details} text=${of.details} />`}
        ${problem && html`<${Late} problem=${problem} />`}
        ${of.answers === null ? html`<form onSubmit=${(event) => {
        event.preventDefault();
        answer(text);
    }}><textarea aria-label=${t('inbox.answer')} rows="2" value=${text} onInput=${(event) => setText(event.target.value)}></textarea><p class="buttons"><button class="primary" disabled=${busy || !text}>${t('inbox.answer')}</button></p></form>` :
        html`<p class="buttons">${of.answers.map((one, i) => html`<button key=${one} class=${i === 0 ? 'primary' : ''} disabled=${busy} onClick=${() => answer(one)}>${yesNo ? t(`answer.${one}`) : one}</button> `)}
            ${yesNo && html`<input aria-label=${t('inbox.why')} placeholder=${t('inbox.why')} value=${why} onInput=${(event) => setWhy(event.target.value)} />`}</p>`}</article>`;
}

export function Inbox({ query }) {
    const run = query.get('run');
    const { value, problem, loading, again } = useLoad((signal) => get(`/v1/questions${ask({ run, limit: 100 })}`, { signal }), [run]);
    const soon = useThrottle(again, 700);
    useEffect(() => listen((event) => touchesQuestions(event) && soon()), []);
    const me = useLoad((signal) => get('/v1/me', { signal }), []), roles = me.value ? me.value.roles : ['approver'];
    const questions = value ? value.questions : [];
    return html`<h1>${t('inbox.title')}</h1>${run && html`<p><span class="label">${shortId(run)}</span> <a href="#/inbox">${t('inbox.all')}</a></p>`}
        <${Behind} list=${value} again=${again} /><${ProblemBox} problem=${problem} again=${again} />${loading && !value && html`<${Skeleton} rows=${3} />`}
        ${value && !questions.length && html`<${Empty} title=${t('inbox.empty')}><p class="faint">${t('inbox.empty.text')}</p>
            ${!roles.includes('approver') && !roles.includes('admin') && html`<p class="note">${t('inbox.viewer')}</p>`}</>`}
        ${questions.map((one) => html`<${Question} key=${`${one.run}/${one.task}/${one.step}/${one.digest}`} of=${one} reload=${again} />`)}`;
}
