import { fromBase64 as bytesOfBase64, fromUtf8, toBase64, toUtf8 } from '../../bytes/platform.js'
import type {
  EtcdEvent,
  EtcdKeyValue,
  EtcdRangeRequest,
  EtcdRangeResponse,
  EtcdTxnRequest,
  EtcdTxnResponse,
  EtcdWatchRequest,
  EtcdWatchResponse,
} from './client.js'

// The messages of etcd as its gateway has them in JSON: keys and values in Base64, numbers of 64
// bits as texts, and what is 0, false or empty left out.

export type Message = { readonly [field: string]: unknown }

/** Base64 of UTF-8 as a text. */
export type FromBase64 = (text: string) => string

export function writeRange({ key, rangeEnd, limit = 0, revision = '0', keysOnly }: EtcdRangeRequest): Message {
  // an empty end, if it gets as far as etcd, is another one than none: all keys from there on
  const range = rangeEnd === undefined ? { key: encode(key) } : { key: encode(key), range_end: encode(rangeEnd) }
  return { ...range, limit: String(limit), revision, keys_only: keysOnly === true }
}

export function readRange(message: Message, fromBase64?: FromBase64): EtcdRangeResponse {
  const kvs = readKeyValues(listOf(message.kvs), fromBase64)
  return { revision: revisionOf(message), kvs, more: message.more === true }
}

export function writeTxn({ compare, success }: EtcdTxnRequest): Message {
  return {
    compare: compare.map(({ key, modRevision }) => {
      return { key: encode(key), target: 'MOD', result: 'EQUAL', mod_revision: modRevision }
    }),
    success: success.map(({ put, deleteRange }) => {
      return put === undefined
        ? { request_delete_range: { key: encode(deleteRange?.key ?? '') } }
        : { request_put: { key: encode(put.key), value: encode(put.value) } }
    }),
  }
}

export function readTxn(message: Message): EtcdTxnResponse {
  return { revision: revisionOf(message), succeeded: message.succeeded === true }
}

/**
 * In fragments of about the size of a request: else etcd puts a thousand revisions into one answer,
 * which can be more than a text can hold.
 */
export function writeWatch({ key, rangeEnd, startRevision }: EtcdWatchRequest): Message {
  const range = { key: encode(key), range_end: encode(rangeEnd), start_revision: startRevision }
  return { create_request: { ...range, prev_kv: true, progress_notify: true, fragment: true } }
}

/** An answer, or a part of one. */
export interface WatchPart extends EtcdWatchResponse {
  /** The next one continues with it, perhaps within a revision. */
  readonly isFragment: boolean
}

export function readWatch(message: Message, fromBase64?: FromBase64): WatchPart {
  const { created, canceled, compact_revision, cancel_reason, events, fragment } = message
  return {
    // an answer that ends a watch may have no header
    revision: numberOf(asMessage(message.header ?? {}).revision),
    created: created === true,
    canceled: canceled === true,
    compactRevision: numberOf(compact_revision),
    cancelReason: typeof cancel_reason === 'string' ? cancel_reason : '',
    events: listOf(events).map((event) => readEvent(event, fromBase64)),
    isFragment: fragment === true,
  }
}

function readEvent({ type, kv, prev_kv }: Message, fromBase64?: FromBase64): EtcdEvent {
  const messages = prev_kv === undefined ? [kv] : [kv, prev_kv]
  const [now, prevKv] = readKeyValues(messages.map(asMessage), fromBase64)
  return { type: type === 'DELETE' ? 'DELETE' : 'PUT', kv: now!, prevKv }
}

function readKeyValues(messages: readonly Message[], fromBase64?: FromBase64): EtcdKeyValue[] {
  const encoded = messages.flatMap(({ key, value }) => [encodedIn(key), encodedIn(value)])
  const texts = encoded.map((text) => (fromBase64 === undefined ? decode(text) : checked(fromBase64(text))))
  return messages.map(({ create_revision, mod_revision }, index) => ({
    key: texts[2 * index]!,
    value: texts[2 * index + 1]!,
    createRevision: numberOf(create_revision),
    modRevision: numberOf(mod_revision),
  }))
}

/** @throws for an answer that is none of etcd: whatever it is of, it says nothing about keys */
function revisionOf({ header }: Message): string {
  const { revision } = asMessage(header)
  if (revision === undefined) throw unreadable()
  return numberOf(revision)
}

export function asMessage(value: unknown): Message {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable()
  return value as Message
}

function listOf(value: unknown): readonly Message[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw unreadable()
  return value.map(asMessage)
}

function numberOf(value: unknown = '0'): string {
  const text = String(value)
  if (!/^\d{1,19}$/.test(text)) throw unreadable()
  return text
}

/** What is empty is left out. */
function encodedIn(value: unknown = ''): string {
  if (typeof value !== 'string') throw unreadable()
  return value
}

function checked(text: unknown): string {
  if (typeof text !== 'string') throw new Error('options.fromBase64 gives no text')
  return text
}

function encode(text: string): string {
  return toBase64(toUtf8(text))
}

function decode(encoded: string): string {
  const bytes = bytesOfBase64(encoded)
  const text = bytes && fromUtf8(bytes)
  if (text === undefined) throw new Error('a key or value in etcd is no text in UTF-8: something else has written it')
  return text
}

function unreadable(): Error {
  return new Error('the answer is none of etcd')
}
