/**
 * What is known of the conversation in the open folder, for language models and for the chat: the tools of the MCP
 * server, whose results are the same everywhere. A VS Code without tools or without a chat just lacks them.
 */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { errorText, isCancelled } from './errors';
import { ContextLookUp, type LookUpResult, type Method } from './protocol.gen';

/** The beginning of the tools' names in the manifest. */
const PREFIX = 'ullage_';
const TOOLS = ['search', 'open', 'context', 'lost'] as const;
type ToolName = (typeof TOOLS)[number];
export const NO_CONVERSATION =
  l10n.t("No conversation is open or followed in this folder. Ullage shows one when a coding agent runs here, or after 'Ullage: Import Transcript…'.");

/** What of the extension is used here. */
export interface Subject {
  /** The session that is meant if none is named. */
  readonly subjectId: string | undefined;
  request<P, R>(method: Method<P, R>, params: NoInfer<P>, token?: vscode.CancellationToken): Promise<R>;
}

/** The parts of VS Code 1.95 that the types of our oldest VS Code lack. */
interface ToolApi {
  readonly lm?: { registerTool?(name: string, tool: Tool): vscode.Disposable };
  readonly LanguageModelToolResult?: new (content: readonly unknown[]) => unknown;
  readonly LanguageModelTextPart?: new (text: string) => unknown;
}
interface Tool {
  prepareInvocation(): { readonly invocationMessage: string };
  invoke(options: { readonly input: object }, token: vscode.CancellationToken): Promise<unknown>;
}

/** Returns what a tool finds in the conversation of the open folder. What is wrong with the call is a text, too. */
export async function lookUp(subject: Subject, tool: ToolName, given: object, token?: vscode.CancellationToken): Promise<LookUpResult> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined) return { text: NO_CONVERSATION, isError: true };
  try {
    return await subject.request(ContextLookUp, { sessionId, tool, arguments: { ...given } }, token);
  } catch (error) {
    if (isCancelled(error)) throw error;
    return { text: errorText(error), isError: true };
  }
}

/** Offers the tools to the language models of VS Code. */
export function registerTools(subject: Subject): vscode.Disposable {
  const { lm, LanguageModelToolResult: Result, LanguageModelTextPart: Text } = vscode as unknown as ToolApi;
  if (!lm?.registerTool || !Result || !Text) return vscode.Disposable.from();
  const register = lm.registerTool.bind(lm);
  return vscode.Disposable.from(...TOOLS.map((name) => register(PREFIX + name, {
    prepareInvocation: () => ({ invocationMessage: DOING[name] }),
    invoke: async ({ input }, token) => new Result([new Text((await lookUp(subject, name, input, token)).text)]),
  })));
}

const DOING: Readonly<Record<ToolName, string>> = {
  search: l10n.t("Searching the agent's conversation"),
  open: l10n.t("Reading messages of the agent's conversation"),
  context: l10n.t("Reading how full the agent's context is"),
  lost: l10n.t("Reading what the agent's last compaction left out"),
};
