// A client of Ullage's Language Server in JavaScript, with Node 18 or newer and no package.
//
//     node ullage_client.mjs
//
// Each line that you type is appended to a session; /context, /compact and /undo are carried out. A status line follows,
// and those of agents' conversations on this machine. Ctrl+D ends it. The server is `ullage lsp`, or that of the
// program whose path is in ULLAGE_SERVER. What is sent is described in protocol/README.md.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

/** One server process. `on` is called with each notification's method and params. */
class Client {
  #process; #on; #waiting = new Map(); #number = 0; #received = Buffer.alloc(0);
  constructor(command, on) {
    this.#on = on;
    this.#process = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#process.stdin.on('error', () => {}); // The end of the server is reported by `ended`.
    this.#process.stdout.on('data', (bytes) => this.#read(bytes));
    /** The server's exit status, null if it did not end by itself. */
    this.ended = new Promise((resolve) => this.#process.on('error', resolve).on('close', resolve));
    this.ended.then(() => this.#waiting.forEach(({ reject }) => reject(new Error('the server has ended'))));
  }

  /** Sends a request and returns its result. Rejects with the server's sentence for the user if it is refused. */
  request(method, params) {
    const id = ++this.#number;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  #send(message) {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #read(bytes) {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let head; (head = this.#received.indexOf('\r\n\r\n')) >= 0;) {
      const end = head + 4 + Number(this.#received.toString('latin1', 0, head).split(':')[1]);
      if (this.#received.length < end) return;
      const message = JSON.parse(this.#received.toString('utf8', head + 4, end));
      this.#received = this.#received.subarray(end);
      this.#take(message);
    }
  }

  #take({ id, method, params, result, error }) {
    if (method && id !== undefined) this.#send({ id, error: { code: -32601, message: `no ${method} here` } });
    else if (method) this.#on(method, params);
    else {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(error.message));
      else resolve(result);
    }
  }
}

const figure = (used, size, percent) => (size ? `${percent} % (${used} of ${size})` : `${used} tokens`);

let session;
function show(method, params) {
  if (method === 'window/showMessage') console.log(params.message);
  if (method === 'ullage/following/changed') {
    for (const row of params.rows) {
      console.log(`${row.agentShort} ${row.title}: ${figure(row.used, row.window, row.percent)}`);
    }
  }
  // Conversations of agents have updates, too; their rows say the same.
  if (method !== 'ullage/session/update' || params.sessionId !== session?.sessionId) return;
  const { sessionUpdate: kind, _meta: meta, ...update } = params.update;
  if (kind === 'usage_update') {
    console.log(`[${meta.ullage.level}] ${figure(update.used, update.size, meta.ullage.percent)}`);
  }
  if (kind === 'compaction_update') console.log(`-- compaction ${update.status}`);
  if (kind === 'compaction_summary_chunk') console.log(update.content.text);
  if (kind === 'notice') console.log(update.title);
}

const client = new Client([process.env.ULLAGE_SERVER ?? 'ullage', 'lsp'], show);
const [cwd, capabilities] = [process.cwd(), { experimental: { ullage: {} } }];
await client.request('initialize', { processId: process.pid, rootUri: pathToFileURL(cwd).href, capabilities });
client.notify('initialized', {});
session = await client.request('ullage/session/new', { model: 'gpt-4o', cwd });
await client.request('ullage/following/start', { folders: [cwd] });
for await (const text of createInterface({ input: process.stdin })) {
  const [method, given] = text.startsWith('/')
    ? ['ullage/session/prompt', { prompt: [{ type: 'text', text }] }]
    : ['ullage/session/append', { messages: [{ role: 'user', content: text }] }];
  const params = { sessionId: session.sessionId, ...given };
  await client.request(method, params).catch((refused) => console.log(refused.message));
}
await client.request('shutdown');
client.notify('exit');
process.exitCode = await client.ended;
