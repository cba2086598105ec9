/** The state that the page keeps while it is hidden. It is checked when it is restored, because an older version may have written it. */
import { type Guarded, list, number, object, optional, string } from '../guard';

const prompt = object({
  /** The text that is typed and not sent. */
  draft: string,
  /** Earlier prompts, the last one last. */
  history: list(string),
});

export const isKept = object({
  sessionId: string,
  place: object({
    /** Opened groups of archived messages. */
    opened: list(string),
    /** Opened messages and markers. */
    expanded: list(string),
    /** The row at the view's top; undefined if the view is at the end. */
    anchor: optional(object({ key: string, offset: number })),
  }),
  prompt: optional(prompt),
});

export type Kept = Guarded<typeof isKept>;
export type PromptKept = Guarded<typeof prompt>;
export type Place = Kept['place'];
