/** What a view is given, with nothing that the tests do not need. */
import type * as vscode from 'vscode';

import { Chat } from '../../../src/chat';
import type { Health } from '../../../src/health';
import { Permissions } from '../../../src/permissions';
import { SessionCancel } from '../../../src/protocol.gen';
import type { Sessions } from '../../../src/sessions';
import type { ViewParts } from '../../../src/view/viewHost';
import { complete, running } from '../samples';
import type { RealServer } from '../server';
import { EventEmitter } from '../vscode';

/** The consent of a user, which a test changes. */
export class TestConsent {
  question: string | undefined;
  isAllowed = true;
  readonly answers: boolean[] = [];
  readonly asked = new EventEmitter<void>();
  readonly onDidAsk: vscode.Event<void> = this.asked.event;

  answer(yes: boolean): Promise<void> {
    this.answers.push(yes);
    return Promise.resolve();
  }
}

export interface TestParts extends ViewParts {
  readonly consent: TestConsent;
  readonly permissions: Permissions;
  readonly health: vscode.EventEmitter<Health>;
  readonly opened: string[];
}

export function viewParts(sessions: Sessions, server: RealServer): TestParts {
  const health: vscode.EventEmitter<Health> = new EventEmitter<Health>();
  const opened: string[] = [];
  return {
    model: sessions,
    chat: new Chat(sessions, (sessionId) => server.notify(SessionCancel, { sessionId }), complete),
    permissions: new Permissions(),
    terminals: { of: () => Promise.resolve(undefined) },
    connection: { health: running, onDidChangeHealth: health.event },
    consent: new TestConsent(),
    find: () => Promise.resolve([{ path: '/found.jsonl', run: 2, title: 'Found', program: 'Other', folder: 'weather', changedAt: 1, here: true }]),
    open: (path, run) => { opened.push(`${path} ${String(run)}`); },
    health,
    opened,
  };
}
