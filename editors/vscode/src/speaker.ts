/** Returns the word for who speaks: `you`, `assistant`, `system`, and `agent` for an agent's program that writes as the user. */
export function speaker(role: string): string {
  return role === 'user' ? 'you' : role;
}
