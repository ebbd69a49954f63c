/** A middleware for the Vercel AI SDK that asks a vista-guard proxy about each answer before it is shown. */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Middleware,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { TurnReport } from "./report.js";

export type * from "./field.js";
export type { TurnReport } from "./report.js";

export type GivenDocument = string | { text: string; id?: string; title?: string; url?: string };

export interface GuardOptions {
  /** The proxy's address: http://127.0.0.1:8080. */
  url: string;
  /** A tenant's key, where the proxy has keys. */
  apiKey?: string;
  /** Documents to verify answers against, beside tool results and `providerOptions.vistaGuard.documents` of a call. */
  documents?: (prompt: LanguageModelV4Prompt) => GivenDocument[] | PromiseLike<GivenDocument[]>;
  /** Is told the report on each answer. */
  onReport?: (report: TurnReport) => void;
  /** Milliseconds until a check is given up, and the call fails. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
}

/** The proxy did not judge an answer: nothing of it was shown. */
export class GuardError extends Error {
  override name = "GuardError";
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

type Message = { role: string; content: string | null; tool_call_id?: string; tool_calls?: object[] };
type PerCall = { documents?: GivenDocument[]; conversationId?: string };

/**
 * Judges what a model says; an answer that is withheld is replaced by the policy's message, with the finish reason
 * `content-filter`. Streams are held until the whole answer was judged. An answer in JSON is data for a program: it passes.
 *
 *     const model = wrapLanguageModel({ model: openai("gpt-4.1"), middleware: vistaGuard({ url: "http://127.0.0.1:8080" }) });
 */
export function vistaGuard(options: GuardOptions): LanguageModelV4Middleware {
  return {
    specificationVersion: "v4",
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const text = textOf(result.content);
      if (passes(text, params)) return result;
      const report = await check(options, params, text);
      const { structuredOutputText: _, ...rest } = result;
      return {
        ...rest,
        content: delivered(result.content, text, report),
        finishReason: finishReason(result.finishReason, report),
        providerMetadata: { ...result.providerMetadata, ...metadata(report) },
      };
    },
    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      return { ...rest, stream: stream.pipeThrough(held(options, params)) };
    },
  };
}

/** Holds what says something until the end, judges it, and lets the rest through as it comes. */
function held(options: GuardOptions, params: LanguageModelV4CallOptions) {
  const parts: LanguageModelV4StreamPart[] = [];
  return new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
    async transform(part, controller) {
      if (["stream-start", "response-metadata", "ping", "error"].includes(part.type)) return controller.enqueue(part);
      if (part.type === "raw") return; // the provider's own event holds the words that are held here
      if (part.type !== "finish") return void parts.push(part);
      const text = parts.map((each) => (each.type === "text-delta" ? each.delta : "")).join("");
      if (passes(text, params)) {
        for (const each of [...parts.splice(0), part]) controller.enqueue(each);
        return;
      }
      const report = await check(options, params, text);
      for (const each of shown(parts.splice(0), text, report)) controller.enqueue(each);
      const providerMetadata = { ...part.providerMetadata, ...metadata(report) };
      controller.enqueue({ ...part, finishReason: finishReason(part.finishReason, report), providerMetadata });
    },
    flush() {
      if (parts.length > 0) throw new GuardError("the model's stream ended in the middle; its answer was not judged");
    },
  });
}

function shown(parts: LanguageModelV4StreamPart[], text: string, report: TurnReport): LanguageModelV4StreamPart[] {
  if (!withheld(report) && report.response === text) return parts;
  const id = "vista-guard";
  const words: LanguageModelV4StreamPart[] = [
    { type: "text-start", id },
    { type: "text-delta", id, delta: report.response },
    { type: "text-end", id },
  ];
  return withheld(report) ? words : [...words, ...parts.filter(({ type }) => type.startsWith("tool-"))];
}

function delivered(content: LanguageModelV4Content[], text: string, report: TurnReport): LanguageModelV4Content[] {
  if (!withheld(report) && report.response === text) return content;
  const words: LanguageModelV4Content = { type: "text", text: report.response };
  return withheld(report) ? [words] : [words, ...content.filter(({ type }) => type.startsWith("tool-"))];
}

function withheld(report: TurnReport): boolean {
  return report.decision.action === "BLOCK";
}

function finishReason(given: LanguageModelV4FinishReason, report: TurnReport): LanguageModelV4FinishReason {
  return withheld(report) ? { unified: "content-filter", raw: "vista-guard" } : given;
}

function metadata(report: TurnReport): SharedV4ProviderMetadata {
  const { score = null, risk = null, evidence_missing, turn_index } = report;
  const told = { action: report.decision.action, score, risk, turn_index, evidence_missing: evidence_missing ?? false };
  return { vistaGuard: told as SharedV4ProviderMetadata[string] };
}

function passes(text: string, params: LanguageModelV4CallOptions): boolean {
  return text.trim() === "" || params.responseFormat?.type === "json";
}

async function check(options: GuardOptions, params: LanguageModelV4CallOptions, answer: string): Promise<TurnReport> {
  const own = (params.providerOptions?.vistaGuard ?? {}) as PerCall;
  const documents = [...((await options.documents?.(params.prompt)) ?? []), ...(own.documents ?? [])];
  const messages = [...params.prompt.flatMap(messagesOf), { role: "assistant", content: answer }];
  const response = await (options.fetch ?? fetch)(new URL("/guard/check", options.url), {
    method: "POST",
    headers: { "content-type": "application/json", ...(options.apiKey ? { "x-vista-guard-key": options.apiKey } : {}) },
    body: JSON.stringify({ messages, documents, conversation_id: own.conversationId ?? null }),
    signal: AbortSignal.any([AbortSignal.timeout(options.timeout ?? 60_000), ...(params.abortSignal ? [params.abortSignal] : [])]),
  });
  if (!response.ok) {
    const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
    throw new GuardError(`the guard answered ${response.status}: ${body?.error?.message ?? "no reason given"}`, response.status);
  }
  const report = (await response.json()) as TurnReport;
  options.onReport?.(report);
  return report;
}

function messagesOf(message: LanguageModelV4Prompt[number]): Message[] {
  if (message.role === "system") return [{ role: "system", content: message.content }];
  if (message.role === "user") return [{ role: "user", content: textOf(message.content) }];
  const results = message.content.filter((part): part is LanguageModelV4ToolResultPart => part.type === "tool-result");
  const tools = results.map((part) => ({ role: "tool", tool_call_id: part.toolCallId, content: outputOf(part.output) }));
  if (message.role === "tool") return tools;
  const calls = message.content.flatMap((part) =>
    part.type === "tool-call" ? [{ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: "{}" } }] : [],
  );
  const said = textOf(message.content);
  const own = { role: "assistant", content: said || null, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  return said || calls.length > 0 ? [own, ...tools] : tools;
}

function textOf(content: readonly { type: string }[]): string {
  return content.map((part) => (part.type === "text" ? (part as { type: "text"; text: string }).text : "")).join("");
}

function outputOf(output: LanguageModelV4ToolResultPart["output"]): string {
  if (output.type === "text" || output.type === "error-text") return output.value;
  if (output.type === "content") return textOf(output.value);
  return "value" in output ? JSON.stringify(output.value) : "";
}
