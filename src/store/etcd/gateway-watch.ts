import type { EtcdAbortController, EtcdAbortSignal } from './abort.js'
import type { EtcdEvent, EtcdWatch, EtcdWatchResponse } from './client.js'
import { EtcdError, readable } from './errors.js'
import { type ByteStreamReader, linesOf } from './lines.js'
import { asMessage, type FromBase64, type Message, readWatch, type WatchPart } from './messages.js'

export interface GatewayWatchOptions {
  readonly fromBase64?: FromBase64 | undefined
  readonly abortController?: (() => EtcdAbortController) | undefined
}

/** Asks for a stream. The signal ends the request as long as it is not answered. */
export type OpenStream = (signal: EtcdAbortSignal | undefined) => Promise<ByteStreamReader>

/** The answers of one stream. */
export class GatewayWatch implements EtcdWatch {
  readonly #open: OpenStream
  readonly #options: GatewayWatchOptions
  #opening: EtcdAbortController | undefined
  #reader: ByteStreamReader | undefined
  #isCanceled = false
  #endOpening: () => void = () => {}

  constructor(open: OpenStream, options: GatewayWatchOptions) {
    this.#open = open
    this.#options = options
  }

  cancel(): void {
    this.#isCanceled = true
    this.#endOpening()
    // a stream that is aborted ends in an error, one that is canceled does not; it may have ended
    // already, in an error that was told then
    if (this.#reader === undefined) this.#opening?.abort()
    else this.#reader.cancel().catch(() => {})
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EtcdWatchResponse, undefined> {
    if (this.#isCanceled) return
    try {
      const reader = await this.#opened()
      if (reader !== undefined && !this.#isCanceled) yield* wholeRevisions(this.#parts(reader))
    } finally {
      this.cancel()
    }
  }

  /** Nothing if it was ended before: the stream is then, too, should it ever come. */
  #opened(): Promise<ByteStreamReader | undefined> {
    return new Promise((resolve, reject) => {
      this.#endOpening = () => resolve(undefined)
      const opened = (reader: ByteStreamReader) => {
        this.#reader = reader
        if (this.#isCanceled) this.cancel()
        resolve(reader)
      }
      const { abortController } = this.#options
      this.#opening = abortController?.()
      this.#open(this.#opening?.signal).then(opened, reject)
    })
  }

  async *#parts(reader: ByteStreamReader): AsyncGenerator<WatchPart, undefined> {
    for await (const line of linesOf(reader)) {
      const { result, error } = readable(() => asMessage(JSON.parse(line)))
      if (error !== undefined) throw streamError(readable(() => asMessage(error)))
      yield readable(() => readWatch(asMessage(result), this.#options.fromBase64))
    }
  }
}

/**
 * Puts revisions together that were cut in two: the last one of a fragment may continue in the
 * next.
 */
async function* wholeRevisions(parts: AsyncIterable<WatchPart>): AsyncGenerator<EtcdWatchResponse, undefined> {
  let held: readonly EtcdEvent[] = []
  for await (const part of parts) {
    const all = held.length === 0 ? part.events : [...held, ...part.events]
    const last = all.at(-1)?.kv.modRevision
    const end = part.isFragment ? all.findIndex(({ kv }) => kv.modRevision === last) : all.length
    held = all.slice(end)
    const events = all.slice(0, end)
    // without events it would say that there are none up to its revision
    if (events.length > 0 || !part.isFragment) yield { ...part, events }
  }
}

/** An error in the midst of a stream. Its code has had more than one name. */
function streamError({ message, code, grpc_code = code }: Message): EtcdError {
  return new EtcdError(String(message), typeof grpc_code === 'number' ? grpc_code : undefined)
}
