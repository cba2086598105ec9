/**
 * `ullage`, slowed down: everything passes through unchanged and in order, but each piece of a summary waits a moment,
 * as if a model wrote it. The offline summary takes milliseconds, too short to be seen.
 */
import { spawn } from 'node:child_process';
import { setTimeout as later } from 'node:timers/promises';

/** Milliseconds between two pieces of a summary. */
const PACE = 80;
const END_OF_HEADER = '\r\n\r\n';
const CHUNK = '"compaction_summary_chunk"';

const [program, ...arguments_] = process.argv.slice(2);
const server = spawn(program ?? '', arguments_, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(server.stdin);
server.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
  process.stdin.destroy();
});

for await (const message of messages(server.stdout)) {
  if (message.includes(CHUNK)) await later(PACE);
  process.stdout.write(message);
}

/** Yields whole messages, header and body. */
async function* messages(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const data of stream) {
    rest = Buffer.concat([rest, data]);
    for (let size = firstSize(rest); size !== undefined && size <= rest.length; size = firstSize(rest)) {
      yield rest.subarray(0, size);
      rest = rest.subarray(size);
    }
  }
}

function firstSize(data: Buffer): number | undefined {
  const end = data.indexOf(END_OF_HEADER);
  if (end < 0) return undefined;
  const length = /Content-Length: (\d+)/.exec(data.toString('latin1', 0, end))?.[1];
  return end + END_OF_HEADER.length + Number(length);
}
