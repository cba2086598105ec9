/** The words of the buttons that run commands of the extension. */
import * as l10n from '@vscode/l10n';

import type { CommandName } from '../messages';
import { button } from './dom';

const WORDS: Readonly<Record<CommandName, string>> = {
  compact: l10n.t('Compact now'),
  preview: l10n.t('Preview'),
  setWindow: l10n.t('Set the model’s window'),
  setUp: l10n.t('Set it up for me'),
  restart: l10n.t('Restart the server'),
  problem: l10n.t('Other ways…'),
  log: l10n.t('Show log'),
};

export function commandButton(spec: '' | `.${string}`, name: CommandName, run: (name: CommandName) => void): HTMLButtonElement {
  return button(spec, {}, () => run(name), WORDS[name]);
}
