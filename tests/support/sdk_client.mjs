/**
 * A client made with ACP's TypeScript SDK: `node sdk_client.mjs FOLDER_OF_THE_SDK VERSION AGENT ARGS…`.
 *
 * Whoever starts it decides what it says: each line of the standard input is a message of JSON-RPC. The SDK sends a
 * request to the agent, and its result, as the SDK has read it, is the answer on the standard output. There go the
 * agent's updates and questions, too, as the SDK has read them. What the SDK refuses is on the standard error.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [, , folder, version, command, ...given] = process.argv;
const file = join(folder, "dist", `v${version}`, "stable", "acp.js");
const sdk = await import(pathToFileURL(file).href);

const agent = spawn(command, given, { stdio: ["pipe", "pipe", "inherit"] });
const stream = sdk.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const asked = new Map();
let questions = 0;

/** Asks whoever has started the client. If the agent takes its question back, so does the client. */
function question(method) {
  return ({ params, signal }) =>
    new Promise((answer, fail) => {
      const id = `question-${++questions}`;
      asked.set(id, answer);
      signal?.addEventListener("abort", () => {
        say({ method: "$/cancel_request", params: { requestId: id } });
        fail(sdk.RequestError.requestCancelled());
      });
      say({ id, method, params });
    });
}

const client = sdk
  .client({ name: "tests" })
  .onNotification("session/update", ({ params }) => say({ method: "session/update", params }));
const questioned = ["session/request_permission", "elicitation/create", ...(version === "1" ? ["fs/read_text_file"] : [])];
for (const method of questioned) client.onRequest(method, question(method));
const connection = client.connect(stream);

const open = new Map();
async function ask({ id, method, params }) {
  const abort = new AbortController();
  open.set(id, abort);
  try {
    say({ id, result: await connection.agent.request(method, params, { cancellationSignal: abort.signal }) });
  } catch (error) {
    say({ id, error: { code: error.code ?? 0, message: error.message ?? String(error), data: error.data } });
  } finally {
    open.delete(id);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === "$/cancel_request") open.get(message.params.requestId)?.abort();
  else if (message.method !== undefined && message.id !== undefined) void ask(message);
  else if (message.method !== undefined) void connection.agent.notify(message.method, message.params);
  else asked.get(message.id)(message.result);
}
agent.stdin.end();
await new Promise((ended) => (agent.exitCode === null ? agent.once("exit", ended) : ended()));
process.exit(0);
