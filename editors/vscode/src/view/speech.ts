/** A message that is being written, piece by piece. Pure: extension and page assemble it in the same way. */
import type { Call, Part, Piece } from './messages';

/** The text and the thinking of one message so far, in order. */
export interface Speech {
  readonly id: string;
  readonly role: Piece['role'];
  readonly parts: readonly Part[];
}

/** Adds a piece to a message. If the piece has the kind of the last part it extends that part, otherwise it begins a new one. */
export function extend(speech: Speech | undefined, { id, role, kind, text }: Piece): Speech {
  const parts = speech?.parts ?? [];
  const last = parts.at(-1);
  if (last?.kind === kind) return { id, role, parts: [...parts.slice(0, -1), { kind, text: last.text + text, more: false }] };
  return { id, role, parts: [...parts, { kind, text, more: false }] };
}

/** Returns a message's own parts with the full texts of its pieces, since the texts of list items are shortened. */
export function wholeTexts(parts: readonly Part[], said: readonly Part[]): Part[] {
  const left = [...said];
  return parts.map((part) => {
    const place = left.findIndex(({ kind }) => kind === part.kind);
    return place < 0 ? part : (left.splice(place, 1)[0] ?? part);
  });
}

/** Updates a tool call. Fields that are left out keep their values. */
export function changed(call: Call | undefined, change: Pick<Call, 'id' | 'status'> & { readonly title?: string | undefined }): Call {
  return { id: change.id, status: change.status, title: change.title ?? call?.title ?? '' };
}
