// cross.mjs: what a page of somebody else's can do to a browser that is logged in: cross.mjs ADDRESS-WITH-A-CODE SOCKET MODULES. It prints "ok NAME"
// and "not ok NAME" lines. The other page is at another port of this machine, to which the browser sends our cookie as well, and at another name.
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';

const [address, socketPath, modules] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const ours = new URL(address).origin, start = `${ours}/v1/programs/shop/workflows/order/runs`;

function check(name, good, why = '') {
    console.log(`${good ? 'ok' : 'not ok'} ${name}`);
    if (!good) console.log(`    ${String(why).slice(0, 600)}`);
}
/** The number of runs, by the server's own socket, from record `after` on: lists follow the log. */
const runs = (after) => new Promise((done, fail) => {
    request({ socketPath, path: '/v1/runs?limit=200', headers: { 'Tfy-After': after } }, async (answer) => {
        let text = '';
        for await (const piece of answer) text += piece;
        done(JSON.parse(text).runs.length);
    }).on('error', fail).end();
});

// ---- the other page ----

let came = 0;
const evil = createServer((from, to) => {
    came++;
    to.writeHead(200, { 'Content-Type': 'text/html' });
    to.end('<!doctype html><title>prizes</title><body>');
});
await new Promise((done) => evil.listen(0, '127.0.0.1', done));
const port = evil.address().port;

/** In the other page: tries everything, and says what it got to see. */
async function attack({ ours, start }) {
    const body = '{"args":{"n":1}}', seen = [];
    const tries = async (name, what) => {
        try {
            const got = await what();
            if (got) seen.push(`${name}: ${got}`);
        } catch { /* it was kept from it */ }
    };
    const read = async (answer) => (answer.type === 'opaque' ? '' : `${answer.status} ${(await answer.text()).slice(0, 80)}`);
    await tries('a plain post', async () => read(await fetch(start, { method: 'POST', mode: 'no-cors', credentials: 'include', body })));
    await tries('a post of JSON', async () => read(await fetch(start, {
        method: 'POST', credentials: 'include', body, headers: { 'Content-Type': 'application/json', 'Tfy-Request': '1' } })));
    await tries('a beacon', async () => void navigator.sendBeacon(start, new Blob([body], { type: 'text/plain' })));
    await tries('a list', async () => read(await fetch(`${ours}/v1/runs`, { credentials: 'include' })));
    await tries('a list as an image', () => new Promise((done) => {
        const image = new Image();
        image.onload = () => done('it was shown');
        image.onerror = () => done('');
        image.src = `${ours}/web/icon.svg`;
    }));
    await tries('the document as a script', () => new Promise((done) => {
        const script = document.createElement('script');
        script.onload = () => done('it was run');
        script.onerror = () => done('');
        script.src = `${ours}/openapi.json`;
        document.body.append(script);
    }));
    await tries('the events', () => new Promise((done) => {
        const events = new EventSource(`${ours}/v1/events?after=0`, { withCredentials: true });
        events.onopen = () => done('it listens');
        events.onerror = () => done('');
    }));
    await tries('a form', () => new Promise((done) => {
        const frame = document.createElement('iframe'), form = document.createElement('form'), field = document.createElement('input');
        frame.name = 'sink';
        frame.onload = () => setTimeout(() => done(''), 300);
        Object.assign(form, { method: 'post', enctype: 'text/plain', action: start, target: 'sink' });
        Object.assign(field, { name: '{"args":{"n":1},"x":"', value: '"}' });
        form.append(field);
        document.body.append(frame, form);
        form.submit();
    }));
    return seen;
}

// ---- in the browser ----

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP rebound.example 127.0.0.1'] });
const context = await browser.newContext(), page = await context.newPage();
await page.goto(address);
await page.waitForSelector('main h1');
/** Starts a run, as our page does: its status, and the number of the run's first record. */
const starts = () => page.evaluate(async (to) => {
    const answer = await fetch(to, { method: 'POST', body: '{"args":{"n":1}}', headers: { 'Content-Type': 'application/json', 'Tfy-Request': '1' } });
    return [answer.status, Number(answer.headers.get('Tfy-Lsn'))];
}, start);
let started = 1;
const [own, lsn] = await starts();
check('our own page starts a run with the cookie', own === 201 && await runs(lsn) === 1, own);

for (const host of ['127.0.0.1', 'localhost']) {
    const other = await context.newPage();
    await other.goto(`http://${host}:${port}/`);
    const seen = await other.evaluate(attack, { ours, start });
    check(`a page at ${host} reads nothing`, seen.length === 0, seen.join('; '));
    const [, after] = await starts(); // what the other page had started would be in the list before this
    check(`a page at ${host} starts nothing`, await runs(after) === ++started, await runs(after));
    await other.setContent(`<iframe src="${ours}/"></iframe>`);
    await other.waitForTimeout(500);
    const inside = other.frames().find((one) => one !== other.mainFrame());
    check(`a page at ${host} shows ours in no frame`, await inside.evaluate(() => !document.querySelector('main, #app')).catch(() => true));
    const [opened] = await Promise.all([context.waitForEvent('page'), other.evaluate((to) => { globalThis.opened = open(to); }, `${ours}/`)]);
    await opened.waitForSelector('main h1').catch(() => null);
    check(`a page at ${host} has no hold of a window of ours`, await other.evaluate(() => globalThis.opened === null || globalThis.opened.closed));
    await opened.close();
    await other.close();
}
const rebound = await context.newPage(), name = new URL(ours).port;
for (const path of ['/', '/v1/runs']) {
    const answer = await rebound.goto(`http://rebound.example:${name}${path}`);
    check(`a name that leads here is not ours: ${path}`, answer.status() === 421, answer.status());
}
check('the other page was there', came >= 2, came);
await browser.close();
evil.close();
