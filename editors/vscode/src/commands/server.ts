/** Commands on the server itself, and the choice of the model that writes summaries. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { describe, diagnosticsText, GET_PYTHON, isTrouble } from '../health';
import { EDITOR, idOf } from '../languageModels';
import { isOnPath, NO_PYTHON, PYTHON_PAGE, type Way, wayToPython } from '../server';
import { keyVariables } from '../settings';
import { asLabel, full } from '../words';
import type { Command } from './guard';

export const restart: Command = (ullage) => ullage.connection.restart();

/** Asks the user first, because packages are fetched. Where a Python is all that is missing, helps to get one. */
export const setUp: Command = async (ullage) => {
  const { connection } = ullage;
  const lacksPython = (): boolean => connection.health.kind === 'missing' && connection.health.lacksPython;
  if (lacksPython()) {
    // There may be one by now.
    await connection.restart();
    if (lacksPython()) await getPython(ullage);
    return;
  }
  const detail = l10n.t('Ullage makes itself a Python environment in its own storage folder, installs the server that came with the extension there, and fetches what that needs with pip, as pip is configured. That takes about a minute. Nothing else is changed.');
  const chosen = await vscode.window.showInformationMessage(l10n.t('Set up the Ullage server?'), { modal: true, detail }, l10n.t('Set it up'));
  if (chosen) await connection.setUp();
};

/** Installs Python in a terminal, if the machine has a program for that, or says where it is. */
const getPython: Command = async (ullage) => {
  const way = wayToPython(process.platform, isOnPath);
  const [install, open, name] = [way?.title ?? '', l10n.t('Open python.org'), l10n.t('Say where Python is')];
  const how = way ? l10n.t('A terminal runs: {0}', [way.program, ...way.words].join(' ')) : l10n.t('There are installers on {0}, and most systems have a package.', PYTHON_PAGE);
  const detail = `${how}\n\n${l10n.t('Once a Python is there, choose this again or open a new window.')}`;
  const chosen = await vscode.window.showInformationMessage(NO_PYTHON, { modal: true, detail }, ...(way ? [install] : [open]), name);
  if (chosen === name) await openPythonSetting(ullage);
  else if (chosen === open) await vscode.env.openExternal(vscode.Uri.parse(PYTHON_PAGE));
  else if (way && chosen === install) await inTerminal(way);
  else return;
  await ullage.connection.restart();
};

/** Runs a program in a terminal that the user sees. Resolves when it has ended. */
async function inTerminal({ title, program, words }: Way): Promise<void> {
  const terminal = vscode.window.createTerminal({ name: title, shellPath: program, shellArgs: [...words] });
  terminal.show();
  await new Promise<void>((resolve) => {
    const closed = vscode.window.onDidCloseTerminal((each) => {
      if (each !== terminal) return;
      closed.dispose();
      resolve();
    });
  });
}

/** Keeps a provider's key for this editor, or forgets it. The server starts again, because it reads keys when it starts. */
export const setKey: Command = async (ullage) => {
  const providers = vscode.workspace.getConfiguration('ullage').get<Record<string, { keyEnv?: string }>>('providers', {});
  const kept = ullage.keys.names;
  const items = keyVariables(providers).map((name) => ({ label: name, description: kept.includes(name) ? l10n.t('kept for this editor') : '' }));
  const chosen = await vscode.window.showQuickPick(items, { title: l10n.t('Set a Key'), placeHolder: l10n.t('Which provider? The key is kept by the operating system, never in settings') });
  if (!chosen) return;
  const prompt = kept.includes(chosen.label) ? l10n.t('Leave it empty to forget the key') : l10n.t('Kept by the operating system, and given to the server alone');
  const key = await vscode.window.showInputBox({ title: chosen.label, prompt, password: true, ignoreFocusOut: true });
  if (key === undefined) return;
  await ullage.keys.set(chosen.label, key.trim());
  await ullage.connection.restart();
  // With a key the server asks a model for summaries.
  if (key.trim() !== '' && ullage.connection.lacksPackages) await ullage.connection.fetchPackages();
};

export const showProblem: Command = async (ullage) => {
  const { health } = ullage.connection;
  const fixable = health.kind === 'missing' && health.fixable;
  const items = [
    ...(fixable ? [{ label: `$(wand) ${health.lacksPython ? GET_PYTHON : l10n.t('Set it up for me')}`, command: 'ullage.setUpServer' }] : []),
    ...(health.kind === 'missing' ? [] : [{ label: `$(debug-restart) ${l10n.t('Restart the server')}`, command: 'ullage.restartServer' }]),
    { label: `$(output) ${l10n.t('Show log')}`, command: 'ullage.showLogs' },
    { label: `$(gear) ${l10n.t('Say where the server is ({0})', 'ullage.server.path')}`, command: 'ullage.openServerSetting' },
    { label: `$(gear) ${l10n.t('Say where Python is ({0})', 'ullage.server.python')}`, command: 'ullage.openPythonSetting' },
    { label: `$(copy) ${l10n.t('Copy diagnostics')}`, command: 'ullage.copyDiagnostics' },
  ];
  const title = health.kind === 'missing' ? l10n.t("Ullage's server is not set up") : isTrouble(health) ? l10n.t('Ullage does not run') : 'Ullage';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: describe(health) });
  if (chosen) await vscode.commands.executeCommand(chosen.command);
};

export const openSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.server.path');
};

/** Opens the settings file, with its schema. */
export const openSettings: Command = (ullage) => ullage.settings.open();

export const openPythonSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.server.python');
};

export const showLogs: Command = (ullage) => {
  ullage.log.show();
  return Promise.resolve();
};

export const copyDiagnostics: Command = async (ullage) => {
  const { connection, sessions, version } = ullage;
  const text = diagnosticsText({
    extension: version,
    editor: `${vscode.env.appName} ${vscode.version}`,
    platform: `${process.platform} ${process.arch}`,
    trusted: vscode.workspace.isTrusted,
    health: connection.health,
    server: connection.place,
    usage: sessions.usage,
    settings: ullage.settings.read(),
  });
  await vscode.env.clipboard.writeText(text);
  void vscode.window.showInformationMessage(l10n.t('Diagnostics are on the clipboard.'));
};

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

export const openModelSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.summary.model');
};
