/** The server's state as the view shows it. Pure. */
import { describe, NOT_SET_UP, type Health } from '../health';
import type { HostMessageOf } from './messages';

export function serverState(health: Health): HostMessageOf<'server'> {
  switch (health.kind) {
    case 'idle':
      return { type: 'server', state: 'busy', text: '', actions: [] };
    case 'running':
      return { type: 'server', state: 'running', text: health.misfit, actions: health.misfit === '' ? [] : ['setUp', 'log'] };
    case 'missing': {
      const text = health.fixable && !health.lacksPython ? NOT_SET_UP : health.reason;
      return { type: 'server', state: 'down', text, actions: health.fixable ? ['setUp', 'problem'] : ['problem'] };
    }
    case 'stopped':
      return { type: 'server', state: 'down', text: health.reason, actions: ['restart', 'problem', 'log'] };
    default:
      return { type: 'server', state: 'busy', text: describe(health), actions: [] };
  }
}
