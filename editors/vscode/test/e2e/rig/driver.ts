/** Sends requests to the server through the extension's own client, by way of the test extension in `../driver`. */
import { existsSync } from 'node:fs';
import net from 'node:net';
import readline from 'node:readline';

import { START_PATIENCE, until } from './patience.ts';

interface Answer {
  readonly id: number;
  /** When the request left the extension, in Unix milliseconds with fractions. */
  readonly sentAt: number;
  readonly result?: unknown;
  readonly error?: string;
}

export class Driver {
  readonly #socket: net.Socket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    readline.createInterface({ input: socket }).on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  static async connect(file: string): Promise<Driver> {
    await until('the test extension to listen', () => existsSync(file), START_PATIENCE);
    const socket = net.connect(file);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Driver(socket);
  }

  /** Returns the result and the time at which the request left. */
  async ask<R>(method: string, params: unknown): Promise<{ readonly result: R; readonly sentAt: number }> {
    const id = ++this.#last;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.write(`${JSON.stringify({ id, method, params })}\n`);
    });
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error}`);
    return { result: answer.result as R, sentAt: answer.sentAt };
  }

  close(): void {
    this.#socket.destroy();
  }
}
