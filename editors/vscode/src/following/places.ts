/** Whether agents keep conversations on this machine, found out without a server. */
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';

import { agentFolders } from '../protocol.gen';

/** Returns whether one of the agents' folders exists and is not empty. */
export async function hasConversations(environment: Readonly<Record<string, string | undefined>> = process.env): Promise<boolean> {
  const found = await Promise.all(places(process.platform, homedir(), environment).map(holdsAny));
  return found.includes(true);
}

/** Returns the agents' folders on a machine. Those that an unset environment variable would name are left out. */
export function places(platform: string, home: string, environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return (agentFolders[platform] ?? []).flatMap((place) => {
    const names = [...place.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? '');
    if (names.some((name) => !environment[name])) return [];
    return [place.replace(/^~/, () => home).replace(/\$\{(\w+)\}/g, (_, name: string) => environment[name] ?? '')];
  });
}

async function holdsAny(place: string): Promise<boolean> {
  try {
    return (await readdir(place)).length > 0;
  } catch (error) {
    // A place may be a file: a database, or a log.
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR';
  }
}
