// Whether an answer is carried by its evidence, as an assertion for promptfoo:
//
//   assert:
//     - type: javascript
//       value: file://grounded.mjs
//
// All cases are judged by one Python process, which lives as long as promptfoo, so models are loaded once.
// PROMPTFOO_PYTHON names the interpreter that has vista-guard, which wrote this file.

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const MODULE = "vista_guard.integrations.evals.promptfoo"
const python = process.env.PROMPTFOO_PYTHON || "python"
const waiting = new Map()
let asked = 0
let worker

export default function grounded(output, context) {
  worker ??= started()
  const { prompt, vars, config, metadata } = context
  const request = { id: ++asked, output, context: { prompt, vars, config, metadata } }
  return new Promise((resolve, reject) => {
    waiting.set(request.id, { resolve, reject })
    keepAlive(worker, true)
    worker.stdin.write(`${JSON.stringify(request)}\n`)
  })
}

function started() {
  const child = spawn(python, ["-P", "-m", MODULE, "--serve"], { stdio: ["pipe", "pipe", "inherit"] })
  const ended = (how) => {
    if (worker === child) worker = undefined
    for (const { reject } of waiting.values()) {
      reject(failure(`${python} ${how}; PROMPTFOO_PYTHON must name the interpreter that has vista-guard`))
    }
    waiting.clear()
  }
  child.on("error", (error) => ended(`could not be started: ${error.message}`))
  child.on("close", (code, signal) => ended(`ended with ${signal ?? code}`))
  child.stdin.on("error", () => {}) // it has ended, as is told above
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line)
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) keepAlive(child, false)
    if (error === undefined) resolve(result)
    else reject(failure(error))
  })
  child.stdin.unref()
  return child
}

// Node ends when nothing is waited for, and a process that still runs would be waited for.
function keepAlive(child, whether) {
  for (const one of [child, child.stdout]) whether ? one.ref() : one.unref()
}

// promptfoo shows the stack, too, and lines of this file say nothing to its reader.
function failure(message) {
  return Object.assign(new Error(message), { stack: "" })
}
