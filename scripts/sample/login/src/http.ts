import type { IncomingMessage, ServerResponse } from "node:http";
import { LoginRefused, SessionEnded, type Sessions } from "./sessions.ts";
import { TokenError } from "./tokens.ts";

type Handler = (request: Request) => Promise<Answer> | Answer;

interface Request {
  body: Record<string, unknown>;
  bearer: string | undefined;
  device: string;
}

interface Answer {
  status: number;
  body?: unknown;
}

// Nobody has a name or password this long; a body beyond it is not read further.
const MAX_BODY_BYTES = 16 * 1024;

/** The routes, and the one place where errors become status codes. */
export function routes(sessions: Sessions): Record<string, Handler> {
  return {
    "POST /login": async ({ body, device }) => {
      const name = text(body, "name");
      const password = text(body, "password");
      return { status: 200, body: await sessions.login(name, password, device) };
    },
    "GET /me": ({ bearer }) => {
      const { userId } = sessions.whoIs(required(bearer));
      return { status: 200, body: { userId } };
    },
    "POST /logout": ({ bearer }) => {
      sessions.logout(required(bearer));
      return { status: 204 };
    },
  };
}

export function listener(handlers: Record<string, Handler>) {
  return async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await respond(handlers, incoming).catch(failure);
    response.writeHead(answer.status, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  };
}

async function respond(handlers: Record<string, Handler>, incoming: IncomingMessage): Promise<Answer> {
  const path = new URL(incoming.url ?? "/", "http://localhost").pathname;
  const handler = handlers[`${incoming.method} ${path}`];
  if (!handler) {
    return { status: 404, body: { error: "not_found" } };
  }
  return handler({
    body: await readBody(incoming),
    bearer: /^Bearer (.+)$/.exec(incoming.headers.authorization ?? "")?.[1],
    device: String(incoming.headers["x-device"] ?? "unknown"),
  });
}

function failure(error: unknown): Answer {
  if (error instanceof LoginRefused) {
    return { status: error.reason === "locked" ? 429 : 401, body: { error: error.reason } };
  }
  if (error instanceof TokenError || error instanceof SessionEnded) {
    return { status: 401, body: { error: error instanceof TokenError ? error.reason : "ended" } };
  }
  if (error instanceof BadRequest) {
    return { status: 400, body: { error: error.message } };
  }
  console.error(error);
  return { status: 500, body: { error: "internal" } };
}

class BadRequest extends Error {}

function text(body: Record<string, unknown>, field: string): string {
  const value = body[field];
  if (typeof value !== "string" || value === "") {
    throw new BadRequest(`${field} is missing`);
  }
  return value;
}

function required(bearer: string | undefined): string {
  if (!bearer) {
    throw new TokenError("malformed");
  }
  return bearer;
}

async function readBody(incoming: IncomingMessage): Promise<Record<string, unknown>> {
  let size = 0;
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new BadRequest("body too large");
    }
    chunks.push(chunk);
  }
  if (size === 0) {
    return {};
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new BadRequest("body is not JSON");
  }
}
