// publish_otlp.mjs SENT MODULES: reads what arrived with the published protobuf definitions. Each request must come out of its
// binary form as it went in: a member that they do not have, or a value of another type, would be missing or different.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [, , sent, modules] = process.argv;
const root = createRequire(import.meta.url)(`${modules}/@opentelemetry/otlp-transformer/build/src/generated/root.js`);
const collector = root.opentelemetry.proto.collector;
const types = {
    traces: collector.trace.v1.ExportTraceServiceRequest,
    metrics: collector.metrics.v1.ExportMetricsServiceRequest,
    logs: collector.logs.v1.ExportLogsServiceRequest,
};
// Younger than these definitions; readers pass over what they do not know.
const younger = ["eventName"];
// Ids are hexadecimal in OTLP/JSON, where other JSON of protobuf has base64.
const base64 = (name, value) => ["traceId", "spanId", "parentSpanId"].includes(name) ? Buffer.from(value, "hex").toString("base64") : value;
const ready = (value, name) =>
    Array.isArray(value) ? value.map(one => ready(one)) :
    value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, ready(one, key)])) :
    base64(name, value);
const same = (a, b, path) => {
    if (a && typeof a === "object") {
        if (!b || typeof b !== "object") throw new Error(`${path}: it is lost`);
        for (const key of Object.keys(a).filter(key => !younger.includes(key))) same(a[key], b[key], `${path}.${key}`);
    } else if (String(a) !== String(b)) throw new Error(`${path}: ${a} became ${b}`);
};
let count = 0;
for (const line of readFileSync(sent, "utf8").trim().split("\n")) {
    const got = JSON.parse(line), type = types[got.path.split("/").pop()];
    if (!type || got.status !== 200) continue;
    const body = ready(JSON.parse(got.body)), object = type.fromObject(body);
    const back = type.toObject(type.decode(type.encode(object).finish()), { longs: String, bytes: String, defaults: true });
    same(body, back, got.path);
    count++;
}
console.log(count, "requests are read");
process.exit(count > 6 ? 0 : 1);
