/** Choosing the model that writes summaries. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { EDITOR, idOf } from '../editorModels';
import { full } from '../figures';
import { asLabel } from '../labels';
import type { Command } from './guard';

interface Choice extends vscode.QuickPickItem {
  /** A model's name as settings have it; undefined for another command. */
  readonly model?: string;
  readonly command?: string;
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
  }));
  const chosen = await vscode.window.showQuickPick<Choice>([...items, ...OTHERS], {
    title: l10n.t('Choose the Model That Writes Summaries'),
    placeHolder: items.length > 0 ? l10n.t('Models of VS Code need no key') : l10n.t('VS Code offers no model here: install an extension that has some, such as GitHub Copilot'),
    matchOnDescription: true,
  });
  if (chosen?.command) await vscode.commands.executeCommand(chosen.command);
  if (chosen?.model !== undefined) await vscode.workspace.getConfiguration('ullage').update('summary.model', chosen.model, vscode.ConfigurationTarget.Global);
};

const OTHERS: readonly Choice[] = [
  { label: '', kind: vscode.QuickPickItemKind.Separator },
  { label: `$(key) ${l10n.t('A model of a provider, by a key…')}`, command: 'ullage.setKey' },
  { label: `$(gear) ${l10n.t('Another one, by its name ({0})', 'ullage.summary.model')}`, command: 'ullage.openModelSetting' },
];

export const openSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.summary.model');
};
