import { quote } from '../../errors/quote.js'
import { refused } from '../engine/document.js'
import type {
  Commit,
  DocumentKey,
  DocumentPage,
  DocumentScope,
  DocumentWrite,
  ScanPart,
  StoredDocument,
} from '../engine/engine.js'
import { PolledEngine } from '../engine/followers.js'
import type { ChangePage, PollingOptions } from '../engine/polling.js'
import { mistake } from '../rules/arguments.js'
import type { Sender } from './client.js'
import { isRefusal, isUnknownScript } from './errors.js'
import { fieldOf, fieldsOf, Keys, kindOf, rangeOf } from './keys.js'
import { type LogPage, readChanges, readPage, readTexts, readValue, type ScannedPage } from './replies.js'
import { changesScript, commitScript, readScript, requestScript, type Script, scanScript } from './scripts.js'

export interface RedisEngineParts {
  readonly prefix: string
  readonly history: number
  readonly historyBytes: number
  /** An id that no request had before. */
  readonly requestId: () => string
  readonly polling: PollingOptions
  /** How much one script gives at most, so that none holds the server up for long. */
  readonly answerBytes: number
}

/** How long a repeated request is known as such. Clients that repeat do so for seconds. */
const REQUEST_SECONDS = '600'
/** How many changes one script looks at, of whatever namespace. */
const LOOKS = 2_000
/** How many changes are read at once to bring a long list up to date. */
const CHANGES = 1_000
/** How often a long list is begun anew because the changes since then are no longer kept. */
const MAX_ATTEMPTS = 3

/** Documents in Redis. Whatever is done is one script, which is atomic. */
export class RedisEngine extends PolledEngine {
  readonly name = 'redis'
  readonly #sender: Sender
  readonly #parts: RedisEngineParts
  readonly #keys: Keys

  constructor(sender: Sender, parts: RedisEngineParts) {
    super({ ...parts.polling, announcesWrites: true })
    this.#sender = sender
    this.#parts = parts
    this.#keys = new Keys(parts.prefix)
  }

  async read(key: DocumentKey): Promise<StoredDocument | undefined> {
    const reply = await this.#run(readScript, this.#keys.toRead(key), [fieldOf(key)])
    return reply === null ? undefined : readValue(reply)
  }

  async scan(scope: DocumentScope, { after, limit }: ScanPart): Promise<DocumentPage> {
    const behind = after === undefined ? undefined : fieldOf(after)
    const page = await (limit === undefined ? this.#scanAll(scope, behind) : this.#scan(scope, behind, { limit }))
    return { documents: [...page.documents.values()], revision: page.revision, hasMore: page.hasMore }
  }

  protected async write({ key, before, after }: DocumentWrite): Promise<Commit> {
    const { history, historyBytes, requestId } = this.#parts
    const words = [fieldOf(key), before?.revision ?? '', after ?? '', kindOf(key)]
    const limits = [String(history), String(historyBytes), REQUEST_SECONDS]
    let id: string
    try {
      id = requestId()
      if (typeof id !== 'string' || id === '') throw mistake('options.uid', 'a function that gives a text', id)
    } catch (error) {
      return refused(error)
    }
    let reply: unknown
    try {
      reply = await this.#run(commitScript, this.#keys.toWrite(key, id), [...words, ...limits])
    } catch (error) {
      if (!isRefusal(error)) throw error
      const done = this.#sender.repeats ? await this.#done(id, error) : undefined
      return done === undefined ? refused(error) : { kind: 'done', revision: done }
    }
    const [outcome, told = ''] = readTexts(reply)
    switch (outcome) {
      case 'done':
        return { kind: 'done', revision: told }
      case 'stale':
        return { kind: 'stale' }
      case 'reused':
        return { kind: 'refused', problem: `options.uid has given ${quote(id)}, which another write was given` }
      default:
        throw new Error(`the script has stopped halfway: ${told}`)
    }
  }

  /**
   * The revision that a request got before it was refused. @throws the refusal, if that cannot be
   * found out
   */
  async #done(id: string, refusal: unknown): Promise<string | undefined> {
    let told: unknown
    try {
      told = await this.#run(requestScript, this.#keys.toAsk(id), [])
    } catch {
      throw refusal
    }
    return typeof told === 'string' ? told.slice(0, told.indexOf(' ')) : undefined
  }

  changes(scope: DocumentScope, after: string | undefined, limit: number): Promise<ChangePage> {
    return this.#changes(scope, after ?? '', limit)
  }

  /** One script: as much as it gives. */
  async #scan(scope: DocumentScope, behind: string | undefined, part: ScanLimits): Promise<ScannedPage> {
    const { limit = NO_LIMIT, bytes = this.#parts.answerBytes } = part
    const words = [...rangeOf(scope, behind), String(limit), String(bytes)]
    return readPage(await this.#run(scanScript, this.#keys.toScan(scope), words))
  }

  /**
   * All documents as they were at one moment. What is too much for one script is read in pages,
   * each as of its own moment, and then whatever has changed since the first of them is done again,
   * in order, on what was read.
   */
  async #scanAll(scope: DocumentScope, behind: string | undefined): Promise<ScannedPage> {
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
      let page = await this.#scan(scope, behind, {})
      const { documents, revision } = page
      while (page.hasMore) {
        page = await this.#scan(scope, [...page.documents.keys()].at(-1), {})
        for (const [field, document] of page.documents) documents.set(field, document)
      }
      if (page.revision === revision) return { documents, revision, hasMore: false }
      const reached = await this.#replay(scope, { behind, after: revision }, documents)
      if (reached !== undefined) return { documents: inOrder(documents), revision: reached, hasMore: false }
    }
    // more is written meanwhile than is kept of the past
    return this.#scan(scope, behind, { bytes: NO_LIMIT })
  }

  /**
   * @returns the revision that the documents have reached; nothing if the changes are no longer
   * kept
   */
  async #replay(scope: DocumentScope, { behind, after }: Replay, documents: Documents): Promise<string | undefined> {
    let reached = after
    for (;;) {
      const page = await this.#changes(scope, reached, CHANGES)
      if (page.kind === 'gone') return undefined
      for (const { field, revision, after } of page.changes) {
        if (behind !== undefined && field <= behind) continue
        if (after === undefined) documents.delete(field)
        else documents.set(field, { revision, text: after })
      }
      reached = page.revision
      if (!page.hasMore) return reached
    }
  }

  async #changes(scope: DocumentScope, after: string, limit: number): Promise<LogPage> {
    const limits = [limit, this.#parts.answerBytes, LOOKS].map(String)
    const words = [after, kindOf(scope), fieldsOf(scope), ...limits]
    return readChanges(await this.#run(changesScript, this.#keys.toFollow(scope), words))
  }

  /**
   * Runs a script by what it is known by, or as a text if it is not known: then it was not run, and
   * is known from now on.
   */
  async #run({ sha, text }: Script, keys: readonly string[], words: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...words]
    try {
      return await this.#sender.send('EVALSHA', sha, ...rest)
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return this.#sender.send('EVAL', text, ...rest)
    }
  }
}

type ScanLimits = { readonly limit?: number; readonly bytes?: number }

interface Replay {
  /** Only documents behind this one. */
  readonly behind: string | undefined
  /** The revision after which changes are not in the documents. */
  readonly after: string
}

type Documents = Map<string, StoredDocument>

const NO_LIMIT = -1

function inOrder(documents: ReadonlyMap<string, StoredDocument>): Map<string, StoredDocument> {
  return new Map([...documents].sort(([left], [right]) => (left < right ? -1 : 1)))
}
