// page.mjs: the page of tfy serve in a real browser: page.mjs SOCKET MODULES. It prints "ok NAME" and "not ok NAME" lines.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { openRelay } from './relay.mjs';

const [socketPath, modules] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const axe = readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8');
const web = new URL('../../../runtime/serve/web/', import.meta.url).pathname;

const relay = await openRelay(socketPath), { base } = relay;

// ---- checks ----

function check(name, good, why = '') {
    console.log(`${good ? 'ok' : 'not ok'} ${name}`);
    if (!good && why) console.log(`    ${String(why).slice(0, 600)}`);
}

async function trial(name, what) {
    try {
        const why = await what();
        check(name, why === undefined || why === true, why);
    } catch (error) {
        check(name, false, error.stack);
    }
}

const api = async (path, options) => (await fetch(base + path, options)).json();
const start = (workflow, args, labels = {}) => api(`/v1/programs/shop/workflows/${workflow}/runs`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', Prefer: 'wait=20' }, body: JSON.stringify({ args, labels }),
});
async function until(what, ms = 60000) {
    for (const end = Date.now() + ms; Date.now() < end;) {
        if (await what()) return true;
        await new Promise((done) => setTimeout(done, 50));
    }
    return false;
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const complaints = [];

async function open(hash, { dark = false, width = 1280, height = 800, locale = 'en-US', context } = {}) {
    const own = context || await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', locale });
    const page = await own.newPage();
    page.setDefaultTimeout(60000);
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(`${hash}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(`${hash}: ${error.message}`));
    await page.goto(`${base}/#/${hash}`);
    await page.waitForSelector('main h1, main .head, main .problem');
    return page;
}
const shows = (page, text) => page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text, { timeout: 60000 });

// ---- what there is to see ----

const nasty = 'eve<script>document.title="pwned"</script><img src=x onerror="document.title=1">\u001b[31m\u202egnp.exe';
await start('order', { customer: 'ann', articles: [{ name: 'tea', n: 3 }, { name: 'cup', n: 1 }] }, { team: 'web' });
const declined = (await api('/v1/questions')).questions[0].run;
await api(`/v1/questions/${declined}/1/5/answer`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"answer":"no"}' });
await until(async () => (await api(`/v1/runs/${declined}`)).state === 'failed');
const pair = await start('pair', { n: 6 });
const counting = await start('counting', { n: 20000 });
const asking = await fetch(`${base}/v1/programs/shop/workflows/order/runs`, { method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ args: { customer: nasty, articles: [] }, labels: { team: 'ops' } }) }).then((one) => one.json());
await until(async () => (await api(`/v1/runs/${asking.id}`)).attention === 'question');

const screens = { runs: 'runs', filtered: 'runs?state=failed&label=team=web', nothing: 'runs?q=nosuchword', inbox: 'inbox', programs: 'programs',
    run: `run/${pair.id}?step=1.1/1`, steps: `run/${declined}?tab=steps`, travel: `run/${declined}?tab=travel&at=record-3`, log: `run/${declined}?tab=records`,
    machine: `machine/shop?point=order/tool/price/1`, own: `run/${counting.id}?tab=machine`, schedules: 'schedules', overview: 'overview', output: `run/${declined}?tab=output`, tasks: `run/${pair.id}?tab=tasks`, source: `run/${asking.id}?tab=source`, compare: `compare?a=${declined}&b=${asking.id}`, missing: 'run/ffffffff' };

for (const look of [{ width: 1280 }, { width: 320, dark: true }]) {
    const page = await open('programs', look);
    await page.evaluate(axe);
    for (const [name, hash] of Object.entries(screens)) {
        await trial(`${name}, ${look.width} px${look.dark ? ', dark' : ''}: nothing is cut, and axe finds nothing`, async () => {
            await page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
            await page.waitForTimeout(150);
            await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('.skeleton, [role=status].faint'), null, { timeout: 60000 });
            const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
            const cut = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            if (cut > 0) return `${cut} px wider than the window`;
            return found.violations.length === 0 || found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 2).join(' ')}`).join('\n');
        });
    }
    await page.context().close();
}

await trial('at 1,920 px nothing is cut', async () => {
    const page = await open('runs', { width: 1920, height: 1080 }), cut = [];
    for (const [name, hash] of Object.entries(screens)) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
        await page.waitForTimeout(100);
        await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('.skeleton'), null, { timeout: 60000 });
        const more = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (more > 0) cut.push(`${name}: ${more} px`);
    }
    await page.context().close();
    return cut.length === 0 || cut.join('; ');
});
await trial('what goes wrong is said on each screen, with the number of the request', async () => {
    const page = await open('programs'), silent = [];
    await page.route('**/v1/**', (asks) => (asks.request().url().includes('/v1/events') ? asks.continue() :
        asks.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"type":"/problems/internal","title":"Something went wrong","status":500,"detail":"the index cannot be read","request":"r-4711"}' })));
    for (const [name, hash] of Object.entries(screens)) {
        await page.evaluate(() => { location.hash = '#/nowhere'; });
        await page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
        const said = await page.waitForFunction(() => /the index cannot be read/.test((document.querySelector('main .problem') || {}).innerText) && document.body.innerText.includes('r-4711'),
            null, { timeout: 5000 }).catch(() => null);
        if (!said) silent.push(name);
    }
    await page.context().close();
    return silent.length === 0 || silent.join();
});

// ---- lists ----

const list = await open('runs');
await trial('a new run is said, and shown when asked for', async () => {
    await list.waitForTimeout(300);
    const run = await start('pair', { n: 1 });
    await list.waitForSelector('button.fresh');
    if (await list.$(`a[href="#/run/${run.id}"]`)) return 'it was there before';
    await list.click('button.fresh');
    await list.waitForSelector(`a[href="#/run/${run.id}"]`);
});
await trial('a list that is made anew says what it lacks, until it lacks nothing', async () => {
    const page = await open('');
    let lacks = 12345;
    await page.route('**/v1/runs?*', async (asks) => {
        const answer = await asks.fetch();
        await asks.fulfill({ response: answer, json: { ...await answer.json(), ...(lacks && { behind: lacks }) } });
    });
    await page.reload();
    await shows(page, '12,345 records are still to come');
    lacks = 0;
    await page.waitForFunction(() => !document.body.innerText.includes('still to come'));
    await page.close();
});
await trial('the head of a column orders the list, the greatest first, then the least', async () => {
    const page = await open('runs?workflow=pair'), first = () => page.innerText('table.runs tbody tr:first-child td:nth-child(3) code');
    await page.waitForSelector('table.runs');
    const took = async (sort) => (await api(`/v1/runs?workflow=pair&sort=${sort}&limit=1`)).runs[0].id.slice(0, 13);
    for (const [sort, says] of [['-took', 'descending'], ['took', 'ascending']]) {
        await page.click('button.order:has-text("Took")');
        await page.waitForFunction((wanted) => new URLSearchParams(location.hash.split('?')[1]).get('sort') === wanted, sort);
        const id = await took(sort);
        if (!await until(async () => (await first()) === id, 5000)) return `${sort}: ${await first()} and not ${id}`;
        if (await page.getAttribute('th:has(button:has-text("Took"))', 'aria-sort') !== says) return `it does not say ${says}`;
    }
    await page.click('button.order:has-text("Started")');
    await page.waitForFunction(() => !location.hash.includes('sort'));
    await page.context().close();
});
await trial('/ searches, and the address has the words', async () => {
    await list.keyboard.press('/');
    await list.keyboard.type('an');
    await start('pair', { n: 1 }); // what is being typed stays when the list is drawn again
    await list.waitForSelector('button.fresh');
    await list.keyboard.type('n');
    await list.keyboard.press('Enter');
    await list.waitForFunction(() => location.hash.includes('q=ann') && document.querySelectorAll('a.row').length === 1);
});
await trial('j and Enter open a run, the browser goes back to the filters', async () => {
    await list.evaluate(() => document.activeElement.blur());
    await list.keyboard.press('j');
    await list.keyboard.press('Enter');
    await list.waitForFunction((id) => location.hash === `#/run/${id}`, declined);
    await list.goBack();
    await list.waitForFunction(() => location.hash.includes('q=ann'));
});
await trial('? lists the keys, g i goes to the inbox', async () => {
    await list.keyboard.press('?');
    await list.waitForSelector('dialog[open] kbd');
    await list.keyboard.press('Escape');
    await list.waitForFunction(() => !document.querySelector('dialog[open]'));
    await list.keyboard.press('g');
    await list.keyboard.press('i');
    await list.waitForFunction(() => location.hash.startsWith('#/inbox'));
});
await list.context().close();

// ---- questions ----

await trial('what a program says is text', async () => {
    const page = await open('inbox');
    await shows(page, 'eve<script>document.title="pwned"</script>');
    const title = await page.title(), elements = await page.evaluate(() => document.querySelectorAll('main script, main img').length);
    const raw = await page.evaluate(() => /[\u001b\u202e]/.test(document.body.innerText));
    await page.context().close();
    return (!title.includes('pwned') && elements === 0 && !raw) || `${title} ${elements} ${raw}`;
});
await trial('a text of 5 MB is cut, and does not hold up the page', async () => {
    const loud = await start('loud', {}), wrong = [];
    if (loud.state !== 'completed') return JSON.stringify(loud).slice(0, 300);
    const page = await open(`run/${loud.id}`);
    for (const [tab, text] of [['output', '0123456789'], ['records', 'TaskComplete'], ['steps', 'sleep'], ['tasks', 'loud'], ['travel&at=record-2', '0123456789']]) {
        const since = Date.now();
        await page.evaluate((to) => { location.hash = to; }, `#/run/${loud.id}?tab=${tab}`);
        await page.waitForFunction((wanted) => document.querySelector('main').innerText.includes(wanted), text);
        const [took, letters] = [Date.now() - since, await page.evaluate(() => document.body.textContent.length)];
        if (took > 10000 || letters > 200000) wrong.push(`${tab}: ${letters} letters in ${took} ms`);
    }
    await page.context().close();
    return wrong.length === 0 || wrong.join('; ');
});
await trial('who comes too late learns who answered, and what', async () => {
    const [first, second] = [await open('inbox'), await open('inbox')];
    await Promise.all([first.waitForSelector('article.question'), second.waitForSelector('article.question')]);
    await second.evaluate(() => { window.EventSource.prototype.addEventListener = () => {}; });
    const digest = (await api('/v1/questions')).questions[0];
    await first.click('article.question button.primary');
    await shows(first, 'Nothing waits for you');
    const again = await fetch(`${base}/v1/questions/${digest.run}/${digest.task}/${digest.step}/answer`, { method: 'POST',
        headers: { 'Content-Type': 'application/json', 'If-Match': `"${digest.digest}"` }, body: '{"answer":"no"}' });
    const state = await until(async () => (await api(`/v1/runs/${asking.id}`)).state === 'completed');
    await first.context().close();
    await second.context().close();
    return (again.status === 409 && state) || `${again.status} ${state}`;
});

// ---- one run ----

await trial('a run is started with a form, and shown while it runs', async () => {
    const page = await open('programs');
    await page.click('li:has(bdi:text-is("order")) button.primary');
    await page.fill('dialog textarea[name=customer]', 'zoe');
    await page.fill('dialog textarea[name=articles]', '[{"name":"pot","n":2}]');
    await page.click('dialog button.primary');
    await page.waitForFunction(() => location.hash.startsWith('#/run/'));
    await shows(page, 'This run asks a question');
    await page.click('button:text-is("Cancel run")');
    await page.click('dialog button.primary');
    await page.waitForSelector('.badge.cancelled');
    await page.context().close();
});
await trial('a mistake in the form is said beside it, and nothing is lost', async () => {
    const page = await open('programs');
    await page.click('li:has(bdi:text-is("order")) button.primary');
    await page.fill('dialog textarea[name=customer]', 'zoe');
    await page.fill('dialog textarea[name=articles]', '[{"name":"pot"}]');
    await page.click('dialog button.primary');
    await page.waitForSelector('dialog .problem');
    const kept = await page.inputValue('dialog textarea[name=customer]'), said = await page.innerText('dialog .problem');
    await page.context().close();
    return (kept === 'zoe' && said.includes('articles[0].n')) || said;
});
await trial('travel shows the variables of a record, and what changed since the one before', async () => {
    const page = await open(`run/${declined}?tab=travel&at=record-2`);
    await shows(page, 'price(item.name)');
    await page.keyboard.press('.');
    await page.keyboard.press('.');
    await page.waitForFunction(() => location.hash.includes('record-') && document.querySelector('.variables tr.changed'), null, { timeout: 60000 });
    const text = await page.innerText('.variables');
    await page.context().close();
    return text.includes('customer') || text;
});
await trial('a travel that takes long says so, can be stopped, and taken up again', async () => {
    const page = await open('runs');
    let held = [];
    await page.route('**/at/record-3', (asks) => { held.push(asks); });
    await page.evaluate((to) => { location.hash = to; }, `#/run/${declined}?tab=travel&at=record-3`);
    await shows(page, 'Replaying 3 of');
    await page.click('.replaying button');
    await shows(page, 'Stopped before record 3');
    const aborted = await until(() => held.length === 1 && held[0].request().failure() !== null, 5000);
    await page.unroute('**/at/record-3');
    held = [];
    await page.click('p[role=status] button');
    await page.waitForSelector('section.frame');
    await page.context().close();
    return aborted || 'it is still asked';
});
await trial('the source has the line where a task is', async () => {
    const page = await open(`run/${asking.id}?tab=source`);
    await page.waitForSelector('.source li.here');
    const lines = await page.$$eval('.source li', (all) => all.length), here = await page.$$eval('.source li.here', (all) => all.map((one) => one.innerText));
    await page.context().close();
    return (lines > 20 && here.length === 1 && here[0].includes('yield approve("Charge') && here[0].includes('task 1')) || here.join('|');
});
await trial('fork from a step', async () => {
    const page = await open(`run/${pair.id}?step=1.1/1`);
    await page.waitForSelector('section.chosen .record');
    await page.click('section.chosen button');
    await page.click('dialog button.primary');
    await page.waitForFunction((id) => location.hash.startsWith('#/run/') && !location.hash.includes(id), pair.id);
    await page.context().close();
});
await trial('20,000 steps: the list has only what is seen, and scrolls to its end', async () => {
    const page = await open(`run/${counting.id}?tab=steps`);
    await page.waitForSelector('.steps-box .step');
    const before = await page.$$eval('.steps-box .step', (rows) => rows.length);
    await page.evaluate(() => { const box = document.querySelector('.steps-box'); box.scrollTop = box.scrollHeight; });
    await page.waitForFunction(() => [...document.querySelectorAll('.steps-box .step')].some((row) => row.getAttribute('aria-rowindex') === '20001'));
    await page.context().close();
    return before < 100 || before;
});
await trial('the timeline is drawn, and its steps are reached by keys', async () => {
    const page = await open(`run/${counting.id}`);
    await page.waitForSelector('canvas');
    await page.waitForTimeout(300);
    const painted = await page.evaluate(() => {
        const canvas = document.querySelector('canvas'), bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return bytes.some((byte, i) => i % 4 === 3 && byte > 0);
    });
    await page.focus('canvas');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('section.chosen');
    await page.context().close();
    return painted || 'nothing is painted';
});

// ---- what was counted ----

await trial('the machine of a program says how often runs were at a point, and how many failed there', async () => {
    const graph = await api('/v1/programs/shop/graph'), node = graph.workflows.find((one) => one.name === 'order').nodes.find((one) => one.callee === 'price');
    const page = await open('machine/shop');
    await page.waitForSelector('g.point');
    await page.focus('g.point:has(text:text-is("price"))');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.includes('point='));
    const said = await page.innerText('section.chosen');
    await page.context().close();
    return (node.count >= 2 && said.includes(`Steps\n${node.count}`)) || `${JSON.stringify(node)} ${said}`;
});
await trial('the machine of a run has its own figures, and leads to its steps', async () => {
    const page = await open(`run/${pair.id}?tab=machine`);
    await page.waitForSelector('g.point');
    const counts = await page.$$eval('g.point', (all) => all.map((one) => Number((/(\d+)×/.exec(one.textContent) || [0, 0])[1])));
    await page.click('g.point:has-text("×")');
    await page.click('section.chosen ol a');
    await page.waitForFunction(() => location.hash.includes('tab=steps') && document.querySelector('.step.current'));
    await page.context().close();
    return counts.some((one) => one > 0) || counts.join();
});
await trial('the overview counts what ended', async () => {
    const stats = (await api('/v1/stats')).stats[0], page = await open('overview');
    await page.waitForSelector('svg.bars');
    const said = await page.innerText('.facts.large');
    await page.context().close();
    return (stats.count > 3 && stats.failed >= 1 && said.includes(String(stats.failed))) || `${JSON.stringify(stats)} ${said}`;
});
await trial('the overview says what waits, and how far lists and followers have come', async () => {
    const page = await open('runs');
    await page.route('**/metrics', async (asks) => {
        const answer = await asks.fetch(), text = (await answer.text()).replace(/^tfy_queue_length\{.*\n/gm, '').replace(/^tfy_index_lag_records .*$/m, 'tfy_index_lag_records 4321');
        await asks.fulfill({ response: answer, body: `${text}tfy_queue_length{workflow="shop.order"} 17\n` });
    });
    await page.route('**/v1/followers', (asks) => asks.fulfill({ json: { followers: [{ name: 'bus', to: 'nats://127.0.0.1:4222', works: false, cursor: 5, lag: 98765, missed: 0, dropped: 0,
        error: '\u001b[31mno connection', error_time: '2026-11-27T10:00:00.000Z' }], next: null } }));
    await page.evaluate(() => { location.hash = '#/overview'; });
    await page.waitForSelector('.facts.now');
    const said = await page.innerText('main');
    const found = ['17', '4,321', 'shop.order', 'bus', '98,765', 'stopped', 'no connection'].filter((one) => !said.includes(one));
    await page.evaluate(axe);
    const faults = (await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))).violations.map((one) => one.id);
    await page.click('a:has(bdi:text-is("shop.order")) >> nth=0');
    await page.waitForFunction(() => location.hash.includes('state=queued') && location.hash.includes('workflow=order'));
    await page.context().close();
    return (found.length === 0 && faults.length === 0) || `${found} ${faults} in ${said}`;
});
await trial('where there is nothing yet, a form starts the first run', async () => {
    const page = await open('programs');
    const nothing = { '**/v1/runs?*': { runs: [], next: null }, '**/v1/stats?*': { stats: [], after: '2026-01-01T00:00:00.000Z', more: false } };
    for (const [path, json] of Object.entries(nothing)) await page.route(path, (asks) => asks.fulfill({ json }));
    for (const [screen, says] of [['runs', 'There is no run yet'], ['overview', 'No run in this time']]) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, screen);
        await shows(page, says);
        await page.selectOption('form.first select', 'shop.pair');
        await shows(page, 'tfy start shop.pair');
        await page.click('form.first button');
        await page.waitForSelector('dialog[open] input[name=n]');
        await page.keyboard.press('Escape');
        await page.waitForFunction(() => !document.querySelector('dialog[open]'));
    }
    await page.context().close();
});
await trial('who may not answer is told so', async () => {
    const page = await open('runs');
    await page.route('**/v1/me', (asks) => asks.fulfill({ json: { name: 'eve', roles: ['viewer'], only: [], how: 'http', token: 'eve' } }));
    await page.route('**/v1/questions?*', (asks) => asks.fulfill({ json: { questions: [], next: null } }));
    await page.evaluate(() => { location.hash = '#/inbox'; });
    await shows(page, 'Nothing waits for you');
    await shows(page, 'takes the role of an approver');
    await page.context().close();
});
await trial('a schedule is paused and continued, started now, and one whose workflow is gone is off', async () => {
    const page = await open('schedules'), row = page.locator('tr', { hasText: 'nightly' });
    const doIt = async (button) => {
        await row.getByRole('button', { name: button }).click();
        await page.locator('dialog button.primary').click();
        await page.locator('dialog').waitFor({ state: 'detached' });
    };
    await doIt('Pause');
    await row.getByText('paused').waitFor();
    if (!(await api('/v1/schedules')).schedules.find((one) => one.name === 'nightly').paused) return 'it is not paused';
    await doIt('Continue');
    await row.locator('.badge.running').waitFor();
    await doIt('Start now');
    if (!await until(async () => (await api('/v1/runs?label.tfy.schedule=nightly')).runs.length === 1)) return 'no run started';
    const gone = await page.locator('tr', { hasText: 'gone' }).innerText();
    await page.context().close();
    return (gone.includes('off') && gone.includes('nothing')) || gone;
});
await trial('boxes of a graph stand below what leads to them, and none on another', async () => {
    const { layOut } = await import(`${web}layout.js`), boxes = Array.from({ length: 60 }, () => ({ width: 150, height: 40 })), edges = [];
    for (let i = 1; i < 60; i++) edges.push({ from: i - 1, to: i }, ...(i % 4 ? [] : [{ from: i, to: i - 3 }, { from: 0, to: i }]), ...(i % 9 ? [] : [{ from: i, to: i }]));
    layOut(boxes, edges);
    const up = edges.filter((one) => !one.back && one.from !== one.to && boxes[one.to].y <= boxes[one.from].y);
    const upon = boxes.some((a, i) => boxes.some((b, j) => i < j && Math.abs(a.x - b.x) < 150 && Math.abs(a.y - b.y) < 40));
    return (up.length === 0 && !upon) || `${up.length} lead up, ${upon}`;
});

// ---- the stream ----

await trial('ten tabs have one stream, and another tab goes on with it', async () => {
    const context = await browser.newContext(), pages = [];
    for (let i = 0; i < 10; i++) pages.push(await open('runs', { context }));
    const streams = async () => Number(/^tfy_sse_subscribers (\d+)$/m.exec(await (await fetch(`${base}/metrics`)).text())[1]);
    const one = await until(async () => (await streams()) === 1);
    await pages[0].close();
    await pages[1].waitForTimeout(500);
    await start('pair', { n: 1 });
    await pages[9].waitForSelector('button.fresh');
    await context.close();
    return one || `${await streams()} streams`;
});

// ---- versions ----

await trial('an older version with runs is shown, and its runs are moved', async () => {
    const waiting = await fetch(`${base}/v1/programs/shop/workflows/order/runs`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"args":{"customer":"bob","articles":[]}}' }).then((one) => one.json());
    await until(async () => (await api(`/v1/runs/${waiting.id}`)).attention === 'question');
    const text = readFileSync('shop.tfy', 'utf8').replace('charged ', 'paid by ');
    const deployed = await api('/v1/programs/shop', { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ files: [{ path: 'shop.tfy', text }] }) });
    if (!deployed.version) return JSON.stringify(deployed);
    const page = await open('programs');
    await shows(page, 'not ended');
    await page.click('.versions button');
    await shows(page, 'moved');
    const moved = await api(`/v1/runs/${waiting.id}`);
    await page.context().close();
    return moved.version === deployed.version || JSON.stringify(moved);
});

// ---- words, files ----

await trial('each text is there in both languages', () => {
    const [en, de] = ['en', 'de'].map((name) => JSON.parse(readFileSync(`${web}lang/${name}.json`, 'utf8')));
    const used = new Set();
    for (const name of readdirSync(web, { recursive: true }).filter((one) => /^(views\/)?[a-z]+\.js$/.test(one)))
        for (const [, key] of readFileSync(web + name, 'utf8').matchAll(/\bt\('([\w.]+)'/g)) used.add(key);
    const missing = [...used].filter((key) => !(key in en)), different = Object.keys({ ...en, ...de }).filter((key) => !(key in en) || !(key in de));
    return (missing.length === 0 && different.length === 0) || `not there: ${missing}; in one only: ${different}`;
});
await trial('in German', async () => {
    const page = await open('runs', { locale: 'de-DE', width: 1024 });
    await shows(page, 'Läufe');
    const cut = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), lang = await page.evaluate(() => document.documentElement.lang);
    await page.context().close();
    return (cut <= 0 && lang === 'de') || `${cut} ${lang}`;
});
await trial('in a language of longer words nothing is cut', async () => {
    const accents = { a: 'å', e: 'é', i: 'î', o: 'ö', u: 'ü', n: 'ñ', s: 'š', c: 'ç' };
    const longer = (text) => `[${text.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? part : part.replace(/[aeiounsc]/g, (one) => accents[one]))).join('')} ${'ôüé '.repeat(Math.ceil(text.length / 10))}]`;
    const page = await open('programs', { width: 320 }), cut = [];
    const texts = Object.fromEntries(Object.entries(JSON.parse(readFileSync(`${web}lang/en.json`, 'utf8'))).map(([key, text]) => [key, longer(text)]));
    await page.route('**/web/lang/en.json', (asks) => asks.fulfill({ contentType: 'application/json', body: JSON.stringify(texts) }));
    await page.reload();
    await shows(page, '[Prögråmš');
    for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const [name, hash] of Object.entries(screens)) {
            await page.evaluate((to) => { location.hash = `#/${to}`; }, hash);
            await page.waitForTimeout(100);
            await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('.skeleton'), null, { timeout: 60000 });
            const more = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            if (more > 0) cut.push(`${name} at ${width}: ${more} px`);
        }
    }
    await page.context().close();
    return cut.length === 0 || cut.join('; ');
});
await trial('all files together have at most 120 kB', () => {
    const bytes = readdirSync(web, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
        .reduce((sum, one) => sum + gzipSync(readFileSync(`${one.parentPath || one.path}/${one.name}`), { level: 9 }).length, 0);
    return bytes <= 120000 || bytes;
});
await trial('all modules are asked for at once, and none besides', () => {
    const named = [...readFileSync(`${web}index.html`, 'utf8').matchAll(/(?:href|src)="\/web\/([\w/]+\.js)"/g)].map(([, name]) => name).sort();
    const there = readdirSync(web, { recursive: true }).filter((one) => one.endsWith('.js')).sort();
    return named.join() === there.join() || `${named} and not ${there}`;
});
await trial('what others wrote is as they published it', () =>
    readFileSync(`${web}vendor/preact.js`).equals(readFileSync(`${modules}/htm/preact/standalone.module.js`)) || 'vendor/preact.js differs from htm/preact/standalone.module.js');
check('the browser complains about nothing', complaints.filter((one) => !/404|409|422|status of 500/.test(one)).length === 0, complaints.join('\n'));
check('the relay was asked', relay.asked() > 100);

await browser.close();
relay.close();
