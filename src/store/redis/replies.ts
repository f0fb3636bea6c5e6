import type { DocumentChange, StoredDocument } from '../engine/engine.js'
import type { ChangePage } from '../engine/polling.js'

/** Documents by their fields, in order. */
export interface ScannedPage {
  readonly documents: Map<string, StoredDocument>
  readonly revision: string
  readonly hasMore: boolean
}

export type LogPage =
  | Extract<ChangePage, { kind: 'gone' }>
  | (Extract<ChangePage, { kind: 'page' }> & { readonly changes: readonly LoggedChange[] })

export interface LoggedChange extends DocumentChange {
  readonly field: string
}

// What the scripts of this folder answer, read back.

/**
 * @throws if it is anything else: a client that turns answers into something of its own, such as
 * buffers
 */
export function readTexts(reply: unknown): readonly string[] {
  if (Array.isArray(reply) && reply.every((word) => typeof word === 'string')) return reply
  throw unreadable()
}

/** The value of a document. */
export function readValue(reply: unknown): StoredDocument {
  if (typeof reply !== 'string') throw unreadable()
  const end = reply.indexOf('\n')
  if (end === -1) throw unreadable()
  return { revision: reply.slice(0, end), text: reply.slice(end + 1) }
}

export function readPage(reply: unknown): ScannedPage {
  if (!Array.isArray(reply)) throw unreadable()
  const [revision, more] = readTexts(reply.slice(0, 2))
  if (revision === undefined || more === undefined) throw unreadable()
  const documents = new Map<string, StoredDocument>()
  for (let i = 2; i < reply.length; i += 2) {
    const fields = String(reply[i]).split('\n')
    const values = readTexts(reply[i + 1])
    if (fields.length !== values.length) throw unreadable()
    for (const [index, field] of fields.entries()) documents.set(field, readValue(values[index]))
  }
  return { documents, revision, hasMore: more === 'more' }
}

export function readChanges(reply: unknown): LogPage {
  const [kind, revision, more, ...words] = readTexts(reply)
  if (revision === undefined) throw unreadable()
  if (kind === 'gone') return { kind, oldest: revision }
  if (kind !== 'page' || more === undefined || words.length % 4 !== 0) throw unreadable()
  const changes: LoggedChange[] = []
  for (let i = 0; i < words.length; i += 4) {
    const [revision, field, before, after] = words.slice(i, i + 4) as [string, string, string, string]
    changes.push({ revision, field, before: before || undefined, after: after || undefined })
  }
  return { kind, changes, revision, hasMore: more === 'more' }
}

function unreadable(): Error {
  return new Error('the client or the server has answered something that no script of this store answers')
}
