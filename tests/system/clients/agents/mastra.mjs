// Mastra: a text, a stream, a tool, an answer with a schema, a search of the web, and a second turn.

import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'

const openai = createOpenAI({ baseURL: process.env.BASE_URL, apiKey: 'sk-test' })

const add = createTool({
  id: 'add',
  description: 'Add two numbers.',
  inputSchema: z.object({ x: z.number(), y: z.number() }),
  execute: async ({ x, y }) => ({ sum: x + y }),
})

function agent(tools = {}) {
  const model = openai.responses('fake-model')
  return new Agent({ id: 'pilot', name: 'pilot', instructions: 'Be brief.', model, tools })
}

async function streamed(tools, words) {
  const pieces = []
  for await (const piece of (await agent(tools).stream(words)).textStream) pieces.push(piece)
  return pieces
}

const scenarios = {
  async text() {
    return [(await agent().generate('hi')).text]
  },
  async stream() {
    const pieces = await streamed({}, 'hi')
    return [pieces.join(''), pieces.length > 1]
  },
  async tool() {
    const plain = await agent({ add }).generate('What is 1 + 2?')
    return [plain.text, (await streamed({ add }, 'What is 1 + 2?')).join('')]
  },
  async schema() {
    const structuredOutput = { schema: z.object({ name: z.string() }) }
    return [(await agent().generate('Where?', { structuredOutput })).object]
  },
  async hosted() {
    return [(await agent({ web_search: openai.tools.webSearch({}) }).generate('When is high water?')).text]
  },
  async chain() {
    const first = await agent().generate('hi')
    const previousResponseId = first.providerMetadata.openai.responseId
    return [first.text, (await agent().generate('again', { providerOptions: { openai: { previousResponseId } } })).text]
  },
}

for (const [scenario, run] of Object.entries(scenarios)) {
  let answerText
  try {
    answerText = await run()
  } catch (error) {
    answerText = [String(error)]
  }
  console.log(JSON.stringify({ scenario, said: answerText }))
}
