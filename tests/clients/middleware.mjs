// What a user of the AI SDK gets behind the middleware: `node middleware.mjs URL TRUTH LIE NOTES` prints a line a case.
import { generateText, streamText, wrapLanguageModel, jsonSchema, Output } from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream } from "ai/test";
import { vistaGuard, GuardError } from "./dist/index.js";

const [url, truth, lie, notes] = process.argv.slice(2);
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = { unified: "stop", raw: "stop" };
const parts = (text) => text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "1", delta }));
const model = (text) =>
  new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text }], finishReason: finish, usage, warnings: [] }),
    doStream: async () => ({
      stream: convertArrayToReadableStream([
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        ...parts(text),
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: finish, usage },
      ]),
    }),
  });
const reports = [];
const guarded = (text, options = {}) =>
  wrapLanguageModel({ model: model(text), middleware: vistaGuard({ url, documents: () => [notes], onReport: (one) => reports.push(one), ...options }) });
const told = (result) => [result.text, result.finishReason, result.providerMetadata?.vistaGuard?.action ?? null];
const say = (...values) => console.log(JSON.stringify(values));

const prompt = "When did the whale hall open?";
say("good", ...told(await generateText({ model: guarded(truth), prompt })));
say("bad", ...told(await generateText({ model: guarded(lie), prompt })));
for (const [name, text] of [["good stream", truth], ["bad stream", lie]]) {
  const result = streamText({ model: guarded(text), prompt });
  const heard = [];
  for await (const delta of result.textStream) heard.push(delta);
  say(name, heard.join(""), await result.finishReason, (await result.providerMetadata)?.vistaGuard?.action ?? null);
}
const silent = { documents: () => [] };
const user = { role: "user", content: prompt };
const call = (vistaGuard, ...messages) => generateText({ model: guarded(truth, silent), messages, providerOptions: { vistaGuard } });
say("per call", ...told(await call({ documents: [notes], conversationId: "visit-7" }, user)));
const before = [user, { role: "assistant", content: truth }, user];
say("remembered", ...told(await call({ conversationId: "visit-7" }, ...before)), reports.at(-1).outcomes[0].label);
const messages = [
  { role: "system", content: "Be brief." },
  user,
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} }] },
  { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "text", value: notes } }] },
];
await generateText({ model: guarded(truth, silent), messages, allowSystemInMessages: true });
say("tool", reports.at(-1).outcomes[0].label);
const count = reports.length;
const schema = jsonSchema({ type: "object", properties: { year: { type: "number" } } });
const answer = await generateText({ model: guarded('{"year": 1850}'), prompt, output: Output.object({ schema }) });
say("json", answer.output, reports.length - count);
for (const [name, options] of [["closed", { url: "http://127.0.0.1:9" }], ["refused", { documents: () => [{ title: "no text" }] }]])
  try {
    say(name, (await generateText({ model: guarded(lie, options), prompt, maxRetries: 0 })).text);
  } catch (error) {
    say(name, error instanceof GuardError ? error.status : "failed", String(error).includes("1850"));
  }
