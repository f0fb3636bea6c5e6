import { runDemo } from '../docs/examples/demo/run.js'

const BLOCK = /```console\n\$ npm run -s demo -- ([^\n]*)\n[\s\S]*?```/g

/** A page with the output of every `$ npm run -s demo -- ...` block made anew. */
export async function renderConsoleBlocks(markdown: string, folder: string): Promise<string> {
  let page = markdown
  for (const [block, parameters] of markdown.matchAll(BLOCK)) {
    const output = await demoOutput((parameters as string).split(' '), folder)
    page = page.replace(block, () => `\`\`\`console\n$ npm run -s demo -- ${parameters}\n${output.trimEnd()}\n\`\`\``)
  }
  return page
}

async function demoOutput(parameters: readonly string[], folder: string): Promise<string> {
  let text = ''
  const write = (part: string) => {
    text += part
  }
  await runDemo(parameters, { folder, stdin: process.stdin, out: write, err: write, isTerminal: false })
  return text
}
