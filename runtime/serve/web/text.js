// text.js: the words of the page in the reader's language, and times, durations and numbers as that language writes them.

const languages = ['en', 'de'];
let words = {};
export let language = 'en';

/** @returns {string} the language to begin with: what was chosen before, else the browser's */
function preferred() {
    const chosen = localStorage.getItem('tfy-language');
    const wanted = chosen ? [chosen] : navigator.languages || ['en'];
    for (const one of wanted) {
        const short = one.slice(0, 2).toLowerCase();
        if (languages.includes(short)) return short;
    }
    return 'en';
}

/** Loads the words; English ones stand for those that a language lacks. */
export async function loadTexts(name = preferred()) {
    const load = async (which) => (await fetch(`/web/lang/${which}.json`)).json();
    const [english, own] = await Promise.all([load('en'), name === 'en' ? {} : load(name)]);
    words = { ...english, ...own };
    language = name;
    document.documentElement.lang = name;
}

export async function chooseLanguage(name) {
    localStorage.setItem('tfy-language', name);
    await loadTexts(name);
}

/** The text of a key; {name} in it becomes the value of that name. A key with .one is for a count of 1. */
export function t(key, values = {}) {
    const text = (values.n === 1 && words[`${key}.one`]) || words[key] || key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export function number(value, digits = 0) {
    return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** 4_100 as "4.1k". */
export function short(value) {
    return new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function money(value) {
    return value === null || value === undefined ? '' :
        new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', maximumFractionDigits: value < 1 ? 4 : 2 }).format(value);
}

export function isUtc() {
    return localStorage.getItem('tfy-utc') === '1';
}

export function setUtc(utc) {
    localStorage.setItem('tfy-utc', utc ? '1' : '0');
}

/** A time as people read it: the hour alone when it is of today. */
export function time(iso) {
    if (!iso) return '';
    const at = new Date(iso), zone = isUtc() ? { timeZone: 'UTC' } : {};
    const day = { year: 'numeric', month: 'short', day: 'numeric', ...zone };
    const of = (date) => new Intl.DateTimeFormat(language, day).format(date);
    const hour = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', second: '2-digit', ...zone }).format(at);
    return of(at) === of(new Date()) ? hour : `${of(at)} ${hour}`;
}

/** Milliseconds as "1.2 s", "3 m 10 s", "2 h 5 m", "3 d 4 h". */
export function duration(ms) {
    if (ms === null || ms === undefined || Number.isNaN(ms)) return '';
    if (ms < 1000) return `${number(ms)} ms`;
    if (ms < 60000) return `${number(ms / 1000, 1)} s`;
    const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
    if (h < 1) return `${m} m ${s % 60} s`;
    return d < 1 ? `${h} h ${m % 60} m` : `${d} d ${h % 24} h`;
}

/** The start of a run's id, as much as people tell runs apart by. */
export function shortId(id) {
    return id.slice(0, 13);
}

/** What escapes of terminals, and marks that turn the direction of text, would do to a page. */
export function plain(text) {
    // eslint-disable-next-line no-control-regex
    return String(text).replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g, '')
        .replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}
