import { writeFileSync } from 'node:fs'
import { table } from 'ipam-kit/render'
import { asRatio, type Gate, type Judged } from './gate.js'
import { writeSection } from './page.js'

/** What both commands take. */
export const OPTIONS = {
  only: { type: 'string' },
  counts: { type: 'boolean' },
  'no-gate': { type: 'boolean' },
  json: { type: 'string' },
  page: { type: 'string' },
} as const

interface Outputs {
  /** What stands before the table of the page. */
  readonly about?: string
  readonly 'no-gate'?: boolean
  readonly json?: string
  readonly page?: string
}

const HEAD = ['work', 'peer', 'ours', 'of the peer', 'ratio', 'goal', 'floor']

/** Collects what is measured, and writes it in all its forms. */
export class Report {
  readonly #head: readonly string[]
  readonly #results: object[] = []
  readonly #lines: string[][] = []
  readonly #notes: string[] = []

  constructor(head: readonly string[] = HEAD) {
    this.#head = head
  }

  /** What has a row. */
  get works(): ReadonlySet<string> {
    return new Set(this.#results.map((result) => (result as { readonly work?: string }).work ?? ''))
  }

  /** A ratio of times. One that was measured again, because it had been below its floor, says so. */
  ratio(result: Judged): void {
    const { target, ...measurement } = result
    const { work, peer, oursNs, theirsNs, ratio, attempts } = measurement
    const limits = target === undefined ? ['-', '-'] : [asRatio(target.goal), asRatio(target.floor)]
    this.row({ ...measurement, goal: target?.goal, floor: target?.floor }, [
      work,
      peer,
      asTime(oursNs),
      asTime(theirsNs),
      attempts === 1 ? asRatio(ratio) : `${asRatio(ratio)}, best of ${attempts}`,
      ...limits,
    ])
    if (target === undefined || ratio >= target.goal) return
    const why = target.note ?? 'within the slack'
    this.note(`${work}, ${peer}: goal ${asRatio(target.goal)}, reached ${asRatio(ratio)}: ${why}`)
  }

  /** Anything else, with the cells of its row. */
  row(result: object, cells: string[]): void {
    const withNode = { node: process.version, ...result }
    console.error(JSON.stringify(withNode))
    this.#results.push(withNode)
    this.#lines.push(cells)
  }

  /** A sentence below the table, about a goal that is not reached. */
  note(sentence: string): void {
    this.#notes.push(sentence)
  }

  /** Prints the table, writes the files that are wanted, and sets the exit code. */
  finish(gate: Gate, heading: string, outputs: Outputs): void {
    if (outputs.json !== undefined) {
      writeFileSync(outputs.json, this.#results.map((result) => `${JSON.stringify(result)}\n`).join(''))
    }
    if (this.#lines.length > 0) {
      const head = this.#head.map((word) => word.toUpperCase())
      console.log(table(head, this.#lines))
      const findings = { about: outputs.about, head: this.#head, lines: this.#lines, notes: this.#notes }
      if (outputs.page !== undefined) writeSection(outputs.page, heading, findings)
    }
    const code = gate.close()
    if (outputs['no-gate'] !== true) process.exitCode = code
  }
}

export function asBytes(bytes: number): string {
  return `${bytes.toFixed(bytes < 1 ? 3 : 1)} bytes`
}

export function asTime(ns: number): string {
  if (ns < 10) return `${ns.toFixed(1)} ns`
  if (ns < 1000) return `${ns.toFixed(0)} ns`
  return ns < 1e6 ? `${(ns / 1000).toFixed(1)} µs` : `${(ns / 1e6).toFixed(2)} ms`
}
