// aimock.js: an endpoint of models, by aimock, a mock that others wrote. It speaks what OpenAI and Anthropic speak,
// streamed or not, and does what a case below says. Which case it is, it knows by the user's message: "CASE: HOW.", where
// HOW tells the askers apart. Prints its address; GET /__aimock/journal has what it was asked. Ends when its input does.
"use strict";
const { LLMock } = require("@copilotkit/aimock");

const report = { summary: "done", files: ["a"] };
const call = (name, args) => ({ name, arguments: JSON.stringify(args) });
const error = (status, more) => ({ status, error: { message: "not now", type: "server_error" }, ...more });
const hello = { content: "hello" };

// What it answers, in this order, to each asker; the last answer again and again. `at` is the answer's place in a
// conversation, for those that have several.
const cases = (how) => ({
    say: [{ response: hello }],
    typed: [{ response: { content: JSON.stringify(report) } }],
    thinks: [{ response: { content: "hello", reasoning: "They greet me." } }],
    counts: [{ response: { content: "hello", usage: { prompt_tokens: 70, completion_tokens: 7, input_tokens: 70, output_tokens: 7 } } }],
    agent: [
        { at: 0, response: { content: "I try.", toolCalls: [call("double", { n: 21 }), call("note", { word: `one ${how}` })] } },
        { at: 1, response: error(500) },
        { at: 1, response: { toolCalls: [call("bogus", {}), call("double", { m: 1 }), call("note", { word: `two ${how}` })], reasoning: "Hm." } },
        { at: 2, response: { toolCalls: [call("answer", { value: report })] } },
    ],
    slow: [{ response: hello, latency: 100, chaos: { latencyMs: 700 } }],
    busy: [{ response: error(429, { retryAfter: 1 }) }, { response: hello }],
    broken: [{ response: error(500) }, { response: error(503) }, { response: hello }],
    dead: [{ response: error(500) }],
    refuses: [{ response: error(400) }],
    garbled: [{ response: hello, chaos: { malformedRate: 1 } }],
    drops: [{ response: hello, chaos: { disconnectRate: 1 } }, { response: hello }],
    falls: [{ response: hello, chaos: { disconnectRate: 1 } }],
    cut: [{ response: { content: "hello, this is a long answer" }, chunkSize: 4, truncateAfterChunks: 3 }, { response: hello }],
    dies: [{ response: { content: "hello, this is a long answer" }, chunkSize: 4, truncateAfterChunks: 3 }],
    long: [{ response: { content: "hel", finishReason: "length" } }],
    filtered: [{ response: { content: "", finishReason: "content_filter" } }],
});

// How often a conversation was answered: neighbours of the assistant are one answer, whatever the api makes of them.
const answered = (messages) => messages.filter((m, i) => m.role === "assistant" && messages[i - 1].role !== "assistant").length;
const places = [0, 1, 2].map((at) => (request) => answered(request.messages) === at);

function fixturesOf(name, how, answers) {
    const counts = {};
    const many = answers.map((one) => (counts[one.at] = (counts[one.at] ?? 0) + 1));
    return answers.map(({ at, ...one }, i) => {
        const match = { userMessage: `${name}: ${how}.` };
        if (at !== undefined) match.predicate = places[at];
        if (many[i] < counts[at]) match.sequenceIndex = many[i] - 1;
        return { match, chunkSize: 8, ...one };
    });
}

async function main() {
    const mock = new LLMock({ port: 0, host: "127.0.0.1", journalMaxEntries: 0 });
    for (const how of process.argv.slice(2))
        for (const [name, answers] of Object.entries(cases(how))) mock.addFixtures(fixturesOf(name, how, answers));
    await mock.start();
    console.log(mock.url);
    process.stdin.on("end", () => mock.stop().then(() => process.exit(0))).resume();
}
main();
