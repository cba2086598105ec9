/** `@ullage` in VS Code's chat: answers about the conversation in the open folder, without asking a model. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { messages, shrinking } from './figures';
import { lookUp, NO_CONVERSATION, type Subject } from './lookingUp';
import { ContextCompact, ContextLost, SessionLoad } from './protocol.gen';
import { escapeMarkdown, figuresMarkdown } from './tooltip';

const ID = 'ullage.chat';
const USAGE = l10n.t('Ask for `/context` (how full it is), `/search` and words, `/lost` (what the last compaction left out), `/brief` (the text that gives it back) or `/compact`. A question without a command is searched for.');

/** What of the extension is used here. */
export interface ChatSubject extends Subject {
  /** Whether an agent has the conversation, so that Ullage only reads it. */
  readonly isFollowed: boolean;
  /** Returns a model's name as users know it. */
  nameOf(model: string): string;
  /** Does work that compacts a session. No message says what the chat says of it. */
  telling<R>(sessionId: string, work: () => Promise<R>): Promise<R>;
}

/** Registers the participant, if this VS Code has a chat. */
export function registerParticipant(subject: ChatSubject, icon: vscode.Uri): { dispose(): unknown } {
  if (typeof (vscode as Partial<typeof vscode>).chat?.createChatParticipant !== 'function') return vscode.Disposable.from();
  const participant = vscode.chat.createChatParticipant(ID, (request, _, stream, token) => answer(subject, request, stream, token));
  participant.iconPath = icon;
  return participant;
}

type Asked = Pick<vscode.ChatRequest, 'command' | 'prompt'>;
type Stream = Pick<vscode.ChatResponseStream, 'markdown' | 'button' | 'progress'>;

/** Answers one request of the user. Failures are a part of the answer. */
export async function answer(subject: ChatSubject, { command, prompt }: Asked, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const words = prompt.trim();
  switch (command) {
    case 'context':
      return context(subject, stream, token);
    case 'lost':
      stream.markdown(asRead((await lookUp(subject, command, {}, token)).text));
      stream.button(SEARCH);
      return;
    case 'brief':
      return brief(subject, stream, token);
    case 'compact':
      return compact(subject, words, stream, token);
    default:
      if (words === '') {
        stream.markdown(USAGE);
        return;
      }
      stream.markdown(asRead((await lookUp(subject, 'search', { query: words.slice(0, LONGEST_QUERY) }, token)).text));
      stream.button(SEARCH);
  }
}

/** The longest query that the server takes. */
const LONGEST_QUERY = 1_000;
const SHOW = { command: 'ullage.showContext', title: l10n.t('Show Context') };
const SEARCH = { command: 'ullage.searchArchive', title: l10n.t('Search Archive…') };

async function context(subject: ChatSubject, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined) {
    stream.markdown(NO_CONVERSATION);
    return;
  }
  const { title, usage: { used, size, cost, _meta: { ullage: meta } } } = await subject.request(SessionLoad, { sessionId }, token);
  const now = Date.now();
  stream.markdown(figuresMarkdown({ sessionId, title, used, size, cost, meta, modelName: subject.nameOf(meta.model), at: now }, now));
  stream.button(SHOW);
}

async function brief(subject: ChatSubject, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  const found = sessionId === undefined ? undefined : await subject.request(ContextLost, { sessionId, limit: 1 }, token);
  if (found?.brief) stream.markdown(asRead(found.brief));
  else stream.markdown(found?.readable === false ? l10n.t('The summary of the last compaction is encrypted, so what it leaves out is not known.') : l10n.t('There is nothing to give back: no compaction is in force, or its summary leaves nothing out that Ullage looks for.'));
}

async function compact(subject: ChatSubject, focus: string, stream: Stream, token: vscode.CancellationToken): Promise<void> {
  const sessionId = subject.subjectId;
  if (sessionId === undefined || subject.isFollowed) {
    stream.markdown(sessionId === undefined ? l10n.t('No conversation is open.') : l10n.t('An agent has this conversation, and Ullage only reads it.'));
    stream.button({ command: 'ullage.compactContext', title: l10n.t('What is possible…') });
    return;
  }
  stream.progress(l10n.t('Compacting'));
  const params = { sessionId, ...(focus === '' ? {} : { focus }) };
  const done = await subject.telling(sessionId, () => subject.request(ContextCompact, params, token));
  stream.markdown(l10n.t('Compacted {0}: {1}. Everything is kept; undo any time.', messages(done.messagesArchived), shrinking(done.contextSizeBefore, done.contextSizeAfter)));
  stream.button({ command: 'ullage.undoCompaction', title: l10n.t('Undo…') });
  stream.button(SHOW);
}

/** A line of the server's texts: a quotation, an item of a list, or a sentence. */
const LINE = /^(> ?|- )?( *)(.*)$/s;

/**
 * Returns a text of the server as Markdown whose lines wrap. What it quotes stays quoted, code in a quotation stays
 * code, and no sign in either does anything.
 */
export function asRead(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  let inCode = false;
  return text.split('\n').map((line) => {
    const [, mark = '', indent = '', words = ''] = LINE.exec(line) ?? [];
    const isQuoted = mark.startsWith('>');
    if (isQuoted && words === '```') {
      inCode = !inCode;
      return `> ${fence}`;
    }
    // Where the quotation ends, its code does.
    inCode &&= isQuoted;
    if (inCode) return `> ${indent}${words}`;
    // Two spaces at the end keep a line on its own.
    return words === '' ? mark : `${mark}${'\u00a0'.repeat(indent.length)}${escapeMarkdown(words)}  `;
  }).join('\n');
}
