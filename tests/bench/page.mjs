// page.mjs: the page of tfy serve in Chromium, in figures: page.mjs SOCKET RUN MODULES, with a run of 100,000 steps. It prints lines as
// bench_report does: how soon it is painted, and what a long run costs the browser.
import { createRequire } from 'node:module';
import { openRelay } from '../e2e/page/relay.mjs';

const [socketPath, run, modules] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const relay = await openRelay(socketPath), ROUNDS = 9;
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });

const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];
const report = (name, measured, most) => console.log(`${name}\t${measured.toFixed(2)}\t<= ${most.toFixed(2)}\t${measured <= most ? 'ok' : 'short'}`);

/** A page that no other one has warmed: nothing is cached. */
async function open(hash) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } }), page = await context.newPage();
    page.setDefaultTimeout(60000);
    await page.goto(`${relay.base}/#/${hash}`);
    return page;
}

/** Milliseconds from the start of loading until something is painted. */
async function firstPaint() {
    const page = await open('runs');
    await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length);
    const ms = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    await page.context().close();
    return ms;
}

/** … until the timeline is there, drawn, and the page answers. */
async function usable() {
    const page = await open(`run/${run}`);
    const ms = await page.evaluate(() => new Promise((done) => {
        const look = () => (document.querySelector('canvas') ? requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)) : setTimeout(look, 5));
        look();
    }));
    await page.context().close();
    return ms;
}

/** Milliseconds that the timeline takes to be drawn, whole and a hundredth of it, with its pixels. */
function redraw(page) {
    return page.evaluate(async ({ run, rounds }) => {
        const { prepare, draw } = await import('/web/views/timeline.js');
        const data = prepare(await (await fetch(`/v1/runs/${run}/timeline`)).json()), canvas = document.querySelector('canvas');
        const time = (view) => Array.from({ length: rounds }, () => {
            const begun = performance.now();
            draw(canvas, data, view, 0, -1);
            canvas.getContext('2d').getImageData(0, 0, 1, 1);
            return performance.now() - begun;
        });
        return { steps: data.order.length, whole: time({ from: 0, to: data.whole }), zoomed: time({ from: data.whole * 0.5, to: data.whole * 0.51 }) };
    }, { run, rounds: ROUNDS });
}

/** The longest frame while the list of steps is scrolled from end to end. */
function scroll(page) {
    return page.evaluate(() => new Promise((done) => {
        const box = document.querySelector('.steps-box'), frames = 180;
        let last = 0, longest = 0, count = 0;
        const step = (now) => {
            if (count > 1) longest = Math.max(longest, now - last);
            last = now;
            box.scrollTop = (box.scrollHeight - box.clientHeight) * count / frames;
            if (count++ < frames) requestAnimationFrame(step);
            else done(longest);
        };
        requestAnimationFrame(step);
    }));
}

const times = async (what) => {
    const all = [];
    for (let i = 0; i < ROUNDS; i++) all.push(await what());
    return median(all);
};
report('first paint of the page, in ms', await times(firstPaint), 200);
report('a run of 100,000 steps in the page: usable, in s', await times(usable) / 1000, 1.5);
const timeline = await open(`run/${run}`);
await timeline.waitForSelector('canvas');
const { steps, whole, zoomed } = await redraw(timeline);
if (steps < 100000) throw new Error(`the run has ${steps} steps`);
report('... its timeline drawn whole, in ms', median(whole), 50);
report('... a hundredth of it, in ms', median(zoomed), 16);
await timeline.context().close();
const list = await open(`run/${run}?tab=steps`);
await list.waitForSelector('.steps-box .step');
const longest = [];
for (let i = 0; i < 3; i++) longest.push(await scroll(list));
report('... its list of steps scrolled: the longest frame, in ms', median(longest), 50);
await browser.close();
relay.close();
