import type { Readable } from 'node:stream'
import type { CniError } from 'ipam-kit/cni'
import { fail, type Result } from 'ipam-kit/errors'

export interface StdinLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
}

/**
 * All bytes of a stream. A runtime that never closes stdin, or sends without an end, must not keep
 * the process: a runtime calls a plugin for each container.
 */
export async function readStdin(
  stream: Readable,
  { maxBytes, timeoutMs }: StdinLimits,
): Promise<Result<Uint8Array, 'CNI_INPUT_LIMIT_EXCEEDED'> | { readonly error: CniError }> {
  const chunks: Uint8Array[] = []
  let length = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stream.destroy(new Error('stdin was not closed in time'))
  }, timeoutMs)
  try {
    for await (const chunk of stream) {
      length += chunk.length
      // leaving the loop destroys the stream
      if (length > maxBytes) return fail('CNI_INPUT_LIMIT_EXCEEDED', { limit: 'bytes', max: maxBytes })
      chunks.push(chunk)
    }
    return { ok: true, value: Buffer.concat(chunks) }
  } catch (error) {
    if (isLate) return fail('CNI_INPUT_LIMIT_EXCEEDED', { limit: 'milliseconds', max: timeoutMs })
    return { error: { code: 5, msg: `reading stdin failed: ${(error as Error).message}` } }
  } finally {
    clearTimeout(timer)
  }
}
