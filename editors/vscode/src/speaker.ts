/** Returns the word for who speaks: `you`, `assistant`, `system`. */
export function speaker(role: string): string {
  return role === 'user' ? 'you' : role;
}
