// validate.mjs DOCUMENT ANSWERS: compares each answer with what the document says of its route and status, and says which
// operations were not asked.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const Ajv = require("ajv/dist/2020").default;
const formats = require("ajv-formats").default;
const [, , file, answers] = process.argv;
const api = JSON.parse(readFileSync(file, "utf8"));
const ajv = new Ajv({ strict: false, validateSchema: false, allErrors: true });
formats(ajv);
// Members that the document does not have are found, too: every object of it is taken as closed. A run is open, for a workflow's
// has its result besides; a problem has what its kind needs.
const close = schema => {
    if (typeof schema !== "object" || schema === null) return;
    if (schema.properties && schema.additionalProperties === undefined) schema.additionalProperties = false;
    Object.values(schema).forEach(close);
};
for (const [name, schema] of Object.entries(api.components.schemas)) if (!name.includes(".") && !["Run", "Problem"].includes(name)) close(schema);
ajv.addSchema(api, "api");

const pointer = parts => "api#" + parts.map(part => "/" + encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("");
const fits = (pattern, path) => {
    const [a, b] = [pattern.split("/"), path.split("/")];
    return a.length === b.length && a.every((part, i) => part.startsWith("{") || part === b[i]);
};
const patterns = Object.keys(api.paths).sort((a, b) => a.split("{").length - b.split("{").length);
const compiled = new Map();
const validator = ref => {
    if (!compiled.has(ref)) compiled.set(ref, ajv.compile({ $ref: ref }));
    return compiled.get(ref);
};
// A step is in doubt, and a session needs TCP, only in other tests.
const elsewhere = new Set(["resolve", "enter", "leave"]);
const seen = new Map();
let wrong = 0;
const complain = (...what) => { if (wrong++ < 10) console.log(...what); };

for (const line of readFileSync(answers, "utf8").trim().split("\n")) {
    const answer = JSON.parse(line);
    const path = patterns.find(pattern => fits(pattern, answer.path) && api.paths[pattern][answer.method.toLowerCase()]);
    const status = String(answer.status);
    if (!path) {
        if (status !== "405") complain(answer.method, answer.path, "is not in the document");
        continue;
    }
    const method = answer.method.toLowerCase(), { operationId, responses } = api.paths[path][method];
    seen.set(operationId, (seen.get(operationId) ?? "") + status[0]);
    const named = [status, status[0] + "XX"].find(name => responses[name]);
    if (!named) { complain(operationId, "answered", status, "which the document does not have"); continue; }
    const type = answer.type.split(";")[0];
    if (!responses[named].content?.[type]) { complain(operationId, status, "is of type", type); continue; }
    if (!type.endsWith("json")) continue;
    const check = validator(pointer(["paths", path, method, "responses", named, "content", type, "schema"]));
    if (!check(JSON.parse(answer.body))) complain(operationId, status, JSON.stringify(check.errors.slice(0, 3)), answer.body.slice(0, 400));
}
for (const path of patterns)
    for (const { operationId } of Object.values(api.paths[path])) {
        const had = seen.get(operationId) ?? "";
        if (!operationId.startsWith("start") && !elsewhere.has(operationId) && !had.includes("2")) complain(operationId, "was never answered well");
        if (!path.startsWith("/v1/programs/desk/") && !elsewhere.has(operationId) && operationId !== "start_shop_nothing" && operationId !== "start" && !/[45]/.test(had) && !["health", "ready", "metrics", "openapi", "me"].includes(operationId))
            complain(operationId, "was never refused");
    }
process.exit(wrong ? 1 : 0);
