// layout.js: where the boxes of a graph stand: in layers from the top down, each below all that leads to it, but for ways
// back (Sugiyama, Tagawa, Toda 1981). A way over several layers gets a bend in each, so that it passes beside the boxes.

const ACROSS = 26, DOWN = 34, BEND = 10, BENDS_MOST = 6000, SWEEPS = 8;

/** Turns ways back around, so that none leads up: those to what a walk from the first box is still in. */
function forwards(count, edges) {
    const out = Array.from({ length: count }, () => []), state = new Uint8Array(count), order = [];
    edges.forEach((edge, i) => edge.from !== edge.to && out[edge.from].push(i));
    const walk = [];
    for (let first = 0; first < count; first++) {
        if (state[first]) continue;
        state[first] = 1;
        walk.push({ at: first, next: 0 });
        while (walk.length) {
            const top = walk[walk.length - 1], i = out[top.at][top.next++];
            if (i === undefined) {
                state[top.at] = 2;
                order.push(top.at);
                walk.pop();
            } else if (state[edges[i].to] === 1) {
                edges[i].back = true;
            } else if (state[edges[i].to] === 0) {
                state[edges[i].to] = 1;
                walk.push({ at: edges[i].to, next: 0 });
            }
        }
    }
    return order.reverse();
}

function layersOf(boxes, edges) {
    const layer = new Int32Array(boxes.length), out = boxes.map(() => []);
    const order = forwards(boxes.length, edges);
    for (const edge of edges) if (edge.from !== edge.to) out[edge.back ? edge.to : edge.from].push(edge.back ? edge.from : edge.to);
    const place = new Int32Array(boxes.length);
    order.forEach((at, i) => { place[at] = i; });
    for (const at of order) for (const to of out[at]) if (place[to] > place[at]) layer[to] = Math.max(layer[to], layer[at] + 1);
    return layer;
}

/** Each way as a list of what it passes: its ends, and a bend in each layer between them. */
function bend(boxes, edges, layer, layers) {
    let bends = 0;
    for (const edge of edges) {
        const [from, to] = edge.back ? [edge.to, edge.from] : [edge.from, edge.to];
        edge.through = [boxes[from]];
        for (let at = layer[from] + 1; at < layer[to] && bends < BENDS_MOST; at++, bends++) {
            const one = { width: BEND, height: 0, bend: true, up: [], down: [] };
            layers[at].push(one);
            edge.through.push(one);
        }
        edge.through.push(boxes[to]);
        if (from === to) continue;
        for (let i = 1; i < edge.through.length; i++) {
            edge.through[i - 1].down.push(edge.through[i]);
            edge.through[i].up.push(edge.through[i - 1]);
        }
    }
}

const middle = (list) => list.reduce((sum, one) => sum + one.x, 0) / list.length;

/** Puts what stands in a layer as near to where it wants to be as the order and the room allow. */
function settle(layer, wanted) {
    const gap = (a, b) => (a.width + b.width) / 2 + (a.bend && b.bend ? BEND : ACROSS);
    const groups = [];
    layer.forEach((one, i) => {
        const want = wanted(one);
        let group = { from: i, to: i, at: [0], x: want, sum: want };
        for (let last = groups[groups.length - 1]; last; last = groups[groups.length - 1]) {
            const shift = last.at[last.at.length - 1] + gap(layer[last.to], layer[group.from]);
            if (last.x + shift <= group.x) break;
            groups.pop();
            const all = [...last.at, ...group.at.map((at) => at + shift)], sum = last.sum + group.sum - shift * group.at.length;
            group = { from: last.from, to: group.to, at: all, sum, x: sum / all.length };
        }
        groups.push(group);
    });
    for (const group of groups) group.at.forEach((at, i) => { layer[group.from + i].x = group.x + at; });
}

function order(layers) {
    layers.forEach((layer) => layer.forEach((one, i) => { one.x = i; }));
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const down = sweep % 2 === 0;
        for (const layer of down ? layers : [...layers].reverse()) {
            for (const one of layer) one.key = one[down ? 'up' : 'down'].length ? middle(one[down ? 'up' : 'down']) : one.x;
            layer.sort((a, b) => a.key - b.key);
            layer.forEach((one, i) => { one.x = i; });
        }
    }
}

/**
 * @param {{width: number, height: number}[]} boxes the first is where it begins; each gets x and y, its middle
 * @param {{from: number, to: number}[]} edges places in `boxes`; each gets points, [x, y] from one box to the other
 * @returns {{width: number, height: number}}
 */
export function layOut(boxes, edges) {
    const layer = layersOf(boxes, edges), layers = Array.from({ length: Math.max(0, ...layer) + 1 }, () => []);
    boxes.forEach((box, i) => {
        Object.assign(box, { up: [], down: [] });
        layers[layer[i]].push(box);
    });
    bend(boxes, edges, layer, layers);
    order(layers);
    layers.forEach((each) => settle(each, (one) => one.x * 40));
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const down = sweep % 2 === 0, near = (one) => (one[down ? 'up' : 'down'].length ? middle(one[down ? 'up' : 'down']) : one.x);
        for (const each of down ? layers : [...layers].reverse()) settle(each, near);
    }
    let y = 0, right = 0, left = Infinity;
    for (const each of layers) {
        const high = Math.max(0, ...each.map((one) => one.height));
        for (const one of each) {
            one.y = y + high / 2;
            left = Math.min(left, one.x - one.width / 2);
            right = Math.max(right, one.x + one.width / 2);
        }
        y += high + DOWN;
    }
    for (const each of layers) for (const one of each) one.x -= left;
    for (const edge of edges) {
        const points = edge.through.map((one, i) => [one.x, one.bend ? one.y : i === 0 ? one.y + one.height / 2 : one.y - one.height / 2]);
        edge.points = edge.back ? points.reverse() : points;
        if (edge.from === edge.to) edge.points = null;
    }
    return { width: right - left, height: Math.max(0, y - DOWN) };
}
