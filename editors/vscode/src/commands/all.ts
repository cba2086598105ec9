/** All commands. They are loaded with the first one that is run. */
export * as agents from './agents';
export * as compaction from './compaction';
export { guarded } from './guard';
export * as messages from './messages';
export * as server from './server';
export * as sessions from './sessions';
