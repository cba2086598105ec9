/** Commands that add Ullage to agents' settings and take it out again, after the user has seen the change. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorKind } from '../errors';
import { asLabel } from '../labels';
import { AgentsUnwire, AgentsWire, type Method, type WiredAgent, type WireParams, type WiringOption, type WiringResult } from '../protocol.gen';
import type { Ullage } from '../ullage';
import type { Command } from './guard';

/** What differs between adding and taking out. */
interface Direction {
  readonly method: Method<WireParams, WiringResult>;
  readonly question: (agent: string) => string;
  readonly yes: string;
  readonly done: (agent: string) => string;
  /** What is said of an agent with nothing to change. */
  readonly same: (agent: string) => string;
}

/** What the user has chosen of an agent's options. What is missing stays as it is. */
type Chosen = Pick<WireParams, WiringOption['name']>;

/** The button that lets the user choose, and the words for each option. */
const OPTIONS = l10n.t('Options…');
/** The button that takes Ullage out of an agent that has it. */
const OUT = l10n.t('Take Out…');
const WORDS: Readonly<Record<WiringOption['name'], { readonly label: string; readonly detail: string }>> = {
  fillNotes: { label: l10n.t('Notes of the fill'), detail: l10n.t('Its model is told how full the context is: at 70%, at 85%, and two calls before the compaction') },
  statusLine: { label: l10n.t('Status line'), detail: l10n.t('Its status line shows the figure, after what it shows already') },
};

const ADD: Direction = {
  method: AgentsWire,
  question: (agent) => l10n.t('Add this to {0}’s settings? When it has compacted, it then gets back what its summary left out.', agent),
  yes: l10n.t('Add'),
  done: (agent) => l10n.t('Added to {0}.', agent),
  same: (agent) => l10n.t('{0} has it already.', agent),
};
const TAKE_OUT: Direction = {
  method: AgentsUnwire,
  question: (agent) => l10n.t('Take this out of {0}’s settings?', agent),
  yes: l10n.t('Take Out'),
  done: (agent) => l10n.t('Taken out of {0}.', agent),
  same: (agent) => l10n.t('Nothing of Ullage is in {0}’s settings.', agent),
};

export const wire: Command = async (ullage) => {
  const { agents } = await ullage.sessions.request(AgentsWire, { dryRun: true });
  if (agents.length === 0) {
    void vscode.window.showInformationMessage(l10n.t('No agent is on this machine that Ullage can be added to.'));
    return;
  }
  await changeAll(ullage, ADD, await chooseAgents(agents, l10n.t('Give Back What Compactions Take')));
};

interface WiredItem extends vscode.QuickPickItem {
  readonly agent: WiredAgent;
}

/** Lets the user choose agents, if there are several. */
async function chooseAgents(agents: readonly WiredAgent[], title: string): Promise<readonly WiredAgent[]> {
  // The request for one that failed says why.
  if (agents.length === 1) return agents;
  const items = agents.map((agent): WiredItem => ({
    label: asLabel(agent.agent),
    description: agent.failed ? l10n.t("its settings can't be changed") : agent.files.length === 0 ? l10n.t('has it already') : '',
    detail: asLabel(agent.failed ? agent.notes.join(' ') : agent.path),
    picked: agent.files.length > 0,
    agent,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: l10n.t('In which agents? You see each change before it is made'), canPickMany: true });
  return (chosen ?? []).map(({ agent }) => agent);
}

async function changeAll(ullage: Ullage, direction: Direction, agents: readonly WiredAgent[]): Promise<void> {
  for (const { word } of agents.filter(({ files }) => files.length > 0)) await change(ullage, direction, word);
  // None of these waits until the user has closed what is said of another one.
  await Promise.all(agents.filter(({ files }) => files.length === 0).map(({ word }) => change(ullage, direction, word)));
}

/** Shows the change of an agent's settings, and makes it if the user agrees. If the files or the options change meanwhile, shows it again. */
async function change(ullage: Ullage, direction: Direction, word: string): Promise<void> {
  let chosen: Chosen = {};
  for (;;) {
    const preview = await ullage.sessions.request(direction.method, { agent: word, ...chosen, dryRun: true });
    const [agent] = preview.agents;
    if (!agent || preview.previewId === null) return;
    const isSame = agent.files.length === 0 && (direction === ADD || !agent.wired);
    const answer = isSame ? await saySame(direction, agent) : await ask(ullage, direction, agent);
    if (answer === OPTIONS) {
      chosen = (await chooseOptions(agent)) ?? chosen;
      continue;
    }
    if (answer === OUT) return change(ullage, TAKE_OUT, word);
    if (answer !== direction.yes) return;
    try {
      const made = await ullage.sessions.request(direction.method, { agent: word, ...chosen, previewId: preview.previewId });
      const notes = made.agents.flatMap((one) => one.notes);
      void vscode.window.showInformationMessage([direction.done(agent.agent), ...notes].join(' '));
      return;
    } catch (error) {
      if (errorKind(error) !== 'PreviewExpired') throw error;
    }
  }
}

/** Says that nothing is to be changed. Returns the button that the user chose, if any. */
async function saySame(direction: Direction, agent: WiredAgent): Promise<string | undefined> {
  const out = agent.wired && direction === ADD ? [OUT] : [];
  return vscode.window.showInformationMessage(direction.same(agent.agent), ...optionsButton(agent), ...out);
}

/** Shows a change and asks for it. Returns the button that the user chose, if any. */
async function ask(ullage: Ullage, direction: Direction, agent: WiredAgent): Promise<string | undefined> {
  const close = await ullage.differences.show(agent.agent, agent.files);
  try {
    return await vscode.window.showInformationMessage(direction.question(agent.agent), direction.yes, ...optionsButton(agent), l10n.t('Cancel'));
  } finally {
    await close();
  }
}

function optionsButton({ options }: WiredAgent): readonly string[] {
  return options.length > 0 ? [OPTIONS] : [];
}

interface OptionItem extends vscode.QuickPickItem {
  readonly name: WiringOption['name'];
}

/** Lets the user choose an agent's options. Returns undefined if the user cancels. */
async function chooseOptions({ agent, options }: WiredAgent): Promise<Chosen | undefined> {
  const items = options.map(({ name, on }): OptionItem => ({ ...WORDS[name], picked: on, name }));
  const placeHolder = l10n.t('You see the change before it is made');
  const kept = await vscode.window.showQuickPick(items, { title: l10n.t('What else {0} gets', asLabel(agent)), placeHolder, canPickMany: true });
  return kept && Object.fromEntries(items.map(({ name }) => [name, kept.some((item) => item.name === name)]));
}
