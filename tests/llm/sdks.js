// sdks.js API TFY whole|streamed: has the SDK of a provider and a program of ours lead one conversation with one mock, and compares what
// they sent, field by field. A field that differs is a failure unless the table of its api says why it may; so is a line
// of the table that nothing needs any more. Run in a scratch directory with sdks.tfy in it.
"use strict";
const http = require("node:http"), fs = require("node:fs"), { spawn } = require("node:child_process");
const { LLMock } = require("@copilotkit/aimock");
const OpenAI = require("openai"), Anthropic = require("@anthropic-ai/sdk");

// ---- the conversation ----

const system = "You help.", user = "Look it up.";
const report = { summary: "done", files: ["a"] };
const tools = [
    {
        name: "double",
        description: "Twice as much.",
        parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false },
        run: ({ n }) => String(2 * n),
    },
    {
        name: "find",
        description: "Finds a word.",
        parameters: {
            type: "object",
            properties: { word: { type: "string", description: "as it is written" }, limit: { type: "integer" } },
            required: ["word"],
            additionalProperties: false,
        },
        run: ({ word }) => `${word}: line 1`,
    },
];
const call = (id, name, args) => ({ id, name, arguments: JSON.stringify(args) });
const answers = [
    { content: "I try.", toolCalls: [call("call_a", "double", { n: 21 }), call("call_b", "find", { word: "é \"x\"\n" })] },
    { toolCalls: [call("call_c", "find", { word: "y", limit: 9 })] },
    { content: "It is 42." },
];
const answered = (messages) => messages.filter((m, i) => m.role === "assistant" && messages[i - 1].role !== "assistant").length;

// ---- what the SDKs do with it ----

const most = 8192;
const streaming = process.argv[4] === "streamed";
// What asks for a stream of chat completions that ends with the tokens.
const streamed = streaming ? { stream: true, stream_options: { include_usage: true } } : {};
// The response of a request, or the one at the end of a stream.
async function whole(response) {
    if (!streaming) return response;
    let last;
    for await (const event of response) last = event.response ?? last;
    return last;
}
const clients = {
    async chat(url) {
        const client = new OpenAI({ apiKey: "sesame-open", baseURL: `${url}/v1`, maxRetries: 0 });
        const runner = client.chat.completions.runTools({
            model: "some-1",
            max_tokens: most,
            ...streamed,
            messages: [{ role: "system", content: system }, { role: "user", content: user }],
            tools: tools.map(({ name, description, parameters, run }) => ({
                type: "function",
                function: { name, description, parameters, parse: JSON.parse, function: run },
            })),
        });
        await runner.done();
        await client.chat.completions.create({
            model: "some-1",
            ...streamed,
            messages: [{ role: "system", content: system }, { role: "user", content: user }],
            response_format: { type: "json_schema", json_schema: { name: "typed", schema } },
        });
    },
    async responses(url) {
        const client = new OpenAI({ apiKey: "sesame-open", baseURL: `${url}/v1`, maxRetries: 0 });
        const input = [{ role: "system", content: system }, { role: "user", content: user }];
        for (;;) {
            const response = await whole(await client.responses.create({
                model: "some-1",
                ...(streaming && { stream: true }),
                max_output_tokens: most,
                store: false,
                input,
                tools: tools.map(({ name, description, parameters }) => ({
                    type: "function", name, description, parameters, strict: false,
                })),
            }));
            input.push(...response.output);
            const calls = response.output.filter((item) => item.type === "function_call");
            if (!calls.length) break;
            for (const { call_id, name, arguments: args } of calls)
                input.push({ type: "function_call_output", call_id, output: tools.find((t) => t.name === name).run(JSON.parse(args)) });
        }
        await client.responses.create({
            model: "some-1",
            ...(streaming && { stream: true }),
            store: false,
            input: [{ role: "system", content: system }, { role: "user", content: user }],
            text: { format: { type: "json_schema", name: "typed", schema, strict: false } },
        });
    },
    async messages(url) {
        const client = new Anthropic({ apiKey: "sesame-open", baseURL: url, maxRetries: 0 });
        const messages = [{ role: "user", content: user }];
        const create = (request) => (streaming ? client.messages.stream(request).finalMessage() : client.messages.create(request));
        for (;;) {
            const message = await create({
                model: "some-1",
                max_tokens: most,
                system,
                messages,
                tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
            });
            messages.push({ role: "assistant", content: message.content });
            const calls = message.content.filter((part) => part.type === "tool_use");
            if (!calls.length) break;
            const results = calls.map(({ id, name, input }) => ({
                type: "tool_result", tool_use_id: id, content: tools.find((t) => t.name === name).run(input),
            }));
            messages.push({ role: "user", content: results });
        }
        await create({ model: "some-1", max_tokens: most, system, messages: [{ role: "user", content: user }] });
    },
};
const schema = {
    type: "object",
    properties: { summary: { type: "string" }, files: { type: "array", items: { type: "string" } } },
    required: ["summary", "files"],
    additionalProperties: false,
};

// ---- what may differ ----

// Each: where, as a pattern over paths such as messages.2.content; what we send and what the SDK sends, as predicates, of
// which undefined is nothing; and why it means the same.
const none = (value) => value === undefined;
const is = (wanted) => (value) => JSON.stringify(value) === JSON.stringify(wanted);
const text = (value) => typeof value === "string";
const allowed = {
    chat: [
        [/^stream$/, is(false), none, "it is what is meant without it", "whole"],
        [/^tool_choice$/, none, is("auto"), "it is what is meant without it"],
        [/^messages\.\d+\.content$/, is(""), is(null), "an answer of calls has no text"],
        [/^messages\.0\.content$/, text, is(system), "the schema is in the system text, too, for servers that know no other place", "typed"],
    ],
    responses: [
        [/^stream$/, is(false), none, "it is what is meant without it", "whole"],
        [/^input\.\d+\.(id|status)$/, none, text, "names of the endpoint's store, which is not used"],
        [/^input\.\d+\.type$/, none, is("message"), "it is what is meant without it"],
        [/^input\.0\.content$/, text, is(system), "the schema is in the system text, too, for servers that know no other place", "typed"],
    ],
    messages: [
        [/^header\.x-api-key$/, text, none, "where the key was in the first version of the api, and still may be"],
        [/^header\.authorization$/, none, text, "the same"],
        [/^header\.anthropic-version$/, is("2023-06-01"), text, "the first version, which is spoken everywhere"],
        [/cache_control\.type$/, is("ephemeral"), none, "the endpoint keeps what it has read to this place"],
        [/^system\.0\.text$/, text, is(system), "the schema is in the system text: this api has no other place", "typed"],
    ],
};

// The same in one form, where an api has several: a text is a list of one part, and arguments are a text of JSON.
const parsed = (args) => (typeof args === "string" ? JSON.parse(args) : args);
const forms = {
    chat(body) {
        for (const message of body.messages)
            for (const one of message.tool_calls ?? []) one.function.arguments = parsed(one.function.arguments);
        return body;
    },
    responses(body) {
        for (const item of body.input) {
            if (item.arguments !== undefined) item.arguments = parsed(item.arguments);
            if (Array.isArray(item.content) && item.content.length === 1 && item.content[0].type === "output_text")
                item.content = item.content[0].text;
        }
        return body;
    },
    messages(body) {
        const parts = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
        if (body.system) body.system = parts(body.system);
        for (const message of body.messages) message.content = parts(message.content);
        return body;
    },
};

function flat(value, path = "", to = {}) {
    const inner = value !== null && typeof value === "object" && Object.keys(value).length;
    if (!inner) to[path] = value;
    else for (const key in value) flat(value[key], path ? `${path}.${key}` : key, to);
    return to;
}

// Headers that mean something to the endpoint.
const headersOf = (all) =>
    Object.fromEntries(["authorization", "x-api-key", "anthropic-version", "content-type"].map((name) => [name, all[name]]));

const used = new Set();
function compare(api, round, kind, ours, theirs) {
    const [a, b] = [ours, theirs].map(({ path, headers, body }) => flat({ path, header: headersOf(headers), ...forms[api](body) }));
    let wrong = 0;
    for (const path of new Set([...Object.keys(a), ...Object.keys(b)])) {
        if (JSON.stringify(a[path]) === JSON.stringify(b[path])) continue;
        const line = allowed[api].find(([where, our, their, , only]) =>
            where.test(path) && our(a[path]) && their(b[path]) && [undefined, "whole", kind].includes(only));
        if (line) used.add(line);
        else console.log(`request ${round}: ${path}: ours ${JSON.stringify(a[path])}, theirs ${JSON.stringify(b[path])}`, ++wrong && "");
    }
    return wrong;
}

// ---- both of them ----

// Notes what is sent, and hands it on.
function recorder(target, bodies) {
    return http.createServer((request, response) => {
        const chunks = [];
        request.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
            const body = Buffer.concat(chunks), { headers, url: path } = request;
            bodies.push({ path, headers, body: JSON.parse(body) });
            const on = http.request(`${target}${path}`, { method: request.method, headers }, (answer) => {
                response.writeHead(answer.statusCode, answer.headers);
                answer.pipe(response);
            });
            on.end(body);
        });
    });
}

async function listen(server) {
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${server.address().port}`;
}

// The program runs beside this process, which answers it.
function runOurs(tfy, api, url) {
    fs.writeFileSync("models.json", JSON.stringify({ models: { default: { api, url, model: "some-1", key: "MODEL_KEY", stream: streaming } } }));
    const env = { ...process.env, TFY_SECRET_MODEL_KEY: "sesame-open", TFY_DB: `${api}.db`, no_proxy: "127.0.0.1" };
    const child = spawn(tfy, ["run", "sdks.tfy", "--models", "models.json", "--goal", user], { env, stdio: ["ignore", "ignore", "inherit"] });
    return new Promise((done) => child.on("exit", done));
}

async function main(api, tfy) {
    if (streaming) allowed[api] = allowed[api].filter((line) => line[4] !== "whole");
    const mock = new LLMock({ port: 0, host: "127.0.0.1" });
    answers.forEach((response, at) => mock.on({ predicate: (request) => (request.tools ?? []).length && answered(request.messages) === at }, response));
    mock.on({}, { content: JSON.stringify(report) });
    await mock.start();
    const ours = [], theirs = [], ourServer = recorder(mock.url, ours), theirServer = recorder(mock.url, theirs);
    await clients[api](await listen(theirServer));
    const status = await runOurs(tfy, api, await listen(ourServer));
    let wrong = status === 0 && ours.length === theirs.length && ours.length === answers.length + 1 ? 0 : 1;
    if (wrong) console.log(`ended with ${status} after ${ours.length} requests; the SDK sent ${theirs.length}`);
    for (let i = 0; i < Math.min(ours.length, theirs.length); i++)
        wrong += compare(api, i + 1, i < answers.length ? "agent" : "typed", ours[i], theirs[i]);
    for (const line of allowed[api])
        if (!used.has(line)) console.log(`nothing needs: ${line[0]} (${line[3]})`, ++wrong && "");
    process.exit(wrong ? 1 : 0);
}
main(...process.argv.slice(2));
