/** Whether a server that has started is one that this extension can work with. Pure. */
import { methodNames } from './protocol.gen';

/** The part of a server's `initialize` result that is read here. It comes from a program that may be another. */
export interface ServerIntroduction {
  readonly serverInfo?: { readonly name: string; readonly version?: string | undefined } | undefined;
  readonly capabilities: { readonly experimental?: unknown };
}

/**
 * Returns why a server does not fit the extension of this version, or undefined if it fits. A server fits if it has
 * every method of the extension's protocol and is of the same release: before 1.0 a minor version may break.
 */
export function misfit(server: ServerIntroduction, extension: string): string | undefined {
  const version = server.serverInfo?.version ?? 'unknown';
  const methods = methodsOf(server.capabilities.experimental);
  if (!methods) return 'The program is not an Ullage server.';
  const missing = methodNames.filter((name) => !methods.includes(name));
  const found = `The server is version ${version}`;
  if (missing.length > 0) return `${found}, which lacks ${missing.join(', ')}; this extension (${extension}) needs a newer one.`;
  if (release(version) !== release(extension)) return `${found}, and this extension ${extension}; they may not fit together.`;
  return undefined;
}

/** Returns the part of a version that must be equal: `1` of `1.4.2`, `0.4` of `0.4.2`. */
function release(version: string): string {
  const [major = '', minor = ''] = version.split('.');
  return major === '0' ? `0.${minor}` : major;
}

function methodsOf(experimental: unknown): readonly unknown[] | undefined {
  const ullage: unknown = isObject(experimental) ? experimental['ullage'] : undefined;
  const methods: unknown = isObject(ullage) ? ullage['methods'] : undefined;
  return Array.isArray(methods) ? methods : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
