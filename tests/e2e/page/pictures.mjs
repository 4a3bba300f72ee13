// pictures.mjs: a picture of every screen of the page, light and dark: pictures.mjs ADDRESS MODULES DIRECTORY [NAMES]. ADDRESS logs a browser in.
// It prints "ok NAME" and "not ok NAME" lines.
import { createRequire } from 'node:module';
import { mkdirSync, statSync } from 'node:fs';

const [address, modules, directory, only] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const base = address.split('/#')[0];
mkdirSync(directory, { recursive: true });

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const looks = { viewport: { width: 1040, height: 560 }, locale: 'en-US', timezoneId: 'UTC' };
const entrance = await browser.newContext(looks);
const first = await entrance.newPage();
await first.goto(address);
await first.waitForSelector('main h1, main .head');
const storageState = await entrance.storageState();

const api = (path) => first.evaluate(async (where) => (await fetch(where)).json(), path);
async function until(what, ms = 30000) {
    for (const end = Date.now() + ms; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
        const found = await what();
        if (found) return found;
    }
    return null;
}
const newest = (query) => until(async () => (await api(`/v1/runs?limit=1&${query}`)).runs[0]);
const failed = await newest('program=supervisor&state=failed');
const whole = await newest('program=supervisor&workflow=main&state=completed');
const asking = await newest('program=approval_chain&attention=question');
const others = (await api('/v1/runs?program=supervisor&workflow=main')).runs;

const screens = {
    runs: ['runs', 'table'],
    run: [`run/${whole.id}`, 'canvas'],
    steps: [`run/${failed.id}?tab=steps`, '.steps'],
    travel: [`run/${asking.id}?tab=travel&at=record-2`, 'main pre, main table'],
    machine: ['machine/supervisor', 'svg'],
    inbox: ['inbox', 'main button'],
    programs: ['programs', 'form, main button'],
    compare: [`compare?a=${others[0].id}&b=${others[1].id}`, 'main table, main ol'],
    schedules: ['schedules', 'main table'],
    overview: ['overview', 'svg, main table'],
};

for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ ...looks, colorScheme, storageState });
    for (const [name, [hash, sign]] of Object.entries(screens)) {
        if (only && !only.split(',').includes(name)) continue;
        const page = await context.newPage();
        const path = `${directory}/${name}-${colorScheme}.png`;
        let good = false, why = '';
        try {
            await page.goto(`${base}/#/${hash}`);
            await page.waitForSelector(sign, { timeout: 30000 });
            await page.waitForTimeout(700);
            await page.screenshot({ path });
            const bytes = statSync(path).size;
            good = bytes > 4000 && bytes <= 100000;
            why = `${bytes} bytes`;
        } catch (error) {
            why = error.message;
        }
        console.log(`${good ? 'ok' : 'not ok'} a picture of ${name}, ${colorScheme}`);
        if (!good) console.log(`    ${why.slice(0, 500)}`);
        await page.close();
    }
    await context.close();
}
await browser.close();
