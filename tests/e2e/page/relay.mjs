// relay.mjs: browsers do not speak to Unix sockets, so a relay stands between; what the server says of origins is no business of
// those who use it.
import { createServer, request } from 'node:http';

/** @returns {Promise<{base: string, asked: () => number, close: () => void}>} the relay to a server's socket */
export async function openRelay(socketPath) {
    let asked = 0;
    const relay = createServer((from, to) => {
        const headers = { ...from.headers };
        delete headers.origin;
        delete headers['sec-fetch-site'];
        asked++;
        const up = request({ socketPath, path: from.url, method: from.method, headers }, (answer) => {
            to.writeHead(answer.statusCode, answer.headers);
            to.flushHeaders();
            answer.pipe(to);
        });
        up.on('error', () => to.destroy());
        to.on('close', () => up.destroy());
        from.pipe(up);
    });
    await new Promise((done) => relay.listen(0, '127.0.0.1', done));
    return {
        base: `http://127.0.0.1:${relay.address().port}`,
        asked: () => asked,
        close: () => {
            relay.closeAllConnections();
            relay.close();
        },
    };
}
