import { DatabaseSync } from "node:sqlite";

export interface User {
  id: string;
  name: string;
  passwordHash: string;
}

export interface SessionRow {
  id: string;
  userId: string;
  device: string;
  startedAt: number;
  endedAt: number | null;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    password_hash TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users(id),
    device TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
  );
  CREATE INDEX IF NOT EXISTS sessions_by_user ON sessions(user_id, ended_at);
`;

/** All SQL of the service. Every method is one statement or one transaction. */
export class Store {
  private readonly db: DatabaseSync;

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;");
    this.db.exec(SCHEMA);
  }

  addUser(user: User): void {
    this.db
      .prepare("INSERT INTO users (id, name, password_hash) VALUES (?, ?, ?)")
      .run(user.id, user.name, user.passwordHash);
  }

  userByName(name: string): User | undefined {
    const row = this.db
      .prepare("SELECT id, name, password_hash AS passwordHash FROM users WHERE name = ?")
      .get(name);
    return row as User | undefined;
  }

  startSession(session: SessionRow): void {
    this.db
      .prepare("INSERT INTO sessions (id, user_id, device, started_at, ended_at) VALUES (?, ?, ?, ?, NULL)")
      .run(session.id, session.userId, session.device, session.startedAt);
  }

  session(id: string): SessionRow | undefined {
    const row = this.db
      .prepare(
        `SELECT id, user_id AS userId, device, started_at AS startedAt, ended_at AS endedAt
         FROM sessions WHERE id = ?`,
      )
      .get(id);
    return row as SessionRow | undefined;
  }

  endSession(id: string, now: number): boolean {
    const done = this.db
      .prepare("UPDATE sessions SET ended_at = ? WHERE id = ? AND ended_at IS NULL")
      .run(now, id);
    return done.changes === 1;
  }

  /** Runs `work` in one transaction that takes the write lock at once. */
  transaction<T>(work: () => T): T {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.db.exec("COMMIT");
      return result;
    } catch (error) {
      this.db.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.db.close();
  }
}
