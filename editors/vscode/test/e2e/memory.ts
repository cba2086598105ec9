/**
 * Measures the memory that Ullage takes in a window: its part of the extension host, while the user has not used it,
 * and its server with a tokenizer. Prints one JSON object, in MB. See scripts/benches/editors.py.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { given, memoryOf, output, until } from './rig/codeServer.ts';
import { Workbench } from './rig/workbench.ts';

/** Milliseconds after which a window is idle: VS Code loads for a while after it has opened. */
const REST = 20_000;

const script = path.join(output, 'memory.script');
mkdirSync(output, { recursive: true });
writeFileSync(script, 'say: Yes.\nagain:\n');

/** Opens a window, measures in it, and closes it. */
async function inWindow<T>(installed: boolean, measure: (window: Workbench) => Promise<T>): Promise<T> {
  const settings = { 'ullage.provider': 'measured', 'ullage.providers': { measured: { kind: 'scripted', file: script } } };
  const window = await Workbench.open('memory', { installed, settings, environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') } });
  try {
    return await measure(window);
  } finally {
    await window.close(false);
  }
}

async function hostOf(window: Workbench): Promise<number> {
  await setTimeout(REST);
  return memoryOf(await until('the extension host', () => window.extensionHost));
}

const without = await inWindow(false, hostOf);
const measured = await inWindow(true, async (window) => {
  const idle = await hostOf(window);
  await window.run('Import the Sample Conversation');
  await window.reads(/38K\/200K/);
  const server = await until('the server', () => window.serverProcess);
  await setTimeout(REST);
  return { idle, server: memoryOf(server) };
});
process.stdout.write(`${JSON.stringify({ extension: measured.idle - without, host: without, server: measured.server })}\n`);
