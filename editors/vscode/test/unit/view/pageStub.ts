/** Replaces the page of the Context view: keeps the messages that it gets, and sends the messages of a test. */
import { type HostMessage, type HostMessageOf, isHostMessage } from '../../../src/view/messages';
import { EventEmitter } from '../vscode';

export class PageStub {
  readonly #says = new EventEmitter<unknown>();
  readonly received: HostMessage[] = [];
  readonly onDidReceiveMessage = this.#says.event;

  postMessage(message: unknown): Promise<boolean> {
    // Messages to a page are sent as JSON.
    const arrived: unknown = JSON.parse(JSON.stringify(message));
    if (!isHostMessage(arrived)) throw new Error(`no message of ours: ${JSON.stringify(arrived).slice(0, 300)}`);
    this.received.push(arrived);
    return Promise.resolve(true);
  }

  say(message: unknown): void {
    this.#says.fire(message satisfies unknown);
  }

  all<T extends HostMessage['type']>(type: T): HostMessageOf<T>[] {
    return this.received.filter((message): message is HostMessageOf<T> => message.type === type);
  }

  last<T extends HostMessage['type']>(type: T): HostMessageOf<T> | undefined {
    return this.all(type).at(-1);
  }
}
