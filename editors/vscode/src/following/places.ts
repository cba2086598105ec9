/** Which agents are on this machine, and whether they keep conversations on it, found out without a server. */
import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';

import { agentFolders, writableAgents } from '../protocol.gen';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns whether one of the agents' folders exists and is not empty. */
export async function hasConversations(environment: Environment = process.env): Promise<boolean> {
  const found = await Promise.all(places(process.platform, homedir(), environment).map(holdsAny));
  return found.includes(true);
}

/** Returns the words of the agents whose sessions can be written and that have a folder for their settings on this machine. */
export async function agentsHere(home = homedir(), environment: Environment = process.env): Promise<readonly string[]> {
  const found = await Promise.all(writableAgents.map(async ({ word, folders }) => {
    const [folder] = located(folders, home, environment);
    return folder !== undefined && (await isFolder(folder)) ? [word] : [];
  }));
  return found.flat();
}

/** Returns the agents' folders on a machine. Those that an unset environment variable would name are left out. */
export function places(platform: string, home: string, environment: Environment): readonly string[] {
  return located(agentFolders[platform] ?? [], home, environment);
}

function located(folders: readonly string[], home: string, environment: Environment): readonly string[] {
  return folders.flatMap((place) => {
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

async function isFolder(place: string): Promise<boolean> {
  return stat(place).then((found) => found.isDirectory(), () => false);
}
