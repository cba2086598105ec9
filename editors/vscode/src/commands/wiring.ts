/** Commands that add Ullage to agents' settings and take it out again, after the user has seen the change. */
import * as vscode from 'vscode';

import { errorKind } from '../errors';
import { asLabel } from '../labels';
import { AgentsUnwire, AgentsWire, type Method, type UnwireParams, type WiredAgent, type WiringResult } from '../protocol.gen';
import type { Ullage } from '../ullage';
import type { Command } from './guard';

/** What differs between adding and taking out. */
interface Direction {
  readonly method: Method<UnwireParams, WiringResult>;
  readonly title: string;
  readonly question: (agent: string) => string;
  readonly yes: string;
  readonly done: (agent: string) => string;
  /** What is said of an agent with nothing to change. */
  readonly same: (agent: string) => string;
}

const ADD: Direction = {
  method: AgentsWire,
  title: 'Give Back What Compactions Take',
  question: (agent) => `Add this to ${agent}’s settings? When it has compacted, it then gets back what its summary left out.`,
  yes: 'Add',
  done: (agent) => `Added to ${agent}.`,
  same: (agent) => `${agent} has it already.`,
};
const TAKE_OUT: Direction = {
  method: AgentsUnwire,
  title: 'Give Nothing Back to Agents',
  question: (agent) => `Take this out of ${agent}’s settings?`,
  yes: 'Take Out',
  done: (agent) => `Taken out of ${agent}.`,
  same: (agent) => `Nothing of Ullage is in ${agent}’s settings.`,
};

export const wire: Command = async (ullage) => {
  const { agents } = await ullage.sessions.request(AgentsWire, { dryRun: true });
  if (agents.length === 0) {
    void vscode.window.showInformationMessage('No agent is on this machine that Ullage can be added to.');
    return;
  }
  await changeAll(ullage, ADD, await chooseAgents(agents, ADD.title));
};

export const unwire: Command = async (ullage) => {
  const { agents } = await ullage.sessions.request(AgentsUnwire, { dryRun: true });
  const wired = agents.filter((agent) => agent.wired);
  if (wired.length === 0) void vscode.window.showInformationMessage('Ullage is in no agent’s settings.');
  else await changeAll(ullage, TAKE_OUT, await chooseAgents(wired, TAKE_OUT.title));
};

interface WiredItem extends vscode.QuickPickItem {
  readonly agent: WiredAgent;
}

/** Lets the user choose agents, if there are several. */
async function chooseAgents(agents: readonly WiredAgent[], title: string): Promise<readonly WiredAgent[]> {
  if (agents.length === 1) return agents;
  const items = agents.map((agent): WiredItem => ({
    label: asLabel(agent.agent),
    description: agent.files.length === 0 ? 'has it already' : '',
    detail: asLabel(agent.path),
    picked: agent.files.length > 0,
    agent,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: 'In which agents? You see each change before it is made', canPickMany: true });
  return (chosen ?? []).map(({ agent }) => agent);
}

async function changeAll(ullage: Ullage, direction: Direction, agents: readonly WiredAgent[]): Promise<void> {
  for (const { word } of agents) await change(ullage, direction, word);
}

/** Shows the change of an agent's settings, and makes it if the user agrees. If the files change meanwhile, shows it again. */
async function change(ullage: Ullage, direction: Direction, word: string): Promise<void> {
  for (;;) {
    const preview = await ullage.sessions.request(direction.method, { agent: word, dryRun: true });
    const [agent] = preview.agents;
    if (!agent || preview.previewId === null) return;
    if (agent.files.length === 0 && (direction === ADD || !agent.wired)) {
      void vscode.window.showInformationMessage(direction.same(agent.agent));
      return;
    }
    if (!(await agrees(ullage, direction, agent))) return;
    try {
      const made = await ullage.sessions.request(direction.method, { agent: word, previewId: preview.previewId });
      const notes = made.agents.flatMap((one) => one.notes);
      void vscode.window.showInformationMessage([direction.done(agent.agent), ...notes].join(' '));
      return;
    } catch (error) {
      if (errorKind(error) !== 'PreviewExpired') throw error;
    }
  }
}

async function agrees(ullage: Ullage, direction: Direction, { agent, files }: WiredAgent): Promise<boolean> {
  const close = await ullage.differences.show(agent, files);
  try {
    return (await vscode.window.showInformationMessage(direction.question(agent), direction.yes, 'Cancel')) === direction.yes;
  } finally {
    await close();
  }
}
