/** The table of commands, one line each. */
import * as vscode from 'vscode';

import * as agents from './commands/agents';
import * as archive from './commands/archive';
import * as chat from './commands/chat';
import * as compaction from './commands/compaction';
import * as continuing from './commands/continuing';
import { guarded, type Command } from './commands/guard';
import * as messages from './commands/messages';
import * as models from './commands/models';
import * as server from './commands/server';
import * as sessions from './commands/sessions';
import * as transfer from './commands/transfer';
import * as wiring from './commands/wiring';
import { writableAgents } from './protocol.gen';
import type { Ullage } from './ullage';

const COMMANDS: Readonly<Record<string, Command>> = {
  'ullage.compactContext': compaction.compact,
  'ullage.compactWithFocus': compaction.compactWithFocus,
  'ullage.compactUpTo': compaction.compactUpTo,
  'ullage.compactFrom': compaction.compactFrom,
  'ullage.cancelCompaction': compaction.cancel,
  'ullage.previewCompaction': compaction.preview,
  'ullage.acceptPreview': compaction.acceptPreview,
  'ullage.discardPreview': compaction.discardPreview,
  'ullage.undoCompaction': archive.undo,
  'ullage.restoreCheckpoint': archive.restore,
  'ullage.searchArchive': archive.search,
  'ullage.showAgents': agents.showAll,
  'ullage.openFollowSetting': agents.openSetting,
  'ullage.continueSession': continuing.continueSession,
  'ullage.wire': wiring.wire,
  'ullage.unwire': wiring.unwire,
  'ullage.showContext': sessions.showContext,
  'ullage.ask': chat.ask,
  'ullage.stopAnswer': chat.stop,
  'ullage.newSession': sessions.create,
  'ullage.switchSession': sessions.switchTo,
  'ullage.forkSession': sessions.fork,
  'ullage.setWindow': sessions.setWindow,
  'ullage.importTranscript': transfer.importTranscript,
  'ullage.importSample': transfer.importSample,
  'ullage.exportSession': transfer.exportSession,
  'ullage.pinMessage': messages.pin,
  'ullage.unpinMessage': messages.unpin,
  'ullage.restartServer': server.restart,
  'ullage.setUpServer': server.setUp,
  'ullage.showProblem': server.showProblem,
  'ullage.openServerSetting': server.openSetting,
  'ullage.openPythonSetting': server.openPythonSetting,
  'ullage.chooseModel': models.choose,
  'ullage.openModelSetting': models.openSetting,
  'ullage.setKey': server.setKey,
  'ullage.showLogs': server.showLogs,
  'ullage.copyDiagnostics': server.copyDiagnostics,
};

/** Returns the commands that name an agent, which are generated into the manifest. */
function agentCommands(): readonly (readonly [string, Command])[] {
  return writableAgents.flatMap(({ word }): readonly (readonly [string, Command])[] => [
    [`ullage.agent.compacted.${word}`, continuing.compactInto],
    [`ullage.agent.before.${word}`, continuing.undoOwn],
    [`ullage.agent.other.${word}`, continuing.continueIn(word)],
  ]);
}

export function registerCommands(ullage: Ullage): vscode.Disposable {
  const entries = [...Object.entries(COMMANDS), ...agentCommands()];
  return vscode.Disposable.from(
    ...entries.map(([id, command]) => vscode.commands.registerCommand(id, guarded(ullage, command))),
  );
}
