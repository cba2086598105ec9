/** The table of commands, one line each. Their code is loaded when one is run. */
import * as vscode from 'vscode';

import type { Command } from './commands/guard';
import type { Ullage } from './ullage';

type All = typeof import('./commands/all');
/** Chooses a command among all. */
type Choice = (all: All) => Command;

const COMMANDS: Readonly<Record<string, Choice>> = {
  'ullage.compact': ({ compaction }) => compaction.choose,
  'ullage.compactContext': ({ compaction }) => compaction.compact,
  'ullage.cancelCompaction': ({ compaction }) => compaction.cancel,
  'ullage.previewCompaction': ({ compaction }) => compaction.preview,
  'ullage.acceptPreview': ({ compaction }) => compaction.acceptPreview,
  'ullage.discardPreview': ({ compaction }) => compaction.discardPreview,
  'ullage.undoCompaction': ({ archive }) => archive.undo,
  'ullage.search': ({ archive }) => archive.search,
  'ullage.searchArchive': ({ archive }) => archive.searchSession,
  'ullage.showAgents': ({ agents }) => agents.showAll,
  'ullage.follow': ({ agents }) => agents.follow,
  'ullage.followNone': ({ agents }) => agents.followNone,
  'ullage.openConversation': ({ agents }) => agents.open,
  'ullage.openFollowSetting': ({ agents }) => agents.openSetting,
  'ullage.continueSession': ({ continuing }) => continuing.continueSession,
  'ullage.wire': ({ wiring }) => wiring.wire,
  'ullage.showContext': ({ sessions }) => sessions.showContext,
  'ullage.switchSession': ({ sessions }) => sessions.switchTo,
  'ullage.forkSession': ({ sessions }) => sessions.fork,
  'ullage.setWindow': ({ sessions }) => sessions.setWindow,
  'ullage.importTranscript': ({ transfer }) => transfer.importTranscript,
  'ullage.importSample': ({ transfer }) => transfer.importSample,
  'ullage.exportSession': ({ transfer }) => transfer.exportSession,
  'ullage.pinMessage': ({ messages }) => messages.pin,
  'ullage.restartServer': ({ server }) => server.restart,
  'ullage.setUpServer': ({ server }) => server.setUp,
  'ullage.showProblem': ({ server }) => server.showProblem,
  'ullage.openServerSetting': ({ server }) => server.openSetting,
  'ullage.openPythonSetting': ({ server }) => server.openPythonSetting,
  'ullage.openSettings': ({ server }) => server.openSettings,
  'ullage.chooseModel': ({ models }) => models.choose,
  'ullage.openModelSetting': ({ models }) => models.openSetting,
  'ullage.setKey': ({ server }) => server.setKey,
  'ullage.showLogs': ({ server }) => server.showLogs,
  'ullage.copyDiagnostics': ({ server }) => server.copyDiagnostics,
};

export function registerCommands(ullage: Ullage): vscode.Disposable {
  return vscode.Disposable.from(
    ...Object.entries(COMMANDS).map(([id, choose]) => vscode.commands.registerCommand(id, async (...args: readonly unknown[]) => {
      const all = await import('./commands/all');
      await all.guarded(ullage, choose(all))(...args);
    })),
  );
}
