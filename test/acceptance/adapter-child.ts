// The process of `adapterProcess`: loads the adapters and answers one question after the other.
import type { Message, Question } from './adapter-process.js'
import type { Adapter } from './answer.js'
import { messageOf, type Reply } from './runner.js'

process.on('uncaughtException', (error) => send({ crashed: messageOf(error) }, () => process.exit(1)))

const table = process.argv[2] as string
const { adapters }: { readonly adapters: Readonly<Record<string, Adapter>> } = await import(table)

process.on('message', async ({ file, given }: Question) => {
  const reply = await replyTo(file, given)
  try {
    send({ reply })
  } catch (error) {
    send({ reply: broke(`the answer is no data: ${messageOf(error)}`) })
  }
})
send('ready')

async function replyTo(file: string, given: Question['given']): Promise<Reply> {
  const adapter = Object.hasOwn(adapters, file) ? adapters[file] : undefined
  if (adapter === undefined) return broke(`no adapter for ${file}`)
  try {
    return await adapter(given)
  } catch (error) {
    return broke(`the adapter threw: ${messageOf(error)}`)
  }
}

function send(message: Message, done: () => void = () => {}): void {
  process.send?.(message, done)
}

function broke(problem: string): Reply {
  return { kind: 'broke', problem }
}
