// The middleware before a stand-in for the proxy: what is shown, what is asked, and what fails. `npm test` needs nothing else.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { generateText, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream } from "ai/test";
import { GuardError, vistaGuard } from "vista-guard";

const TRUTH = "The hall opened in 1925.";
const LIE = "The hall opened in 1850.";
const NOTES = "The hall opened in 1925. Entry is free.";
const WITHHELD = "I can't answer that reliably.";
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = { unified: "stop", raw: "stop" };

let url, server, requests;

/** Answers POST /guard/check as the proxy does, with what the middleware reads of a report. */
before(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const asked = JSON.parse(body);
      requests.push({ method: request.method, path: request.url, key: request.headers["x-vista-guard-key"], ...asked });
      const text = asked.messages.at(-1).content;
      const action = text === LIE ? "BLOCK" : "ALLOW";
      const refused = asked.documents.some((each) => typeof each !== "string" && !each.text);
      response.writeHead(refused ? 400 : 200, { "content-type": "application/json" });
      const report = { response: action === "BLOCK" ? WITHHELD : text, decision: { action, reason: "" }, turn_index: 1, score: 1 };
      response.end(JSON.stringify(refused ? { error: { message: "documents[0].text is missing" } } : report));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());
beforeEach(() => void (requests = []));

function guarded(text, options = {}) {
  const parts = text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "1", delta }));
  const events = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...parts,
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: finish, usage },
  ];
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text }], finishReason: finish, usage, warnings: [] }),
    doStream: async () => ({ stream: convertArrayToReadableStream(events) }),
  });
  return wrapLanguageModel({ model, middleware: vistaGuard({ url, documents: () => [NOTES], ...options }) });
}

test("a good answer is shown as it is, and its verdict with it", async () => {
  const result = await generateText({ model: guarded(TRUTH, { apiKey: "k" }), prompt: "When did it open?" });
  assert.deepEqual([result.text, result.finishReason, result.providerMetadata.vistaGuard.action], [TRUTH, "stop", "ALLOW"]);
  const [{ method, path, key, messages, documents }] = requests;
  assert.deepEqual([method, path, key, documents], ["POST", "/guard/check", "k", [NOTES]]);
  assert.deepEqual(messages.map(({ role, content }) => [role, content]), [["user", "When did it open?"], ["assistant", TRUTH]]);
});

test("a false answer is replaced by the policy's message", async () => {
  const result = await generateText({ model: guarded(LIE), prompt: "When did it open?" });
  assert.deepEqual([result.text, result.finishReason, result.providerMetadata.vistaGuard.action], [WITHHELD, "content-filter", "BLOCK"]);
});

for (const [text, shown, reason] of [[TRUTH, TRUTH, "stop"], [LIE, WITHHELD, "content-filter"]])
  test(`a stream shows nothing before it was judged: ${text}`, async () => {
    const result = streamText({ model: guarded(text), prompt: "When did it open?" });
    const heard = [];
    for await (const delta of result.textStream) {
      assert.equal(requests.length, 1);
      heard.push(delta);
    }
    assert.deepEqual([heard.join(""), await result.finishReason], [shown, reason]);
  });

test("documents and the conversation can come with a call", async () => {
  const vistaGuardOptions = { documents: [{ title: "Hall", text: NOTES }], conversationId: "visit-7" };
  await generateText({ model: guarded(TRUTH), prompt: "When?", providerOptions: { vistaGuard: vistaGuardOptions } });
  assert.deepEqual([requests[0].conversation_id, requests[0].documents], ["visit-7", [NOTES, { title: "Hall", text: NOTES }]]);
});

test("an answer that nobody judged is not shown", async () => {
  const closed = generateText({ model: guarded(LIE, { url: "http://127.0.0.1:9" }), prompt: "When?", maxRetries: 0 });
  await assert.rejects(closed, (error) => !String(error).includes("1850"));
  const refused = generateText({ model: guarded(LIE, { documents: () => [{ title: "no text" }] }), prompt: "When?", maxRetries: 0 });
  await assert.rejects(refused, (error) => error instanceof GuardError && error.status === 400 && error.message.includes("documents[0].text"));
});
