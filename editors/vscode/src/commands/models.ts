/** Choosing the model that answers, or that writes summaries, among those that VS Code offers. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { EDITOR, idOf } from '../editorModels';
import { full } from '../figures';
import { asLabel } from '../labels';
import { SessionAppend } from '../protocol.gen';
import type { Ullage } from '../ullage';
import type { Command } from './guard';

interface Choice extends vscode.QuickPickItem {
  /** A model's name as a session has it; undefined for another command. */
  readonly model?: string;
  /** The model's name as users know it. */
  readonly name?: string;
  readonly command?: string;
}

interface Use extends vscode.QuickPickItem {
  run(): Promise<void>;
}

export const choose: Command = async (ullage) => {
  // The server learns of the models with the picker, so that it knows the chosen one's limit.
  await ullage.connection.ready();
  const models = await ullage.editorModels.choose();
  const items: Choice[] = models.map((model) => ({
    label: `$(sparkle) ${asLabel(l10n.t('from VS Code: {0}', model.name))}`,
    description: asLabel(model.vendor),
    detail: l10n.t('{0} tokens of prompt, no key', full(model.maxInputTokens)),
    model: EDITOR + idOf(model),
    name: model.name,
  }));
  const chosen = await vscode.window.showQuickPick<Choice>([...items, ...OTHERS], {
    title: l10n.t('Choose a Model'),
    placeHolder: items.length > 0 ? l10n.t('Models of VS Code need no key') : l10n.t('VS Code offers no model here: install an extension that has some, such as GitHub Copilot'),
    matchOnDescription: true,
  });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
  if (chosen?.model === undefined) return;
  const use = await vscode.window.showQuickPick(uses(ullage, chosen.model), { title: asLabel(chosen.name ?? chosen.model), placeHolder: l10n.t('What is it for?') });
  await use?.run();
};

const OTHERS: readonly Choice[] = [
  { label: '', kind: vscode.QuickPickItemKind.Separator },
  { label: `$(key) ${l10n.t('A model of a provider, by a key…')}`, command: 'ullage.setKey' },
  { label: `$(gear) ${l10n.t('Another one, by its name ({0})', 'ullage.model')}`, command: 'ullage.openModelSetting' },
];

export const openSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.model');
};

function uses(ullage: Ullage, model: string): readonly Use[] {
  const { sessions } = ullage;
  const sessionId = sessions.activeSessionId;
  const isOwn = sessionId !== undefined && (sessions.usage?.meta.followed ?? null) === null;
  const inSession: Use = {
    label: l10n.t('Answers in this session'),
    run: async () => {
      await sessions.request(SessionAppend, { sessionId: sessionId ?? '', messages: [], model });
      await sessions.refresh();
    },
  };
  return [
    ...(isOwn ? [inSession] : []),
    { label: l10n.t('Writes the summaries'), description: 'ullage.summary.model', run: () => set('summary.model', model) },
    { label: l10n.t('Answers in sessions that name no model'), description: 'ullage.model', run: () => set('model', model) },
  ];
}

async function set(name: string, value: string): Promise<void> {
  await vscode.workspace.getConfiguration('ullage').update(name, value, vscode.ConfigurationTarget.Global);
}
