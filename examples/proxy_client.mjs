// A chatbot with the official OpenAI package for Node, guarded by a URL: only the base URL changes.
//
//   vista-guard serve --upstream https://api.openai.com/v1
//   npm install openai
//   OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=… node proxy_client.mjs

const { default: OpenAI } = await import("openai").catch(() => {
  console.error("This example needs the package openai: npm install openai")
  process.exit(2)
})

// The client reads OPENAI_BASE_URL by itself; it is named here because it is all that changes.
const client = new OpenAI({ baseURL: process.env.OPENAI_BASE_URL })

// The text between the tags is the evidence that answers are verified against.
const notes = "<context>The ferry was built in 1961 and carries 80 passengers. A ticket costs 4 euros.</context>"
const messages = [{ role: "system", content: `Answer from these notes. ${notes}` }]

for (const question of ["What does the ferry cost?", "How big and how old is it?"]) {
  messages.push({ role: "user", content: question })
  process.stdout.write(`user: ${question}\nbot:  `)
  let said = ""
  let last
  for await (const chunk of await client.chat.completions.create({ model: "gpt-5-mini", messages, stream: true })) {
    const text = chunk.choices[0].delta.content ?? ""
    process.stdout.write(text)
    said += text
    last = chunk
  }
  messages.push({ role: "assistant", content: said })
  // A withheld turn ends with the policy's message and the finish_reason "content_filter".
  console.log(`\n  finish_reason ${last.choices[0].finish_reason}, guard ${last.vista_guard.action}`)
}
