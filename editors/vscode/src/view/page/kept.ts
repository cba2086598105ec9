/** The state that the page keeps while it is hidden. It is checked when it is restored, because an older version may have written it. */
import { type Guarded, list, number, object, optional, string } from '../messages';

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
});

export type Kept = Guarded<typeof isKept>;
export type Place = Kept['place'];
