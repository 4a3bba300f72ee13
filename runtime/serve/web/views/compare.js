// views/compare.js: two runs side by side, step by step, from the first difference on.
import { html, useState } from '../vendor/preact.js';
import { t, number, shortId } from '../text.js';
import { get, query as ask } from '../api.js';
import { go, useLoad, ProblemBox, Skeleton, Empty, Value } from '../ui.js';

const marks = { same: '=', changed: '~', only_a: '−', only_b: '+' };

function Side({ of, run }) {
    if (!of) return html`<td class="faint">–</td>`;
    const { record, lsn, step, ...rest } = of;
    return html`<td><span class="faint">${step ? `${t('step.number')} ${step}, ` : ''}${lsn && html`<a href="#/run/${run}?tab=travel&at=${lsn}">lsn ${lsn}</a>`}</span>${Object.keys(rest).length > 0 && html`<${Value} of=${Object.keys(rest).length === 1 ? Object.values(rest)[0] : rest} most=${600} />`}</td>`;
}

function Chooser({ query }) {
    const submit = (event) => {
        event.preventDefault();
        const form = new FormData(event.target);
        go('compare', { a: form.get('a').trim(), b: form.get('b').trim() });
    };
    return html`<form class="filters" key=${query.toString()} onSubmit=${submit}><label>a <input name="a" required size="38" defaultValue=${query.get('a') || ''} /></label><label>b <input name="b" required size="38" defaultValue=${query.get('b') || ''} /></label><button class="primary">${t('compare.do')}</button></form>`;
}

export function Compare({ query }) {
    const a = query.get('a'), b = query.get('b'), [all, setAll] = useState(false);
    const { value, problem, loading } = useLoad((signal) => (a && b ? get(`/v1/compare${ask({ a, b })}`, { signal }) : Promise.resolve(null)), [a, b]);
    const steps = value ? value.steps.filter((one) => all || one.how !== 'same') : [];
    return html`<h1>${t('compare.title')}</h1><${Chooser} query=${query} /><${ProblemBox} problem=${problem} />${loading && a && b && html`<${Skeleton} />`}
        ${value && html`<p>${value.same ? t('compare.same') : t('compare.counts', { changed: number(value.counts.changed), a: number(value.counts.only_a), b: number(value.counts.only_b), same: number(value.counts.same) })}
            ${' '}<label class="small"><input type="checkbox" checked=${all} onChange=${(event) => setAll(event.target.checked)} /> ${t('compare.all')}</label></p>
            ${steps.length > 0 ? html`<div class="wide" tabindex="0" role="region" aria-label=${t('compare.title')}><table class="compare"><thead><tr><th><span class="unseen">${t('compare.how')}</span></th><th>${t('step.task')}</th><th>${t('record.type')}</th>
                ${[['a', value.a], ['b', value.b]].map(([name, run]) => html`<th key=${name}>${name}: <a href="#/run/${run.run}"><bdi>${run.workflow}</bdi> ${shortId(run.run)}</a></th>`)}</tr></thead>
                <tbody>${steps.slice(0, 1000).map((one, i) => html`<tr key=${i} class=${one.how}><td title=${t(`compare.${one.how}`)}><strong>${marks[one.how] || one.how}</strong><span class="unseen">${t(`compare.${one.how}`)}</span></td><td>${one.task}</td><td>${one.type}</td><${Side} of=${one.a} run=${value.a.run} /><${Side} of=${one.b} run=${value.b.run} /></tr>`)}</tbody></table></div>` : !value.same && html`<${Empty} title=${t('compare.same')} />`}`}`;
}
