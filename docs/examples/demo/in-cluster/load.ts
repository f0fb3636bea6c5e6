import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { type Document, isSeq, LineCounter, type ParsedNode, parseAllDocuments } from 'yaml'
import type { Finding } from './finding.js'

/** A value out of a file, not looked into yet. */
export interface Manifest {
  /** `file:line` of its beginning. */
  readonly where: string
  readonly value: unknown
}

export interface Source {
  /** Where relative names begin. */
  readonly folder: string
  readonly stdin: NodeJS.ReadableStream
}

type Found = Manifest | Finding

/**
 * Reads files, folders and standard input (`-`), in order. An object that cannot be read is a
 * finding, and the others are loaded.
 */
export async function load(
  names: readonly string[],
  source: Source,
  onProgress: (read: number) => void,
): Promise<{ readonly manifests: readonly Manifest[]; readonly findings: readonly Finding[] }> {
  const manifests: Manifest[] = []
  const findings: Finding[] = []
  for (const name of names) {
    for await (const found of read(name, source)) {
      if ('value' in found) manifests.push(found)
      else findings.push(found)
      onProgress(manifests.length)
    }
  }
  return { manifests, findings }
}

async function* read(name: string, source: Source): AsyncGenerator<Found> {
  try {
    if (name === '-') {
      yield* documents(await readAll(source.stdin), '<stdin>')
      return
    }
    const path = resolve(source.folder, name)
    if (!(await stat(path)).isDirectory()) {
      yield* documents(await readFile(path, 'utf8'), name)
      return
    }
    const files = await manifestsIn(path)
    if (files.length === 0) yield unreadable(name, 'no *.yaml, *.yml or *.json file in this folder')
    for (const file of files) yield* read(join(name, file), source)
  } catch (error) {
    yield unreadable(name, describeSystemError(error))
  }
}

/** The manifests of a folder, as kubectl picks them: by name, sorted, not of folders in it. */
async function manifestsIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => entry.name)
    .sort()
}

/** The documents of a text, or a word that there are none. */
function* documents(content: string, file: string): Generator<Found> {
  let isEmpty = true
  for (const found of eachDocument(content, file)) {
    isEmpty = false
    yield found
  }
  if (isEmpty) yield { action: 'warning', where: file, reason: 'nothing in it' }
}

/** The documents of a text, lists taken apart. */
function* eachDocument(content: string, file: string): Generator<Found> {
  const text = content.startsWith('\uFEFF') ? content.slice(1) : content
  const lines = lineCounter(text)
  const json = parseJson(text)
  if (json !== undefined) {
    const where = `${file}:${lines.linePos(text.search(/\S/)).line}`
    yield* itemsOf({ where, value: json }, (index) => `${where} items[${index}]`)
    return
  }
  for (const chunk of chunksOf(text)) {
    const place = (offset: number) => lines.linePos(chunk.offset + offset)
    const parsed = parseAllDocuments(chunk.text, { merge: true, prettyErrors: false, logLevel: 'error' })
    // an empty text gives no list of documents
    for (const document of Array.isArray(parsed) ? parsed : []) yield* contentOf(document, file, place)
  }
}

type Place = (offset: number) => { readonly line: number; readonly col: number }

function* contentOf(document: Document.Parsed, file: string, place: Place): Generator<Found> {
  const [error] = document.errors
  if (error !== undefined) {
    const { line, col } = place(error.pos[0])
    yield unreadable(`${file}:${line}:${col}`, describeYamlError(error))
    return
  }
  if (document.contents === null) return
  const { line, col } = place(document.contents.range[0])
  for (const { pos, message } of document.warnings) {
    yield { action: 'warning', where: `${file}:${place(pos[0]).line}`, reason: message }
  }
  let value: unknown
  try {
    // throws for aliases without an anchor, and for more aliases than its limit against exhaustion
    // of memory
    value = document.toJS()
  } catch (failure) {
    yield unreadable(`${file}:${line}:${col}`, describeYamlError(failure as Error))
    return
  }
  if (value === null) return
  const items = document.get('items', true)
  yield* itemsOf({ where: `${file}:${line}`, value }, (index) => {
    const item = isSeq(items) ? (items.items[index] as ParsedNode | undefined) : undefined
    return item?.range == null ? `${file}:${line} items[${index}]` : `${file}:${place(item.range[0]).line}`
  })
}

/**
 * The items of a `List` (or `PodList`, as the API server answers), lists in it included; of
 * anything else the thing itself.
 */
function* itemsOf(manifest: Manifest, whereIs: (index: number) => string): Generator<Manifest> {
  const list = asList(manifest.value)
  if (list === undefined) {
    yield manifest
    return
  }
  for (const [index, item] of list.items.entries()) {
    const where = whereIs(index)
    yield* itemsOf({ where, value: withType(item, list) }, (inner) => `${where} items[${inner}]`)
  }
}

interface List {
  readonly apiVersion: string
  readonly kind: string
  readonly items: readonly unknown[]
}

function asList(value: unknown): List | undefined {
  const { apiVersion, kind, items } = (value ?? {}) as { readonly [field: string]: unknown }
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !kind.endsWith('List')) return undefined
  return Array.isArray(items) ? { apiVersion, kind, items } : undefined
}

/** The items of a typed list need not say what they are. */
function withType(item: unknown, list: List): unknown {
  if (list.kind === 'List' || typeof item !== 'object' || item === null) return item
  return { apiVersion: list.apiVersion, kind: list.kind.slice(0, -'List'.length), ...item }
}

/**
 * The text in pieces that begin with `---`, which YAML allows at the start of a line only between
 * documents. Read apart, a broken document cannot swallow the next, and the trees of a large file
 * do not add up. Comments and directives in front of a `---` belong to what follows it.
 */
function* chunksOf(text: string): Generator<{ readonly offset: number; readonly text: string }> {
  let offset = 0
  for (const marker of text.matchAll(/(?<=^|\n)---(?=[ \t\r\n]|$)/g)) {
    const chunk = text.slice(offset, marker.index)
    if (/^(?:[ \t]*(?:[#%].*)?\r?\n)*$/.test(chunk)) continue
    yield { offset, text: chunk }
    offset = marker.index
  }
  yield { offset, text: text.slice(offset) }
}

/**
 * A JSON object, or `undefined` if it is not one: then YAML, of which JSON is a part, says what is
 * wrong with it, and where.
 */
function parseJson(text: string): object | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1)
  return lines
}

function unreadable(where: string, reason: string): Finding {
  return { action: 'unreadable', where, reason }
}

/** The parser calls itself for what is nested. */
function describeYamlError({ message }: Error): string {
  return message.includes('call stack') ? 'nested too deeply' : message
}

/** `no such file or directory` out of `ENOENT: no such file or directory, stat '/a/b'`. */
function describeSystemError(error: unknown): string {
  const { message } = error as Error
  return /^[A-Z0-9_]+: (.*?)(?:, \w+(?: '.*')?)?$/s.exec(message)?.[1] ?? message
}
