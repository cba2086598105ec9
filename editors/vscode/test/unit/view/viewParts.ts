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

export interface TestParts extends ViewParts {
  readonly permissions: Permissions;
  readonly health: vscode.EventEmitter<Health>;
}

export function viewParts(sessions: Sessions, server: RealServer): TestParts {
  const health: vscode.EventEmitter<Health> = new EventEmitter<Health>();
  return {
    model: sessions,
    chat: new Chat(sessions, (sessionId) => server.notify(SessionCancel, { sessionId }), complete),
    permissions: new Permissions(),
    terminals: { of: () => Promise.resolve(undefined) },
    connection: { health: running, onDidChangeHealth: health.event },
    health,
  };
}
