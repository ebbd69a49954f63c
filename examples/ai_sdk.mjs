// A chatbot with the Vercel AI SDK, each of whose answers a proxy judges before it is shown.
//
//   vista-guard serve --upstream https://api.openai.com/v1
//   npm install ai @ai-sdk/openai vista-guard
//   VISTA_GUARD_URL=http://127.0.0.1:8080 OPENAI_API_KEY=… node ai_sdk.mjs

const missing = (error) => {
  console.error(`${error.message}. This example needs: npm install ai @ai-sdk/openai vista-guard`)
  process.exit(2)
}
const { streamText, wrapLanguageModel } = await import("ai").catch(missing)
const { createOpenAI } = await import("@ai-sdk/openai").catch(missing)
const { vistaGuard } = await import("vista-guard").catch(missing)

// The model is asked directly (OPENAI_BASE_URL, by default OpenAI); the guard only sees its answers.
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const guard = vistaGuard({
  url: process.env.VISTA_GUARD_URL ?? "http://127.0.0.1:8080",
  documents: () => ["The ferry was built in 1961 and carries 80 passengers. A ticket costs 4 euros."],
})
const model = wrapLanguageModel({ model: openai.chat("gpt-5-mini"), middleware: guard })
const messages = []

for (const question of ["What does the ferry cost?", "How big and how old is it?"]) {
  messages.push({ role: "user", content: question })
  process.stdout.write(`user: ${question}\nbot:  `)
  const answer = streamText({ model, messages })
  for await (const text of answer.textStream) process.stdout.write(text)
  messages.push({ role: "assistant", content: await answer.text })
  const { action } = (await answer.providerMetadata).vistaGuard
  console.log(`\n  finish reason ${await answer.finishReason}, guard ${action}`)
}
