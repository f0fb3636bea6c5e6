import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runDemo } from '../docs/examples/demo/run.js'

const BLOCK = /```console\n\$ npm run -s demo -- ([^\n]*)\n[\s\S]*?```/g

/**
 * A page with the output of every `$ npm run -s demo -- ...` block made anew, one after the other:
 * what `--store pglite:DIR` keeps is there for the next block, and nothing of it in the folder.
 *
 * @param isLeft tells from its parameters a block that stays as it is
 */
export async function renderConsoleBlocks(
  markdown: string,
  folder: string,
  isLeft = (_parameters: string) => false,
): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), 'console-blocks-'))
  try {
    let page = markdown
    for (const [block, parameters] of markdown.matchAll(BLOCK)) {
      if (isLeft(parameters as string)) continue
      const output = await demoOutput((parameters as string).split(' '), { folder, data })
      page = page.replace(block, () => `\`\`\`console\n$ npm run -s demo -- ${parameters}\n${output.trimEnd()}\n\`\`\``)
    }
    return page
  } finally {
    rmSync(data, { recursive: true })
  }
}

async function demoOutput(
  parameters: readonly string[],
  { folder, data }: { readonly folder: string; readonly data: string },
): Promise<string> {
  let text = ''
  const write = (part: string) => {
    text += part
  }
  const args = parameters.map((parameter) => parameter.replace(/^pglite:/, `pglite:${data}/`))
  await runDemo(args, { folder, stdin: process.stdin, out: write, err: write, isTerminal: false })
  return text.replaceAll(`pglite:${data}/`, 'pglite:')
}
