import { fromUtf8 } from '../../bytes/platform.js'
import { readable } from './errors.js'

/** What is needed of `response.body.getReader()`. */
export interface ByteStreamReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<unknown>
}

const LINE_END = 0x0a

/**
 * The lines of a stream, however it is cut into pieces. What comes behind the last line end is the
 * start of a line that never came.
 *
 * @throws UnreadableAnswer for a line that is no text, or longer than a text can be
 */
export async function* linesOf(reader: ByteStreamReader): AsyncGenerator<string, undefined> {
  let begun: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done || value === undefined) return
    let at = 0
    for (let end = value.indexOf(LINE_END); end !== -1; end = value.indexOf(LINE_END, at)) {
      const parts = [...begun, value.subarray(at, end)]
      const line = readable(() => textOf(parts))
      begun = []
      at = end + 1
      if (line.trim() !== '') yield line
    }
    if (at < value.length) begun.push(value.subarray(at))
  }
}

function textOf(parts: readonly Uint8Array[]): string {
  const line = fromUtf8(joined(parts))
  if (line === undefined) throw new Error('the answer is not UTF-8')
  return line
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
