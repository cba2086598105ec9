/** The words of the buttons that run commands of the extension. */
import type { CommandName } from '../messages';
import { button } from './dom';

const WORDS: Readonly<Record<CommandName, string>> = {
  compact: 'Compact now',
  preview: 'Preview',
  new: 'New Session',
  import: 'Import a Conversation…',
  sample: 'Try the Sample',
  switch: 'Switch Session…',
  setWindow: 'Set the model’s window',
  setUp: 'Set it up for me',
  restart: 'Restart the server',
  problem: 'Other ways…',
  log: 'Show log',
  setKey: 'Set a key…',
  chooseModel: 'Choose a model…',
};

export function commandButton(spec: '' | `.${string}`, name: CommandName, run: (name: CommandName) => void): HTMLButtonElement {
  return button(spec, {}, () => run(name), WORDS[name]);
}
