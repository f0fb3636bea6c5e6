import { changesScript, commitScript, readScript, requestScript, scanScript } from '../../src/store/redis/scripts.js'

type Value = { revision: bigint; text: string }
type Change = { revision: bigint; field: string; before: string; after: string }

/** A kind: its documents by their fields, and what has changed. */
interface Kind {
  documents: Map<string, Value>
  changes: Change[]
  dropped: bigint
}

/**
 * What the scripts of the Redis store do, as said in scripts.ts, without Lua: so that everything
 * around them can be tested without a server. That they do it is tested on the real one.
 */
export class RedisModel {
  /** The clock of the server, in microseconds. */
  nowUs = 1_700_000_000_000_000n
  /** What was sent, the first word and the script's name. */
  readonly sent: string[] = []
  /** Called before a command is done. What it throws is the answer. */
  before: (name: string) => void = () => {}
  /** Called after it was done. What it throws is the answer. */
  after: (name: string) => void = () => {}
  #revision = 0n
  #start = 0n
  readonly #kinds = new Map<string, Kind>()
  readonly #requests = new Map<string, { asked: string; revision: bigint }>()
  readonly #known = new Set<string>()

  /** Sends each command twice, as if its connection had ended before the first answer. */
  static resending(model: RedisModel): (command: string, ...args: string[]) => Promise<unknown> {
    return async (...words) => {
      await model.send(...words)
      return model.send(...words)
    }
  }

  /** SCRIPT FLUSH. */
  forgetScripts(): void {
    this.#known.clear()
  }

  /** FLUSHALL, some time later. */
  flush(): void {
    this.#revision = 0n
    this.#start = 0n
    this.#kinds.clear()
    this.#requests.clear()
    this.nowUs += 1_000_000n
  }

  async send(command: string, ...args: string[]): Promise<unknown> {
    const [script = '', count = '', ...rest] = args
    const entry = SCRIPTS.find(({ sha, text }) => (command === 'EVAL' ? text : sha) === script)
    if (entry === undefined) throw new Error(`ERR unknown command '${command}'`)
    this.sent.push(`${command} ${entry.name}`)
    if (command === 'EVAL') this.#known.add(entry.sha)
    if (!this.#known.has(entry.sha)) throw new Error('NOSCRIPT No matching script. Please use EVAL.')
    this.before(entry.name)
    const answer = this[entry.name](rest.slice(0, Number(count)), rest.slice(Number(count)))
    this.after(entry.name)
    return answer
  }

  commit(keys: string[], words: string[]): string[] {
    const [field = '', expected = '', text = '', name = '', history, historyBytes] = words
    const request = keys[5]!
    const asked = `${expected} ${name} ${field}`
    const told = this.#requests.get(request)
    if (told !== undefined) return told.asked === asked ? ['done', String(told.revision)] : ['reused']
    const kind = this.#kind(name)
    const before = kind.documents.get(field)
    if (String(before?.revision ?? '') !== expected) return ['stale']
    if (this.#revision === 0n) this.#revision = this.#start = this.nowUs
    const revision = ++this.#revision
    if (text === '') kind.documents.delete(field)
    else kind.documents.set(field, { revision, text })
    kind.changes.push({ revision, field, before: before?.text ?? '', after: text })
    const bytes = () => kind.changes.reduce((sum, change) => sum + sizeOf(change), 0)
    const least = Math.max(1, kind.changes.length - 1_000)
    while (kind.changes.length > least && (kind.changes.length > Number(history) || bytes() > Number(historyBytes))) {
      kind.dropped = kind.changes.shift()!.revision
    }
    this.#requests.set(request, { asked, revision })
    return ['done', String(revision)]
  }

  request([request = '']: string[]): string | null {
    const told = this.#requests.get(request)
    return told === undefined ? null : `${told.revision} ${told.asked}`
  }

  read(keys: string[], [field = '']: string[]): string | null {
    const document = this.#kind(kindIn(keys[0]!)).documents.get(field)
    return document === undefined ? null : `${document.revision}\n${document.text}`
  }

  scan(keys: string[], [from = '', to = '', limit = '', bytes = '']: string[]): unknown[] {
    const { documents } = this.#kind(kindIn(keys[1]!))
    const isAfter = (field: string) =>
      from === '-' || (from[0] === '[' ? field >= from.slice(1) : field > from.slice(1))
    const isBefore = (field: string) => to === '+' || (to[0] === '[' ? field <= to.slice(1) : field < to.slice(1))
    const found = [...documents.keys()].filter((field) => isAfter(field) && isBefore(field)).sort()
    const answer: unknown[] = [String(this.#revision), '']
    let size = 0
    for (const [index, field] of found.entries()) {
      const { revision, text } = documents.get(field)!
      const value = `${revision}\n${text}`
      size += value.length
      if (String(index) === limit || (Number(bytes) >= 0 && index > 0 && size > Number(bytes))) {
        answer[1] = 'more'
        break
      }
      // a few of them together
      if (index % 3 === 0) answer.push(field, [value])
      else {
        const values = answer.pop() as string[]
        answer.push(`${answer.pop()}\n${field}`, [...values, value])
      }
    }
    return answer
  }

  changes(_: string[], [after = '', name = '', namespace = '', limit, bytes, looks]: string[]): string[] {
    if (after === '') return ['page', String(this.#revision), '']
    const { changes, dropped } = this.#kind(name)
    const from = BigInt(after)
    const oldest = dropped > this.#start ? dropped : this.#start
    if (from > this.#revision || from < dropped || (from !== 0n && from < this.#start)) return ['gone', String(oldest)]
    const answer: string[] = []
    let [size, looked, reached] = [0, 0, after]
    for (const change of changes.filter(({ revision }) => revision > from)) {
      const isIn = change.field.startsWith(namespace)
      if (isIn) size += change.before.length + change.after.length
      const count = answer.length / 4
      const isFull = isIn && (count === Number(limit) || (count > 0 && size > Number(bytes)))
      if (looked === Number(looks) || isFull) return ['page', reached, 'more', ...answer]
      looked++
      reached = String(change.revision)
      if (isIn) answer.push(reached, change.field, change.before, change.after)
    }
    return ['page', String(this.#revision), '', ...answer]
  }

  #kind(name: string): Kind {
    const kind = this.#kinds.get(name) ?? { documents: new Map(), changes: [], dropped: 0n }
    this.#kinds.set(name, kind)
    return kind
  }
}

const SCRIPTS = [
  { name: 'commit', ...commitScript },
  { name: 'request', ...requestScript },
  { name: 'read', ...readScript },
  { name: 'scan', ...scanScript },
  { name: 'changes', ...changesScript },
] as const

function sizeOf({ field, before, after }: Change): number {
  return field.length + before.length + after.length
}

/** `{prefix}:documents:GROUP/KIND` */
function kindIn(key: string): string {
  return key.slice(key.indexOf(':', key.indexOf('}:') + 2) + 1)
}
