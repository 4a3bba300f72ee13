// client.js: a client of the Language Server Protocol over the input and output of a process. It knows nothing of the
// editor.
'use strict';
const { spawn } = require('node:child_process');

const empty = Buffer.alloc(0);

class Client {
    // events: notification(method, params), log(text), closed(reason).
    constructor(command, args, options, events) {
        this.events = events;
        this.waiting = new Map(); // id of a request → what settles it
        this.lastId = 0;
        this.bytes = empty;
        this.open = true;
        this.process = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
        this.process.stdout.on('data', (bytes) => this.#take(bytes));
        this.process.stderr.on('data', (bytes) => events.log?.(bytes.toString()));
        this.process.stdin.on('error', () => {}); // 'close' says why
        this.process.on('error', (error) => this.#close(error.message));
        this.process.on('close', (status, signal) => this.#close(`the server ended with ${signal ?? status}`));
    }

    async initialize(params) {
        const answer = await this.request('initialize', params);
        this.notify('initialized', {});
        return answer;
    }

    // cancel: an object with onCancelled(function), or nothing.
    request(method, params, cancel) {
        if (!this.open) return Promise.reject(new Error('the server is not running'));
        const id = ++this.lastId;
        return new Promise((resolve, reject) => {
            this.waiting.set(id, { resolve, reject });
            this.#send({ jsonrpc: '2.0', id, method, params });
            cancel?.onCancelled(() => this.waiting.has(id) && this.notify('$/cancelRequest', { id }));
        });
    }

    notify(method, params) {
        if (this.open) this.#send({ jsonrpc: '2.0', method, params });
    }

    // The server gets two seconds to end in order.
    async stop() {
        if (!this.open) return;
        const ended = new Promise((resolve) => this.process.once('close', resolve));
        const killer = setTimeout(() => this.process.kill(), 2000);
        await this.request('shutdown').catch(() => {});
        this.notify('exit');
        await ended;
        clearTimeout(killer);
    }

    #send(message) {
        const body = Buffer.from(JSON.stringify(message));
        this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
        this.process.stdin.write(body);
    }

    // Messages arrive in pieces of any size.
    #take(bytes) {
        this.bytes = Buffer.concat([this.bytes, bytes]);
        for (;;) {
            const end = this.bytes.indexOf('\r\n\r\n');
            if (end < 0) return;
            const length = /^Content-Length: *(\d+)\s*$/im.exec(this.bytes.toString('latin1', 0, end));
            if (!length) {
                this.process.kill();
                return;
            }
            const start = end + 4, next = start + Number(length[1]);
            if (this.bytes.length < next) return;
            const message = JSON.parse(this.bytes.toString('utf8', start, next));
            this.bytes = this.bytes.subarray(next);
            this.#handle(message);
        }
    }

    #handle(message) {
        if (message.method !== undefined) {
            if (message.id === undefined) this.events.notification?.(message.method, message.params);
            else this.#send({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'not known' } });
            return;
        }
        const waiting = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        if (message.error) waiting?.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
        else waiting?.resolve(message.result);
    }

    #close(reason) {
        if (!this.open) return;
        this.open = false;
        for (const { reject } of this.waiting.values()) reject(new Error(reason));
        this.waiting.clear();
        this.events.closed?.(reason);
    }
}

module.exports = { Client };
