/** What a view is given, with nothing that the tests do not need. */
import type * as vscode from 'vscode';

import type { Health } from '../../../src/health';
import type { Sessions } from '../../../src/sessions';
import type { ViewParts } from '../../../src/view/viewHost';
import { running } from '../samples';
import { EventEmitter } from '../vscode';

export interface TestParts extends ViewParts {
  readonly health: vscode.EventEmitter<Health>;
}

export function viewParts(sessions: Sessions): TestParts {
  const health: vscode.EventEmitter<Health> = new EventEmitter<Health>();
  return {
    model: sessions,
    terminals: { of: () => Promise.resolve(undefined) },
    connection: { health: running, onDidChangeHealth: health.event },
    health,
  };
}
