/** Commands that ask the model without the prompt box of the Context view. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { activeSession, type Command } from './guard';
import { showContext } from './sessions';

export const ask: Command = async (ullage) => {
  const sessionId = activeSession(ullage);
  const { prompting } = ullage.sessions;
  const remedy = prompting ? ullage.chat.remedy(prompting) : null;
  if (remedy !== null) throw new Error(remedy);
  const text = await vscode.window.showInputBox({ title: l10n.t('Ask the Model'), prompt: l10n.t('The answer comes in the Context view') });
  if (!text?.trim()) return;
  await showContext(ullage);
  void ullage.chat.prompt(sessionId, text.trim());
};

export const stop: Command = (ullage) => ullage.chat.stop(activeSession(ullage));
