/** Whether a server that has started is one that this extension can work with. Pure. */
import * as l10n from '@vscode/l10n';

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
  const version = server.serverInfo?.version ?? l10n.t('unknown');
  const methods = methodsOf(server.capabilities.experimental);
  if (!methods) return l10n.t('The program is not an Ullage server.');
  const missing = methodNames.filter((name) => !methods.includes(name));
  if (missing.length > 0) return l10n.t('The server is version {0}, which lacks {1}; this extension ({2}) needs a newer one.', version, missing.join(', '), extension);
  if (release(version) !== release(extension)) return l10n.t('The server is version {0}, and this extension {1}; they may not fit together.', version, extension);
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
