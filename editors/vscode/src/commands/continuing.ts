/** Commands that continue a conversation in a new session of an agent. Each shows how full that will be before it is written. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorKind, errorText, isCancelled } from '../errors';
import { anyOf, full, inPercent, messages } from '../figures';
import { asLabel } from '../labels';
import { ContinuingChoices, ContinuingPreview, ContinuingWrite, writableAgents, type ContinuingChoicesResult, type ContinuingPreviewParams, type ContinuingResult } from '../protocol.gen';
import type { Ullage } from '../ullage';
import { sessionOf } from './agents';
import { pickAnyMessage } from './anyMessage';
import { activeSession, withProgress, type Command } from './guard';

/** Shows all ways to continue the conversation, each with its figure. */
export const continueSession: Command = async (ullage, given) => {
  const sessionId = sessionOf(given) ?? subject(ullage);
  const choices = await ullage.sessions.request(ContinuingChoices, { sessionId });
  if (choices.agents.length === 0) {
    const known = anyOf(writableAgents.map(({ agent }) => agent));
    throw new Error(l10n.t('No agent in which this conversation could be continued is on this machine. Start {0} once.', known));
  }
  const chosen = await pickWay(ullage, sessionId, waysOf(choices));
  if (!chosen) return;
  if (chosen.preview) await resume(ullage, chosen.preview, { sessionId, ...chosen.way.params });
  else await continueAfter(ullage, sessionId);
};

function subject(ullage: Ullage): string {
  return ullage.subjectId ?? activeSession(ullage);
}

async function continueAfter(ullage: Ullage, sessionId: string): Promise<void> {
  const message = await pickAnyMessage(ullage, sessionId, l10n.t('Continue as it was after this message'));
  if (message) await previewAndResume(ullage, { sessionId, messageId: message.messageId });
}

async function previewAndResume(ullage: Ullage, params: ContinuingPreviewParams): Promise<void> {
  await resume(ullage, await plan(ullage, params), params);
}

function plan(ullage: Ullage, params: ContinuingPreviewParams): Thenable<ContinuingResult> {
  return withProgress(l10n.t('Planning a new session'), (_, token) => ullage.sessions.request(ContinuingPreview, params, token));
}

interface WayItem extends vscode.QuickPickItem {
  readonly way: Way;
  readonly preview?: ContinuingResult;
}

/** Lets the user choose a way. The figures come one after the other; a way that is not possible says why, and can't be chosen. */
async function pickWay(ullage: Ullage, sessionId: string, ways: readonly Way[]): Promise<WayItem | undefined> {
  const pick = vscode.window.createQuickPick<WayItem>();
  const source = new vscode.CancellationTokenSource();
  pick.title = l10n.t('Continue in a New Session');
  pick.placeholder = l10n.t('Nothing is written yet, and this conversation stays as it is');
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  pick.items = ways.map((way) => ({ way, label: way.label, description: way.description, detail: way.params ? l10n.t('Counting…') : l10n.t('Choose the message next') }));
  try {
    return await new Promise((resolve) => {
      pick.onDidAccept(() => {
        const [item] = pick.activeItems;
        if (item && (item.preview ?? !item.way.params)) resolve(item);
      });
      pick.onDidHide(() => { resolve(undefined); });
      pick.show();
      void fillIn(ullage, sessionId, pick, source.token);
    });
  } finally {
    source.cancel();
    pick.dispose();
  }
}

async function fillIn(ullage: Ullage, sessionId: string, pick: vscode.QuickPick<WayItem>, token: vscode.CancellationToken): Promise<void> {
  pick.busy = true;
  for (const [at, { way }] of pick.items.entries()) {
    if (!way.params) continue;
    const known = await ullage.sessions.request(ContinuingPreview, { sessionId, ...way.params }, token).then(
      (preview) => ({ preview, detail: [figureOf(preview), ...preview.notes].join(' · ') }),
      (error: unknown) => (isCancelled(error) ? undefined : { detail: `$(circle-slash) ${asLabel(errorText(error))}` }),
    );
    // The user has chosen, or gone.
    if (!known || token.isCancellationRequested) return;
    const [active] = pick.activeItems;
    pick.items = pick.items.map((item, place) => (place === at ? { ...item, ...known } : item));
    // New items move the highlight to the first one.
    const again = pick.items.find((item) => item.way === active?.way);
    if (again) pick.activeItems = [again];
  }
  pick.busy = false;
}

interface Step extends vscode.QuickPickItem {
  readonly act: () => Promise<void>;
}

/**
 * Shows the figure of a new session, which has these params. If the user agrees, writes it and resumes it in a terminal.
 * One that its agent may compact at once can be compacted by Ullage instead.
 */
async function resume(ullage: Ullage, preview: ContinuingResult, params: ContinuingPreviewParams): Promise<void> {
  const compacted = { ...params, compacted: true };
  const write = (): Thenable<ContinuingResult> => ullage.sessions.request(ContinuingWrite, { previewId: preview.previewId });
  const instead: Step = {
    label: `$(fold) ${l10n.t('Compact it first, by Ullage')}`,
    detail: l10n.t('Shows the figure of that before anything is written'),
    act: async () => { await resume(ullage, await plan(ullage, compacted), compacted); },
  };
  const steps: readonly Step[] = [
    ...(preview.fits || preview.before !== null || params.compacted ? [] : [instead]),
    { label: `$(terminal) ${l10n.t('Write it, and resume it in a terminal')}`, detail: asLabel(l10n.t({ message: '{0} in {1}', args: [preview.command.join(' '), preview.cwd], comment: ['A command and the folder in which it runs.'] })), act: async () => { resumeInTerminal(await write()); } },
    { label: `$(copy) ${l10n.t('Write it, and copy the command')}`, detail: asLabel(preview.path), act: async () => { await copyCommand(await write()); } },
  ];
  const chosen = await vscode.window.showQuickPick(steps, {
    title: `${preview.agent}: ${figureOf(preview)}`,
    placeHolder: preview.notes.join(' ') || l10n.t('A new session. This conversation stays as it is.'),
    ignoreFocusOut: true,
  });
  if (!chosen) return;
  try {
    await chosen.act();
  } catch (error) {
    if (errorKind(error) !== 'PreviewExpired') throw error;
    throw new Error(l10n.t('{0} Choose the command again.', errorText(error)), { cause: error });
  }
}

function resumeInTerminal({ agent, cwd, command }: ContinuingResult): void {
  const terminal = vscode.window.createTerminal({ name: agent, cwd });
  terminal.show(false);
  // The user's shell knows where the agent's program is; VS Code may not.
  terminal.sendText(commandLine(command, process.platform === 'win32'));
}

async function copyCommand({ shell }: ContinuingResult): Promise<void> {
  await vscode.env.clipboard.writeText(shell);
  vscode.window.setStatusBarMessage(l10n.t('Copied: {0}', shell), 4_000);
}

/**
 * One way to continue a conversation. The label begins with what differs, because a narrow picker cuts its end. `params`
 * are missing where the user has to choose a message first.
 */
export interface Way {
  readonly label: string;
  readonly description: string;
  readonly params: Omit<ContinuingPreviewParams, 'sessionId'> | undefined;
}

/** Returns the ways to continue a conversation, those in its own agent first. */
export function waysOf({ agents, beforeCompaction }: ContinuingChoicesResult): readonly Way[] {
  const own = agents.find((agent) => agent.own);
  const others = agents.filter((agent) => !agent.own);
  const inOwn: readonly Way[] = own
    ? [
        { label: `$(fold) ${l10n.t('Compacted · {0}', own.agent)}`, description: l10n.t('older messages become a summary'), params: {} },
        ...(beforeCompaction
          ? [{ label: `$(discard) ${l10n.t('Before compaction · {0}', own.agent)}`, description: l10n.t('as it was before {0} compacted', own.agent), params: { beforeCompaction: true } }]
          : []),
        { label: `$(history) ${l10n.t('After a message… · {0}', own.agent)}`, description: l10n.t('as it was then'), params: undefined },
      ]
    : [];
  const inOthers = others.flatMap(({ agent, word }): readonly Way[] => [
    { label: `$(arrow-swap) ${l10n.t('Whole · {0}', agent)}`, description: l10n.t('all of the context'), params: { agent: word, compacted: false } },
    { label: `$(arrow-swap) ${l10n.t('Compacted · {0}', agent)}`, description: l10n.t('older messages become a summary'), params: { agent: word, compacted: true } },
  ]);
  return [...inOwn, ...inOthers];
}

/** Returns how full the new session will be: `31,240 of 200,000 tokens (16%), 92,160 before · 14 messages, 44 left out`. */
export function figureOf({ used, size, before, messages: kept, leftOut }: ContinuingResult): string {
  const now = size === null ? l10n.t('{0} tokens', full(used)) : l10n.t('{0} of {1} tokens ({2})', full(used), full(size), inPercent(used, size));
  const sizes = before === null ? now : l10n.t({ message: '{0}, {1} before', args: [now, full(before)], comment: ['A size in tokens, and the size before.'] });
  return `${sizes} · ${leftOut > 0 ? l10n.t('{0}, {1} left out', messages(kept), full(leftOut)) : messages(kept)}`;
}

/** Returns a command as a line for a shell. A word that a shell would take for more than one is quoted. */
export function commandLine(words: readonly string[], windows: boolean): string {
  return words.map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : quoted(word, windows))).join(' ');
}

function quoted(word: string, windows: boolean): string {
  return windows ? `"${word.replaceAll('"', '""')}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}
