/** Commands on the server itself. */
import * as vscode from 'vscode';

import { diagnosticsText } from '../diagnostics';
import { describe, isTrouble } from '../health';
import type { Command } from './guard';

export const restart: Command = (ullage) => ullage.connection.restart();

/** Asks the user first, because packages are fetched and a folder is written. */
export const setUp: Command = async (ullage) => {
  const detail =
    'Ullage makes itself a Python environment in its own storage folder, installs the server that came with the ' +
    'extension there, and fetches what that needs with pip, as pip is configured. Nothing else is changed.';
  const chosen = await vscode.window.showInformationMessage('Set up the Ullage server?', { modal: true, detail }, 'Set it up');
  if (chosen) await ullage.connection.setUp();
};

export const showProblem: Command = async (ullage) => {
  const { health } = ullage.connection;
  const fixable = health.kind === 'missing' && health.fixable;
  const items = [
    ...(fixable ? [{ label: '$(wand) Set it up for me', command: 'ullage.setUpServer' }] : []),
    { label: '$(debug-restart) Restart the server', command: 'ullage.restartServer' },
    { label: '$(output) Show the log', command: 'ullage.showLogs' },
    { label: '$(gear) Say where the program is', command: 'ullage.openServerSetting' },
    { label: '$(copy) Copy diagnostics', command: 'ullage.copyDiagnostics' },
  ];
  const title = isTrouble(health) ? 'Ullage does not run' : 'Ullage';
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: describe(health) });
  if (chosen) await vscode.commands.executeCommand(chosen.command);
};

export const openSetting: Command = async () => {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'ullage.server.path');
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
    settings: vscode.workspace.getConfiguration('ullage'),
  });
  await vscode.env.clipboard.writeText(text);
  void vscode.window.showInformationMessage('Diagnostics are on the clipboard.');
};
