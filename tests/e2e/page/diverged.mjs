// diverged.mjs: a run that is set aside, in the page of tfy serve: diverged.mjs SOCKET MODULES RUN OTHER. The run is ended there; the other one, which is
// set aside, too, is left. It prints "ok NAME" and "not ok NAME" lines.
import { createRequire } from 'node:module';
import { openRelay } from './relay.mjs';

const [socketPath, modules, run, other] = process.argv.slice(2);
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
page.setDefaultTimeout(60000);
const shows = (text) => page.waitForFunction((wanted) => document.body.innerText.includes(wanted), text);
const stateOf = async (id) => (await fetch(`${relay.base}/v1/runs/${id}`)).json();

await trial('the page lists both runs that are set aside', async () => {
    await page.goto(`${relay.base}/#/runs?attention=diverged`);
    await page.waitForSelector(`a[href*="${run}"]`);
    await page.waitForSelector(`a[href*="${other}"]`);
});
await trial('... shows where one differs from its log', async () => {
    await page.goto(`${relay.base}/#/run/${run}`);
    await shows('differs from its log. recorded: record');
});
await trial('... asks in other words before it ends it, and leaves it when the answer is no', async () => {
    await page.click('button:text-is("Cancel run")');
    await shows('Its cleanup does not run; what it did stays done.');
    await page.click('dialog button:text-is("Cancel")');
    await page.waitForSelector('dialog', { state: 'detached' });
    if ((await stateOf(run)).state !== 'running') throw new Error('it was ended without a yes');
});
await trial('... ends it by force when the answer is yes', async () => {
    await page.click('button:text-is("Cancel run")');
    await page.click('dialog button.primary:text-is("End run")');
    await page.waitForSelector('.badge.cancelled');
    const { state, attention } = await stateOf(run);
    if (state !== 'cancelled' || attention) throw new Error(`it is ${state}, ${attention}`);
});
await trial('... and leaves the other one', async () => {
    const { state, attention } = await stateOf(other);
    if (state !== 'running' || attention !== 'diverged') throw new Error(`it is ${state}, ${attention}`);
});

await browser.close();
relay.close();
