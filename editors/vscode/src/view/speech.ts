/** A message as it is written, piece by piece. Pure: extension and page put it together the same way. */
import type { Call, Part, Piece } from './messages';

/** The text and the thinking of one message so far, in the order they came. */
export interface Speech {
  readonly id: string;
  readonly role: Piece['role'];
  readonly parts: readonly Part[];
}

/** The message with one more piece: what is of the same kind as its end goes on, what is not begins a new part. */
export function extend(speech: Speech | undefined, { id, role, kind, text }: Piece): Speech {
  const parts = speech?.parts ?? [];
  const last = parts.at(-1);
  if (last?.kind === kind) return { id, role, parts: [...parts.slice(0, -1), { kind, text: last.text + text, more: false }] };
  return { id, role, parts: [...parts, { kind, text, more: false }] };
}

/** A message's own parts, with the texts as they were said: those of a list are cut short. */
export function wholeTexts(parts: readonly Part[], said: readonly Part[]): Part[] {
  const left = [...said];
  return parts.map((part) => {
    const place = left.findIndex(({ kind }) => kind === part.kind);
    return place < 0 ? part : (left.splice(place, 1)[0] ?? part);
  });
}

/** A tool call with what is new of it; fields left out keep what they were. */
export function changed(call: Call | undefined, change: Pick<Call, 'id' | 'status'> & { readonly title?: string | undefined }): Call {
  return { id: change.id, status: change.status, title: change.title ?? call?.title ?? '' };
}
