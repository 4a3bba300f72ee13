// A client whose types are made of /openapi.json.
import type { components, paths } from "./api";

type Start = paths["/v1/programs/shop/workflows/order/runs"]["post"];
type Body = NonNullable<Start["requestBody"]>["content"]["application/json"];
type Run = Start["responses"]["201"]["content"]["application/json"];
type Problem = components["schemas"]["Problem"];

const body: Body = {
    args: { customer: "ann", articles: [{ name: "tea", n: 3, size: { case: "made", width: 3 } }, { name: "oats", n: 1, size: "large" }], stock: { tea: 3 }, due: null },
    labels: { team: "web" },
    priority: 5,
};

export async function order(server: string, token: string, key: string): Promise<string[]> {
    const answer = await fetch(`${server}/v1/programs/shop/workflows/order/runs`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Idempotency-Key": key },
        body: JSON.stringify(body),
    });
    if (!answer.ok) {
        const problem: Problem = await answer.json();
        throw new Error(`${problem.title}: ${(problem.errors ?? []).map(error => error.path).join(", ")}`);
    }
    const run: Run = await answer.json();
    const sizes = (run.result ?? {})["sizes"] ?? [];
    return [run.id, run.state, ...sizes.map(size => typeof size === "string" ? size : `${size.width}`)];
}

// @ts-expect-error: a customer is a text
export const wrongType: Body = { args: { customer: 1, articles: [] } };
// @ts-expect-error: the articles are missing
export const missing: Body = { args: { customer: "ann" } };
// @ts-expect-error: there is no such size
export const wrongCase: Body = { args: { customer: "ann", articles: [{ name: "tea", n: 1, size: "huge" }] } };
