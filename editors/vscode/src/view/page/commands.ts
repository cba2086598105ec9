/** The words of the buttons that run commands of the extension. */
import * as l10n from '@vscode/l10n';

import type { CommandName } from '../messages';
import { button } from './dom';

const WORDS: Readonly<Record<CommandName, string>> = {
  compact: l10n.t('Compact now'),
  preview: l10n.t('Preview'),
  new: l10n.t('New Session'),
  import: l10n.t('Import a Conversation…'),
  sample: l10n.t('Try the Sample'),
  switch: l10n.t('Switch Session…'),
  setWindow: l10n.t('Set the model’s window'),
  setUp: l10n.t('Set it up for me'),
  restart: l10n.t('Restart the server'),
  problem: l10n.t('Other ways…'),
  log: l10n.t('Show log'),
  setKey: l10n.t('Set a key…'),
  chooseModel: l10n.t('Choose a model…'),
};

export function commandButton(spec: '' | `.${string}`, name: CommandName, run: (name: CommandName) => void): HTMLButtonElement {
  return button(spec, {}, () => run(name), WORDS[name]);
}
