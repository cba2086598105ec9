/** The common parts of all commands: the active session, progress, and messages for failures. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorKind, errorText, isCancelled, isLost } from '../connection';
import { GET_PYTHON, type Health } from '../health';
import { asMessage } from '../words';
import { NoPython } from '../server';
import type { Ullage } from '../extension';

/** A command: a function of `Ullage` and the arguments that VS Code passes. */
export type Command = (ullage: Ullage, ...args: readonly unknown[]) => Promise<unknown>;

/** Thrown when there is no active session. */
class NoSession extends Error {}

/** Returns the active session's id. Throws `NoSession` if there is none. */
export function activeSession(ullage: Ullage): string {
  const id = ullage.sessions.activeSessionId;
  if (id === undefined) throw new NoSession(l10n.t('No conversation is open.'));
  return id;
}

/** Runs work with a progress notification that has a Cancel button. */
export function withProgress<T>(
  title: string,
  work: (report: (message: string) => void, token: vscode.CancellationToken) => Promise<T>,
): Thenable<T> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (progress, token) =>
    work((message) => { progress.report({ message: asMessage(message) }); }, token),
  );
}

/** Wraps a command for VS Code: every failure is shown to the user, as one line without a stack. */
export function guarded(ullage: Ullage, command: Command): (...args: readonly unknown[]) => Promise<void> {
  return async (...args) => {
    try {
      await command(ullage, ...args);
    } catch (error) {
      await tell(ullage, error);
    }
  };
}

async function tell(ullage: Ullage, error: unknown): Promise<void> {
  if (isCancelled(error)) return;
  const text = asMessage(errorText(error));
  if (error instanceof NoSession) return offerSession(text);
  if (error instanceof NoPython) return offer(text, [[GET_PYTHON, 'ullage.setUpServer'], [l10n.t('Say where Python is'), 'ullage.openPythonSetting'], SHOW_LOG]);
  if (isLost(error)) return offer(text, [wayBack(ullage.connection.health), SHOW_LOG]);
  switch (errorKind(error)) {
    case 'NothingToCompact':
    case 'NothingToUndo':
      void vscode.window.showInformationMessage(text);
      return;
    case 'SessionFollowed':
      return offer(keptWords(ullage), [[l10n.t('What is possible…'), 'ullage.compactContext'], [l10n.t('Fork…'), 'ullage.forkSession']]);
    case 'PreviewExpired':
      return offer(text, [[l10n.t('Preview again'), 'ullage.previewCompaction']]);
    case 'AuthenticationFailed':
    case 'NoModelConfigured':
      return offer(text, [CHOOSE_MODEL, [l10n.t('Set a Key…'), 'ullage.setKey'], SHOW_LOG]);
    case 'RateLimited':
    case 'RequestRefused':
      return offer(text, [CHOOSE_MODEL, SHOW_LOG]);
    case 'WindowUnknown':
      return offer(text, [[l10n.t('Set the limit'), 'ullage.setWindow']]);
    default:
      ullage.log.error(error instanceof Error ? (error.stack ?? text) : text);
      return offer(text, [SHOW_LOG]);
  }
}

/** The server's own words name a command line. */
function keptWords({ sessions: { usage } }: Ullage): string {
  return asMessage(usage?.meta.agent ? l10n.t('{0} has this conversation; Ullage only reads it', usage.meta.agent) : l10n.t('An agent has this conversation, and Ullage only reads it.'));
}

const CHOOSE_MODEL = [l10n.t('Choose a Model…'), 'ullage.chooseModel'] as const;
const SHOW_LOG = [l10n.t('Show log'), 'ullage.showLogs'] as const;

/** Returns what brings the server back: setting it up if there is none, a restart otherwise. */
function wayBack(health: Health): readonly [string, string] {
  return health.kind === 'missing' && health.fixable ? [l10n.t('Set it up for me'), 'ullage.setUpServer'] : [l10n.t('Restart'), 'ullage.restartServer'];
}

function offerSession(text: string): Promise<void> {
  return offer(text, [
    [l10n.t('Import Transcript…'), 'ullage.importTranscript'],
    [l10n.t('Conversations…'), 'ullage.switchSession'],
  ]);
}

async function offer(text: string, choices: readonly (readonly [string, string])[]): Promise<void> {
  const chosen = await vscode.window.showErrorMessage(text, ...choices.map(([title]) => title));
  const choice = choices.find(([title]) => title === chosen);
  if (choice) await vscode.commands.executeCommand(choice[1]);
}
