// cluster.mjs: the page of tfy serve over PostgreSQL: cluster.mjs SOCKET MODULES RUN WORKER. The run is one that asks a question, and the worker one that is
// there. It prints "ok NAME" and "not ok NAME" lines.
import { createRequire } from 'node:module';
import { openRelay } from './relay.mjs';

const [socketPath, modules, run, worker] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const relay = await openRelay(socketPath);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });

async function trial(name, what) {
    try {
        await what();
        console.log(`ok ${name}`);
    } catch (error) {
        console.log(`not ok ${name}\n    ${String(error.stack).slice(0, 600)}`);
    }
}

const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
page.setDefaultTimeout(30000);
const errors = [];
page.on('pageerror', (error) => errors.push(String(error)));
const shows = (text) => page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text);

await trial('the page lists runs of a shared database, without words to search for', async () => {
    await page.goto(`${relay.base}/#/runs`);
    await page.waitForSelector(`a[href*="${run}"]`);
    if (await page.$('#filter-q')) throw new Error('it has a field for words');
});
await trial('... has a screen of workers in place of what a file alone has', async () => {
    if (await page.$('nav a[href="#/overview"], nav a[href="#/schedules"]')) throw new Error('it links to them');
    await page.click('nav a[href="#/cluster"]');
    await page.waitForSelector(`#workers bdi:text-is("${worker}")`);
});
await trial('... shows its queues', async () => {
    const text = await page.innerText('#queues');
    if (!/default\s+shop/.test(text)) throw new Error(text);
});
await trial('... leaves a column out that nothing is in', async () => {
    const heads = await page.$$eval('#workers th', (all) => all.map((one) => one.textContent));
    if (heads.includes('Place') || !heads.includes('Silent for')) throw new Error(heads.join(', '));
});
await trial('... shows a run, with its steps', async () => {
    await page.goto(`${relay.base}/#/run/${run}`);
    await shows('asks a question');
});
await trial('... and the question', async () => {
    await page.goto(`${relay.base}/#/inbox`);
    await shows('Charge ann');
});
await trial('... without an error of its own', async () => {
    if (errors.length) throw new Error(errors.join('\n'));
});

if (process.env.PICTURE) {
    await page.goto(`${relay.base}/#/cluster`);
    await page.waitForSelector('#queues');
    await page.screenshot({ path: process.env.PICTURE, fullPage: true });
}
await browser.close();
relay.close();
