// views/programs.js: the programs that are served, and a form to start each of their workflows, made from its parameters.
import { html, useState } from '../vendor/preact.js';
import { t } from '../text.js';
import { get, post } from '../api.js';
import { go, useLoad, ProblemBox, Skeleton, Dialog } from '../ui.js';

/** The schema that a reference names. */
function resolve(schema, document) {
    const name = /^#\/components\/schemas\/(.+)$/.exec(schema.$ref || '');
    return name ? resolve(document.components.schemas[name[1]], document) : schema;
}

/** How a parameter is typed in: text, number, check box, choice; all else as JSON. */
function fieldOf(schema) {
    const types = [].concat(schema.type || []);
    if (schema.enum && schema.enum.every((one) => typeof one === 'string')) return 'choice';
    if (types.length === 1 && types[0] === 'boolean') return 'check';
    if (types.length === 1 && (types[0] === 'integer' || types[0] === 'number')) return 'number';
    if (types.length === 1 && types[0] === 'string') return 'text';
    return 'json';
}

function Field({ name, schema, required }) {
    const kind = fieldOf(schema), label = html`<span>${name}${required ? '' : html` <span class="faint">${t('start.optional')}</span>`}</span>`;
    const inputs = {
        choice: () => html`<select name=${name}>${!required && html`<option value=""></option>`}${schema.enum.map((one) => html`<option key=${one}>${one}</option>`)}</select>`,
        check: () => html`<input type="checkbox" name=${name} defaultChecked=${schema.default} />`,
        number: () => html`<input type="number" name=${name} step=${schema.type === 'integer' ? 1 : 'any'} required=${required} defaultValue=${schema.default ?? ''} />`,
        text: () => html`<textarea name=${name} rows="1">${schema.default ?? ''}</textarea>`,
        json: () => html`<textarea name=${name} rows="3" placeholder="JSON" required=${required} spellcheck="false">${schema.default === undefined ? '' : JSON.stringify(schema.default)}</textarea>`,
    };
    return html`<label class="field">${label}${inputs[kind]()}${schema.description && html`<small class="faint">${schema.description}</small>`}</label>`;
}

/** The arguments of a form; throws with the name of one that is no JSON. */
function argumentsOf(form, properties, required, document) {
    const out = {};
    for (const [name, given] of Object.entries(properties)) {
        const kind = fieldOf(resolve(given, document)), text = form.get(name);
        if (kind === 'check') out[name] = text !== null;
        else if ((text === '' || text === null) && !required.includes(name)) continue;
        else if (kind === 'text' || kind === 'choice') out[name] = text;
        else {
            try {
                out[name] = JSON.parse(text);
            } catch {
                throw new Error(t('start.json', { name }));
            }
        }
    }
    return out;
}

function labelsOf(text) {
    return Object.fromEntries(text.split(/[\s,]+/).filter((one) => one.includes('=')).map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]));
}

function Start({ program, workflow, document, close }) {
    const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
    const path = `/v1/programs/${program}/workflows/${workflow}/runs`, operation = document.paths[path].post;
    const body = operation.requestBody.content['application/json'].schema, args = resolve(body.properties.args, document);
    const properties = args.properties || {}, required = args.required || [];
    const start = async (event) => {
        event.preventDefault();
        const form = new FormData(event.target);
        setBusy(true);
        setProblem(null);
        try {
            const run = await post(path, { args: argumentsOf(form, properties, required, document), labels: labelsOf(form.get('labels ')) },
                { headers: form.get('key ') ? { 'Idempotency-Key': form.get('key ') } : {} });
            close();
            go(`run/${run.id}`);
        } catch (error) {
            setProblem(error);
            setBusy(false);
        }
    };
    return html`<${Dialog} title=${t('start.title', { name: `${program}.${workflow}` })} close=${close}><form onSubmit=${start}>${operation.summary !== 'start a run' && html`<p>${operation.summary}</p>`}
        ${Object.entries(properties).map(([name, schema]) => html`<${Field} key=${name} name=${name} schema=${resolve(schema, document)} required=${required.includes(name)} />`)}
        <details><summary>${t('start.more')}</summary><label class="field"><span>${t('runs.labels')}</span><input name="labels " placeholder="team=web" /></label>
        <label class="field"><span>${t('start.key')}</span><input name="key " maxlength="255" /></label></details>
        <${ProblemBox} problem=${problem} /><p class="buttons"><button type="button" onClick=${close}>${t('cancel')}</button> <button class="primary" disabled=${busy}>${t('start.do')}</button></p></form></>`;
}

/** Older versions with runs that have not ended, and a button that lets these continue with the active one. */
function Versions({ program, again }) {
    const [problem, setProblem] = useState(null), [moved, setMoved] = useState(null), [busy, setBusy] = useState(false);
    const older = program.versions.filter((one) => !one.active && one.live);
    const move = async () => {
        setBusy(true);
        setProblem(null);
        try {
            setMoved(await post(`/v1/programs/${program.name}/move`, {}));
            again();
        } catch (error) {
            setProblem(error);
        }
        setBusy(false);
    };
    if (!older.length && !moved && !problem) return null;
    return html`<div class="versions"><ul>${older.map((one) => html`<li key=${one.version}><code>${one.version}</code> <a href="#/runs?program=${program.name}&version=${one.version}">${t('programs.live', { n: one.live })}</a></li>`)}</ul>
        ${older.length > 0 && html`<button disabled=${busy} onClick=${move}>${t('programs.move')}</button>`}
        ${moved && html`<p role="status">${t('programs.moved', { n: moved.moved, m: moved.stayed.length })}</p><ul>${moved.stayed.map((one) => html`<li key=${one.run}><a href=${`#/run/${one.run}`}>${one.run.slice(0, 13)}</a> <bdi>${one.reason}</bdi></li>`)}</ul>`}
        <${ProblemBox} problem=${problem} /></div>`;
}

async function loadPrograms(signal) {
    const [programs, document] = await Promise.all([get('/v1/programs', { signal }), get('/openapi.json', { signal })]);
    return { programs: programs.programs, document };
}

/** Where there is no run yet: how one is started, and the form of the workflow that is chosen. */
export function FirstStart() {
    const { value, problem, again } = useLoad(loadPrograms, []);
    const [chosen, setChosen] = useState(''), [starting, setStarting] = useState(null);
    const all = value ? value.programs.flatMap((program) => program.workflows.map((workflow) => `${program.name}.${workflow}`))
        .filter((name) => value.document.paths[`/v1/programs/${name.replace('.', '/workflows/')}/runs`]) : [];
    const start = (event) => {
        event.preventDefault();
        const [program, workflow] = (chosen || all[0]).split('.');
        setStarting({ program, workflow });
    };
    return html`<${ProblemBox} problem=${problem} again=${again} /><pre>tfy start ${chosen || all[0] || 'PROGRAM.WORKFLOW'} --PARAMETER VALUE</pre>
        ${all.length > 0 && html`<form class="first" onSubmit=${start}><label>${t('runs.workflow')} <select value=${chosen || all[0]} onChange=${(event) => setChosen(event.target.value)}>
            ${all.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label> <button class="primary">${t('runs.start')}</button></form>`}
        ${starting && html`<${Start} ...${starting} document=${value.document} close=${() => setStarting(null)} />`}`;
}

export function Programs() {
    const { value, problem, loading, again } = useLoad(loadPrograms, []);
    const [starting, setStarting] = useState(null);
    return html`<h1>${t('programs.title')}</h1><${ProblemBox} problem=${problem} again=${again} />${loading && !value && html`<${Skeleton} rows=${3} />`}
        <div class="cards">${value && value.programs.map((program) => html`<section class="card" key=${program.name}><h2><bdi>${program.name}</bdi> <code class="faint">${program.version}</code> <a class="button small" href=${`#/machine/${program.name}`}>${t('machine.link')}</a></h2>
            <${Versions} program=${program} again=${again} />
            <ul class="workflows">${program.workflows.map((workflow) => {
        const { post: operation } = value.document.paths[`/v1/programs/${program.name}/workflows/${workflow}/runs`] || {};
        if (!operation) return null; // deployed between the two answers
        return html`<li key=${workflow}><div><strong><bdi>${workflow}</bdi></strong>${operation.summary !== 'start a run' && html`<p class="faint">${operation.summary}</p>`}</div>
                <span class="buttons"><a class="button" href="#/runs?program=${program.name}&workflow=${workflow}">${t('programs.runs')}</a> <button class="primary" onClick=${() => setStarting({ program: program.name, workflow })}>${t('start.do')}</button></span></li>`;
    })}</ul></section>`)}</div>
        ${starting && html`<${Start} ...${starting} document=${value.document} close=${() => setStarting(null)} />`}`;
}
